#!/usr/bin/env bash
# The registration cache: memory that is used again is registered once. Memory that was given back and got again at
# the same address is registered again. Announcements of NEON use the cache. A cache that is switched off is not used,
# and a wrong value is refused.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"

again=40 anew=30
fail() {
  echo "FAIL: $*"
  exit 1
}

# registrations RANK CACHE ARGS...: the number of registrations by that rank; the job must print `ok`
registrations() {
  local rank=$1 cache=$2 output
  shift 2
  output=$(timeout 600 mpirun -n 2 --map-by slot:OVERSUBSCRIBE --mca btl lfc --mca btl_lfc_single_copy_from 1 \
    --mca btl_lfc_stats 1 --mca btl_lfc_registration_cache "$cache" "$@" \
    "$LFC_BUILD/default/tests/mpi/mpi_reuse" --again $again --anew $anew 2>&1) || fail "$cache $*: $output"
  grep -qx ok <<<"$output" || fail "$cache $*: $output"
  sed -n "s/^lfc-stats rank=$rank .*\\<registrations=\\([0-9]*\\).*/\\1/p" <<<"$output"
}

for links in loop,shm loop,tcp; do
  sender=$(registrations 0 always --mca btl_lfc_links $links)
  receiver=$(registrations 1 always --mca btl_lfc_links $links)
  without=$(registrations 0 never --mca btl_lfc_links $links)
  unpinned=$(registrations 0 always --mca btl_lfc_links $links --mca mpi_leave_pinned 0)
  default=$(registrations 0 auto --mca btl_lfc_links $links)
  echo "$links: $((again + anew)) messages, $anew of them from new memory: registered by the sender $sender times," \
    "by the receiver $receiver; without the cache $without; with mpi_leave_pinned 0 $unpinned; by default $default"
  # A number below `anew` would mean that old pages were used; the receiver registers because the cache is there.
  ((sender >= anew + 1 && sender <= anew + 5)) || fail "sender: $sender registrations"
  ((receiver >= anew + 1 && receiver <= anew + 5)) || fail "receiver: $receiver registrations"
  ((without >= again + anew)) || fail "without the cache: $without registrations"
  ((unpinned >= again + anew)) || fail "with mpi_leave_pinned 0: $unpinned registrations"
  ((default == without)) || fail "$links is taken for a link whose registrations are worth keeping"
done

# Announcements of NEON use the same cache.
neon_registrations() { # neon_registrations CACHE: registrations by rank 0 while NEON announces one buffer 40 times
  local output
  output=$(timeout 600 mpirun -n 2 --map-by slot:OVERSUBSCRIBE --mca pml ob1 --mca btl lfc --mca osc neon \
    --mca btl_lfc_registration_cache "$1" "$LFC_BUILD/default/tests/neon/neon_counters" --announcements 40 2>&1) ||
    fail "announcements of NEON, $1: $output"
  sed -n 's/^40 announcements, \([0-9]*\) registrations$/\1/p' <<<"$output"
}
with=$(neon_registrations always)
without=$(neon_registrations never)
echo "40 announcements of a buffer: $with registrations with the cache, $without without it"
((with == 1)) || fail "announcements of NEON: $with registrations"
((without == 40)) || fail "announcements of NEON without the cache: $without registrations"

output=$(timeout 600 mpirun -n 1 --mca btl lfc --mca btl_lfc_registration_cache sometimes "$LFC_BUILD/default/tests/mpi/mpi_ring" 2>&1) &&
  fail "a wrong value was taken"
grep -q "btl_lfc_registration_cache: 'sometimes' (accepted: auto, always or never)" <<<"$output" || fail "$output"
echo ok
