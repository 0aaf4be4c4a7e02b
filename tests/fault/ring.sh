#!/usr/bin/env bash
# Connections are made on first use, and memory follows them. In a ring of 64 ranks each rank has two connections,
# and its engine holds no more memory than in a ring of 8, except for a few words about ranks. Without coll lfc,
# whose agreement at start needs some more connections.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

small=8
large=${LFC_RING_RANKS:-64}

# ring_of RANKS LINKS: sets `memory` to the most that the engine of a rank held
ring_of() {
  local ranks=$1 links=$2 rank connections held
  run_job 120 "$ranks" --mca btl lfc --mca coll ^lfc --mca btl_lfc_links "$links" --mca btl_lfc_stats 1 mpi_ring --rounds 11
  job_is_ok "a ring of $ranks"
  memory=0
  for ((rank = 0; rank < ranks; ++rank)); do
    connections=$(stat_of "$rank" connections)
    ((connections == 2)) || fail "rank $rank of a ring of $ranks has $connections connections, not 2 (links $links)"
    held=$(stat_of "$rank" memory)
    ((held > 0)) || fail "rank $rank reports that its NI holds nothing"
    ((held <= memory)) || memory=$held
  done
  nothing_left
  echo "links $links: $ranks ranks, 2 connections each, NI memory at most $memory B, $seconds s"
}

for links in loop,shm loop,tcp; do
  ring_of "$small" "$links"
  bound=$((memory + (large - small) * 1024 + memory / 4))
  ring_of "$large" "$links"
  ((memory <= bound)) || fail "the NI of a rank in a ring of $large holds $memory B, expected at most $bound (links $links)"
done
echo ok
