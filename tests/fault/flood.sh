#!/usr/bin/env bash
# 200,000 messages of 1 KiB to a rank that sleeps 5 s before its first receive: nothing is lost, the senders stall for
# want of credits, and memory stays within the bound that btl_lfc_verbose prints. One sender, and seven.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

for ranks in 2 8; do
  for links in loop,shm loop,tcp; do
    run_job 600 "$ranks" --mca btl lfc --mca btl_lfc_links "$links" --mca btl_lfc_stats 1 --mca btl_lfc_verbose 1 \
      mpi_flood --limit 600
    job_is_ok "flood of $((ranks - 1)) senders, links $links"

    # The printed bound: max(window_cap, P * initial_window) * frame, and a ring for each local sender.
    bound=$(sed -n 's/.*= max(\([0-9]*\), P \* \([0-9]*\)) \* \([0-9]*\) B, and per local sender a ring of \([0-9]*\) B.*/\1 \2 \3 \4/p' \
      "$output" | sort -u)
    read -r cap window frame ring <<<"$bound"
    [[ -n ${ring-} ]] || fail "btl_lfc_verbose printed no memory bound"
    ((cap >= (ranks - 1) * window)) || cap=$(((ranks - 1) * window))
    # Resident memory also contains Open MPI's own buffers: they may take half of the payload, far from all of it.
    bound_kib=$(((cap * frame + (ranks - 1) * ring) / 1024))
    for ((rank = 0; rank < ranks; ++rank)); do
      grown=$(awk -v r="rank=$rank" '$1 == "flood" && $2 == r && /rss_kib_peak/ {
        split($3, before, "="); split($4, peak, "="); print peak[2] - before[2] }' "$output")
      [[ -n $grown ]] || fail "rank $rank did not print its memory"
      ((grown <= bound_kib && grown <= 100000)) ||
        fail "rank $rank grew by $grown KiB; bound $bound_kib KiB, payload 200000 KiB (links $links)"
    done
    for ((rank = 1; rank < ranks; ++rank)); do
      stalls=$(stat_of "$rank" credit_stalls)
      ((stalls > 0)) || fail "rank $rank never stalled for want of a credit (links $links)"
    done
    time=$(sed -n 's/^flood rank=1 .*seconds=//p' "$output")
    nothing_left
    echo "$((ranks - 1)) senders, links $links: $seconds s, sender $time s, bound $bound_kib KiB, last growth $grown KiB"
  done
done
echo ok
