#!/usr/bin/env bash
# scripts/setup and scripts/chroot13: their messages and refusals. (Every run on a bare machine, and the test
# `ompi5/tree`, shows that they install.)
set -euo pipefail
. "$(dirname "$0")/expect.bash"

expect 1 "unknown group 'everything'" "$tree/scripts/setup" everything
expect 1 "unknown option '--force'" "$tree/scripts/setup" --force

# A machine where one package is missing, and apt-get is not to be called for the others.
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<'P'
#!/bin/sh
for last; do :; done
[ "$last" = "$LACKS" ] || printf installed
P
cat >"$scratch/bin/apt-get" <<P
#!/bin/sh
echo "\$@" >>"$scratch/calls"
[ "\$1" = update ] && touch "$scratch/updated"
[ -e "$scratch/updated" ] || { echo "no lists yet"; exit 100; }
[ -z "\$BROKEN" ] || { echo "E: no such package"; exit 100; }
P
chmod +x "$scratch/bin"/*
chmod 755 "$scratch"
setup() { env PATH="$scratch/bin:$PATH" LACKS=ninja-build "$tree/scripts/setup" "$@"; }
expect 1 '^setup: missing: ninja-build$' setup --check
expect 0 '^setup: nothing to install \(lab\)$' setup --check lab
if [[ $EUID == 0 ]]; then
  expect 0 '^setup: installing with apt-get: ninja-build$' setup build test
  grep -q 'installed 1 package' <<<"$output" || fail "$output"
  # It installs, fails, fetches lists, and installs again; and only missing packages.
  [[ $(grep -c '^install -y --no-install-recommends ninja-build$' "$scratch/calls") == 2 ]] || fail "$(cat "$scratch/calls")"
  grep -qx update "$scratch/calls" || fail "no update"
  BROKEN=1 expect 1 'apt-get could not install: ninja-build' setup build
  if ! command -v sudo >/dev/null; then
    expect 1 "Installing needs root: run 'apt-get install ninja-build'" as_nobody env PATH="$scratch/bin:$PATH" \
      LACKS=ninja-build "$tree/scripts/setup"
  fi
fi

chroot13() { "$tree/scripts/chroot13" "$@"; }
expect 1 "unknown command 'frob'" chroot13 frob
expect 1 'run what' chroot13 run
expect 1 'not a place for a Debian tree' env LFC_CHROOT=/usr "$tree/scripts/chroot13" make
expect 1 'nothing in ' env LFC_CHROOT="$scratch/none/tree" "$tree/scripts/chroot13" status
if [[ $EUID == 0 ]]; then
  expect 1 'needs root' as_nobody "$tree/scripts/chroot13" make
  expect 1 'run scripts/chroot13 make' env LFC_CHROOT="$scratch/none/tree" "$tree/scripts/chroot13" run true
fi
if [[ $EUID == 0 ]] && chroot13 status >/dev/null 2>&1; then
  mounts=$(wc -l </proc/mounts)
  cd "$tree"
  expect 0 "^13\.[0-9]+ $tree\$" chroot13 run sh -c 'echo $(cat /etc/debian_version) $PWD'
  expect 4 '' chroot13 run sh -c 'exit 4'
  expect 1 'Read-only file system' chroot13 run touch README.md
  expect 0 '^kept$' chroot13 run sh -c 'echo kept >$LFC_BUILD/.kept; cat /build/.kept'
  expect 0 '^kept$' chroot13 run cat /build/.kept
  expect 0 'Open MPI.* 5\.' chroot13 run mpirun --version
  [[ $(wc -l </proc/mounts) == "$mounts" ]] || fail "something has stayed mounted"
fi
echo "installers: say what they do, refuse what they cannot"
