#!/usr/bin/env bash
# A rank is killed (kill -9) amid totally ordered broadcasts, under a launcher that lets the others continue. None
# of them hangs. Each gets LFC_ORDERED_ERR_LOST after the same messages in the same order, or Open MPI ends it
# because an MPI call detected the loss first. Some must have got the error. With shm and tcp.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

program=$LFC_BUILD/default/tests/ordered/ordered_lost
[[ -x $program ]] || fail "no $program"
told=0
for links in loop,shm loop,tcp; do
  start_job 4 --mca orte_enable_recovery 1 --mca btl lfc --mca btl_lfc_links "$links" "$program"
  end_job 100
  (($(grep -ao 'hash [0-9a-f]* at' "$output" | sort -u | wc -l) <= 1)) || fail "the orders differ"
  ! grep -aq '^FAIL\|^HANG' "$output" || fail "a survivor complains"
  told=$((told + $(grep -ac '^survivor ' "$output" || true)))
  echo "$links: $(grep -a '^survivor ' "$output" | sort | tr '\n' ';') after $seconds s"
  nothing_left
done
((told > 0)) || fail "no survivor was notified"
echo ok
