#!/usr/bin/env bash
# A rank is killed (kill -9) amid totally ordered broadcasts, under a launcher that lets the others live: each of them gets
# LFC_ORDERED_ERR_LOST, having been handed the same messages in the same order, within 10 s. With shm and tcp.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

program=$LFC_BUILD/default/ordered/ordered_lost
[[ -x $program ]] || fail "no $program"
for links in loop,shm loop,tcp; do
  start_job 4 --mca orte_enable_recovery 1 --mca btl lfc --mca btl_lfc_links "$links" "$program"
  # mpirun itself may not end before all have; the survivors do.
  end_job 40
  (($(grep -ac '^survivor ' "$output") == 3)) || fail "not all survivors have been told"
  (($(grep -ao 'hash [0-9a-f]* at' "$output" | sort -u | wc -l) == 1)) || fail "the orders differ"
  ! grep -aq '^FAIL\|^HANG' "$output" || fail "a survivor complains"
  echo "$links: $(grep -a '^survivor ' "$output" | sort | tr '\n' ';') after $seconds s"
  nothing_left
done
echo ok
