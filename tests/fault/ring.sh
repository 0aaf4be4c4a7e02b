#!/usr/bin/env bash
# Connections are made on first use: in a ring of 64 ranks each has two.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

ranks=${LFC_RING_RANKS:-64}
for links in loop,shm loop,tcp; do
  run_job 120 "$ranks" --mca btl lfc --mca btl_lfc_links "$links" --mca btl_lfc_stats 1 mpi_ring --rounds 11
  job_is_ok "a ring of $ranks"
  for ((rank = 0; rank < ranks; ++rank)); do
    connections=$(stat_of "$rank" connections)
    ((connections == 2)) || fail "rank $rank of a ring of $ranks has $connections connections, not 2 (links $links)"
  done
  nothing_left
  echo "links $links: $ranks ranks, 2 connections each, $seconds s"
done
echo ok
