#!/usr/bin/env bash
# on_channels.sh JOBS PROGRAMS SEED: programs whose messages may use channels have the same results with channels for all
# messages that can have them, with those for persistent requests alone, with none, and over Open MPI's own components.
# Each of the jobs has PROGRAMS programs, and prints a line. They have 2 to 6 ranks in turn.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place host
for ((job = 0; job < $1; job++)); do
  ranks=$((2 + job % 5)) seed=$(($3 + job * $2)) expected=''
  random=("$(executable programs random)" --stock --kinds "repeated,communicator" --programs "$2"
    --seed "$seed")
  for way in planned coll_lfc_channels=bind - stock; do
    components=(--mca btl lfc --mca osc neon)
    [[ $way != stock ]] || components=(--mca btl "vader,self" --mca osc pt2pt --mca coll ^lfc)
    said=$(
      set -e
      [[ $way == stock ]] || use "$way"
      job_says_ok "$ranks" --mca pml ob1 "${components[@]}" "${random[@]}"
    )
    echo "job $((job + 1)) of $1: $ranks ranks, seed $seed, $way: $said"
    [[ ${expected:=$said} == "$said" ]] || { echo "they differ"; exit 1; }
  done
done
