#!/usr/bin/env bash
# An installation is complete or absent. If one exists, tests and measurements still use the build they belong to.
# (The test `quickstart` checks quickstart's last advice.)
set -euo pipefail
. "$(dirname "$0")/expect.bash"
export LFC_BUILD=${LFC_BUILD:-$tree/build}
build=$LFC_BUILD/default
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_MCA_mca_base_component_path

# --- a tree in which nothing has been built, of a user who cannot write Open MPI's folders; preset for users ---
mkdir "$scratch/nobody"
stranger=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER HOME="$scratch/nobody")
if [[ $EUID == 0 ]]; then
  chmod 755 "$scratch"
  chown 65534:65534 "$scratch/nobody"
  stranger=(as_nobody "${stranger[@]}")
fi
expect 0 "Components are installed into $scratch/nobody/.openmpi" \
  "${stranger[@]}" cmake -S "$tree" --preset release -B "$scratch/nobody/build"
expect 0 'mca_btl_lfc\.so' "${stranger[@]}" ninja -C "$scratch/nobody/build" -t commands
! grep -qE -- '-Werror|catch|/tests/|/perf/' <<<"$output" || fail "the preset for users builds what is not theirs"
expect 1 '^  .*liblfc.* has not been built$' "${stranger[@]}" cmake --install "$scratch/nobody/build"
[[ ! -e $scratch/nobody/.openmpi && ! -e $scratch/nobody/.local ]] || fail "half an installation is left"
# All folders of the installation belong to that user.
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:.*=//p' "$scratch/nobody/build/CMakeCache.txt")
[[ $prefix == "$scratch/nobody/.local" ]] || fail "headers and libraries would go to $prefix"
if [[ $EUID == 0 ]]; then
  expect 1 '^  .* may not be written$' as_nobody cmake --install "$build"
fi

# --- several installations of a build, each elsewhere: `uninstall` removes the files of all of them ---
list=$build/installed_files.txt
[[ ! -e $list ]] || mv "$list" "$scratch/list" # a real installation stays what it is
restore() { [[ ! -e $scratch/list ]] || mv "$scratch/list" "$list"; }
trap 'restore; rm -rf "$scratch"' EXIT
for copy in one two; do
  expect 0 "^-- Components go to .*, all else below /opt/$copy\$" env DESTDIR="$scratch/$copy" cmake --install "$build" --prefix "/opt/$copy"
  [[ -x $scratch/$copy/opt/$copy/bin/lfc-info && -n $(find "$scratch/$copy" -name mca_btl_lfc.so) ]] || fail "$copy is not installed"
done
expect 0 "^-- Removing $scratch/one/opt/one/bin/lfc-info" cmake --build "$build" --target uninstall
for copy in one two; do
  [[ ! -e $scratch/$copy ]] || fail "left behind: $(find "$scratch/$copy")"
done
[[ ! -e $list ]] || fail "the list of installed files is left"
restore

# --- for one user alone, in a tree that was configured for all before ---
user=(env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER HOME="$scratch/user" cmake -G Ninja -S "$tree" -B "$scratch/user/build")
expect 0 'Components are installed into ' "${user[@]}" -DLFC_TESTS=OFF
expect 0 "Components are installed into $scratch/user/.openmpi" "${user[@]}" -DLFC_INSTALL=user
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:.*=//p' "$scratch/user/build/CMakeCache.txt")
[[ $prefix == "$scratch/user/.local" ]] || fail "headers and libraries of one user would go to $prefix"

# --- into a new folder of the user ---
own=$scratch/user/own
expect 0 "Components are installed into $own/lib/openmpi" "${user[@]}" -DLFC_INSTALL= -DCMAKE_INSTALL_PREFIX="$own" \
  -DLFC_OMPI_COMPONENTS="$own/lib/openmpi"

# --- an installed copy beside Open MPI's own components: Open MPI looks there by itself ---
DESTDIR=$scratch/copy cmake --install "$build" >/dev/null
stock=$(ompi_info --parsable --path pkglibdir)
stock=${stock##*:}
copy=$(dirname "$(find "$scratch/copy" -name mca_btl_lfc.so)")
find "$stock" -name '*.so' ! -name 'mca_*_lfc.so' ! -name mca_osc_neon.so -exec ln -s -t "$copy" {} +
export OPAL_PKGLIBDIR=$copy

job=(mpirun -n 1 --map-by slot:OVERSUBSCRIBE)
loaded=("$build/tests/mpi/mpi_loaded" --limit 60)
expect 1 "loaded from $copy" "${job[@]}" --mca btl lfc "${loaded[@]}"

touch "$scratch/built.default" # configured anew, the build would take the copy's folder for Open MPI's
from_suite() { LFC_TEST_STATE=$scratch "$tree/tests/kinds.sh" "$@"; }
expect 0 '^ok$' from_suite rma host 1 - mpi loaded
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/bash' ". '$tree/tests/fault/job.bash'" 'run_job 60 1 --mca btl lfc mpi_loaded' 'cat "$output"' 'exit $code' >"$scratch/fault.sh"
chmod +x "$scratch/fault.sh"
expect 0 '^ok$' "$scratch/fault.sh"
# shellcheck disable=SC2016
printf '%s\n' ". '$tree/tests/apps/compare.bash'" 'transport=("${lfc[@]}")' 'app 60 1 "$@" || fail "$(cat "$output")"' 'cat "$output"' \
  >"$scratch/apps.sh"
expect 0 '^ok$' bash "$scratch/apps.sh" "${loaded[@]}"
measured() { # as perf/compare and its relatives start a program
  local words
  mapfile -t words < <(cd "$tree/perf" && python3 -c 'from measure import build, transports
print(*transports.named("lfc", False, build.component_directory(None)).arguments, sep="\n")')
  "${job[@]}" "${words[@]}" "${loaded[@]}"
}
expect 0 '^ok$' measured

# A script that starts jobs in a way not tried here must also put the build first. Lines for users must not, because they
# may outlive the folder.
! git -C "$tree" grep -n 'SYS_[D]EFAULT:' -- . ':!tests/defects' ':!README.md' ':!scripts/packages' ':!mca/tools/lfc_info' ':!tests/scripts' ||
  fail "Open MPI's own folder stands before a build (see above)"
! git -C "$tree" grep -n ':SYS_[D]EFAULT' -- README.md scripts/packages || fail "a folder that may be removed comes first (see above)"

# lfc-info warns that a job loads the copy. A user who follows its advice gets the build.
expect 0 "^  WARNING +a job loads another LFC, but this lfc-info belongs to $(realpath "$build")/components\$" "$build/bin/lfc-info"
grep -qE "^  mca_btl_lfc.so +$copy\$" <<<"$output" || fail "lfc-info does not name the copy: $output"
advised() {
  eval "$("$build/bin/lfc-info" --environment)"
  "$@"
}
expect 0 '^ok$' advised "${job[@]}" --mca btl lfc "${loaded[@]}"
expect 0 "^  mca_btl_lfc.so +$(realpath "$build")/components\$" advised lfc-info
mkdir "$scratch/stock"
find "$stock" -name '*.so' ! -name 'mca_*_lfc.so' ! -name mca_osc_neon.so -exec ln -s -t "$scratch/stock" {} +
OPAL_PKGLIBDIR=$scratch/stock expect 0 '^ok$' advised "${job[@]}" --mca btl lfc "${loaded[@]}"
OPAL_PKGLIBDIR=$scratch/stock expect 0 "^  mca_btl_lfc.so +$(realpath "$build")/components\$" advised lfc-info
! grep -q WARNING <<<"$output" || fail "lfc-info warns in vain: $output"
echo "installed copies: whole or not at all, and never loaded instead of the build"
