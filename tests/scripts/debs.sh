#!/usr/bin/env bash
# tests/scripts/debs.sh SUITE: Debian packages of LFC for that suite (bookworm, trixie). They are built in a clean
# root, without a complaint of lintian. They are installed in another root that has only a compiler; programs run
# with them there, and nothing is left when they have been removed. Roots are copied from one that is kept in
# ${LFC_PACKAGES:-/var/cache/lfc/packages}.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
suite=$1
roots=${LFC_PACKAGES:-/var/cache/lfc/packages}

[[ $EUID == 0 ]] || { echo "a root of its own needs root"; exit 77; }
unshare --mount true 2>/dev/null || { echo "mount namespaces are not permitted here"; exit 77; }
command -v debootstrap >/dev/null || { echo "debootstrap is missing: scripts/setup chroot"; exit 77; }
mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian Debian //p' | sed -n 1p)
[[ -n $mirror ]] || { echo "apt knows no Debian mirror here"; exit 77; }

# inside ROOT CMD...: in a copy, with the tree at /lfc to read, and /out
inside() {
  # shellcheck disable=SC2016  # for the shell inside
  unshare --mount --propagation private bash -euc '
    root=$1 tree=$2 out=$3 jobs=$4
    shift 4
    mkdir -p "$root/lfc" "$root/out"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount --bind /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || cp -L /etc/resolv.conf "$root/etc"
    mount --bind "$tree" "$root/lfc"
    mount -o remount,bind,ro "$root/lfc"
    mount --bind "$out" "$root/out"
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
      LFC_JOBS="$jobs" OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "$@"' \
    bash "$scratch/$1" "$tree" "$scratch/out" "${LFC_JOBS:-auto}" "${@:2}"
}
quietly() { "$@" >"$scratch/log" 2>&1 </dev/null || fail "$*"$'\n'"$(tail -n 30 "$scratch/log")"; }
install() { quietly inside "$1" apt-get install -y --no-install-recommends "${@:2}"; }

if [[ ! -e $roots/$suite ]]; then
  mkdir -p "$roots"
  quietly debootstrap --variant=minbase "$suite" "$roots/$suite.$$" "$mirror"
  mv "$roots/$suite.$$" "$roots/$suite"
fi
mkdir "$scratch/out"

# --- built ---
cp -a "$roots/$suite" "$scratch/build"
quietly inside build apt-get update
install build dpkg-dev lintian
quietly inside build sh -c "cp -r /lfc/scripts/packages/debian /tmp && cd /tmp && apt-get build-dep -y --no-install-recommends ./"
quietly inside build /lfc/scripts/packages/build-deb /out
expect 0 '' inside build lintian --allow-root --fail-on error,warning --profile debian \
  "/out/$(basename "$scratch"/out/*.changes)"
rm -rf "$scratch/build"

# --- installed, used, removed ---
cp -a "$roots/$suite" "$scratch/use"
quietly inside use apt-get update
install use gcc libc6-dev pkg-config openmpi-bin libopenmpi-dev
files() { inside use find / -xdev \( -path /proc -o -path /out -o -path /lfc -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /root -o -path /tmp \) \
  -prune -o -print | sort; }
files >"$scratch/before"
# shellcheck disable=SC2016
quietly inside use sh -c 'apt-get install -y --no-install-recommends /out/*.deb'
expect 0 "btl: lfc .*Component v$(sed -nE 's/^project\(lfc VERSION ([0-9.]+) .*/\1/p' "$tree/CMakeLists.txt")" inside use ompi_info
expect 0 '^  loop +works' inside use lfc-info
mkdir "$scratch/out/programs"
cp "$tree/mca/libraries/lfc_ordered/examples/replicated.c" "$tree/tests/neon/thesis.c" "$tree"/tests/mpi/*.h "$tree/tests/mpi/ring.c" \
  "$scratch/out/programs"
# shellcheck disable=SC2016
quietly inside use sh -c 'cd /out/programs && mpicc -O1 -I. ring.c -o ring &&
  mpicc -O1 -I. replicated.c -o replicated $(pkg-config --cflags --libs lfc_ordered) && mpicc -O1 -I. thesis.c -o thesis $(pkg-config --cflags --libs mpix_neon)'
job=(inside use mpirun -n 2 --mca pml ob1 --mca btl lfc --mca osc neon)
expect 0 'links=.*frames_sent=' "${job[@]}" --mca btl_lfc_stats 1 /out/programs/ring
expect 0 '^ok$' "${job[@]}" /out/programs/replicated
expect 0 '^ok$' "${job[@]}" /out/programs/thesis
expect 0 'unknown parameters are set' "${job[@]}" --mca btl_lfc_interface lo /out/programs/ring
# shellcheck disable=SC2016
quietly inside use sh -c 'apt-get purge -y $(for d in /out/*.deb; do dpkg-deb -f $d Package; done)'
quietly inside use apt-get autoremove -y --purge
files >"$scratch/after"
diff "$scratch/before" "$scratch/after" | grep '^>' && fail "packages that were removed leave files behind"
echo "$suite: packages built, installed, used and removed"
