#!/usr/bin/env bash
# scripts/chroot13 make, with a debootstrap of ours: a mirror that cannot be reached is distinguished from every
# other failure. The tests that need the tree are then skipped, with the reason.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

[[ $EUID == 0 ]] || { echo "a Debian tree of its own needs root"; exit 77; }
unshare --mount true 2>/dev/null || { echo "mount namespaces are not permitted here"; exit 77; }

mkdir "$scratch/bin" "$scratch/state"
cat >"$scratch/bin/apt-get" <<'S'
#!/bin/sh
echo "Debian Debian http://mirror.invalid/debian"
S
cat >"$scratch/bin/debootstrap" <<S
#!/bin/sh
echo >>$scratch/calls
cat $scratch/answer
exit 1
S
chmod +x "$scratch"/bin/*
export PATH=$scratch/bin:$PATH LFC_CHROOT=$scratch/root/trixie
make_tree() { "$tree/scripts/chroot13" make; }
skipping() { LFC_TEST_STATE=$scratch/state LFC_BUILD=$scratch/build "$tree/tests/kinds.sh" "$@"; }
again() { LFC_TEST_AGAIN=1 skipping "$@"; }

echo 'E: Cannot install into target' >"$scratch/answer"
expect 1 '^chroot13: debootstrap failed; call again' make_tree
expect 1 '^chroot13: debootstrap failed; call again' again with_ompi 5 tree
for answer in 'E: Failed getting release file http://mirror.invalid/debian/dists/trixie/Release' \
  "E: Couldn't download packages: libc6 perl-base" 'E: Invalid Release file, no entry for main/binary-amd64/Packages'; do
  echo "$answer" >"$scratch/answer"
  expect 77 '^chroot13: debootstrap failed: the Debian mirror cannot be reached' make_tree
done

# The first test contacts the mirror; the tests behind it reuse the result.
: >"$scratch/calls"
expect 77 '^chroot13: debootstrap failed: the Debian mirror cannot be reached' again with_ompi 5 tree
expect 77 '^chroot13: debootstrap failed: the Debian mirror cannot be reached' skipping with_ompi 5 plugin
expect 77 '^chroot13: debootstrap failed: the Debian mirror cannot be reached' skipping with_ompi 5 mpi host 2 - mpi ring
[[ $(tail -n 1 <<<"$output") == chroot13:* ]] || fail "the last line is not the reason: $output"
[[ $(wc -l <"$scratch/calls") == 1 ]] || fail "the mirror was queried $(wc -l <"$scratch/calls") times"
echo "a mirror that is away is told apart"
