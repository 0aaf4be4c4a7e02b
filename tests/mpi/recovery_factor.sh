#!/usr/bin/env bash
# recovery_factor.sh: trees that deadlock and recover. With the default delay a round takes less than a third of the time
# that it takes with a delay of 10 ms. Both times consist of timers: some 30 recoveries of a round, one behind the other.
# If 15 other programs compete for the processors, waiting for them is most of both times, and the test ends as late.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

took=()
for delay in '' +coll_lfc_recovery_delay=10000; do
  (mpi lab 4 "coll_lfc_tree=chain+coll_lfc_packet=4096+btl_lfc_initial_window=1+btl_lfc_max_window=1+btl_lfc_stats=1$delay" \
    mpi coll_together --rounds 20 2>&1) | tee "$output"
  took+=("$(sed -n 's/.* round_ms=//p' "$output")")
  grep -q '^lfc-stats .* recoveries=[1-9]' "$output" || { echo "nothing was recovered"; exit 1; }
done
awk -v usual="${took[0]}" -v slow="${took[1]}" 'BEGIN {
  if (usual <= 0) exit 1
  in_time = slow > 3 * usual
  printf "%sa round is %.1f times as fast as with a delay of 10 ms, bound 3\n", in_time ? "" : "late: ", slow / usual
  exit in_time ? 0 : 76
}'
