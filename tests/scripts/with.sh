#!/usr/bin/env bash
# The column `with` of tests/suite.table: a test fails if its job used another transport or policy than the named one, or
# if its NEON calls were not served as the row promises.
set -euo pipefail
. "$(dirname "$0")/expect.bash"

touch "$scratch/built.default"
# row RANKS WITH
row() { LFC_TEST_STATE=$scratch "$tree/tests/kinds.sh" mpi host "$1" "$2" mpi ring; }
neon() { LFC_TEST_STATE=$scratch "$tree/tests/kinds.sh" neon host 2 "$1" notified; } # neon WITH

expect 0 'links=ofi:' row 2 ofi
expect 1 'a rank has not used the transport ofi alone: .* links=shm:' row 2 ofi+btl_lfc_links=loop,shm,ofi
expect 1 'a rank has not used the transport tcp alone: .* links=shm:' row 2 tcp+btl_lfc_links=loop,shm
expect 1 '0 of 2 ranks have printed counters' row 2 tcp+btl_lfc_stats=0
expect 1 '1 of 2 ranks have printed counters' row 2 tcp+first:btl_lfc_stats=0
expect 0 'lfc-neon rank=1 ' neon native
expect 1 'osc neon has served no NEON call of rank 0' neon osc_neon_stats=0
expect 0 '^ok' neon emulated
expect 1 'no message has used a channel' row 2 planned
expect 1 '0 of 2 ranks have channels' row 2 planned+coll_lfc_channels=off
if (($(nproc) > 1)); then
  ranks=$(($(nproc) + 1))
  expect 1 "0 of $ranks ranks have the policy fixed" row $ranks fixed
fi
echo ok
