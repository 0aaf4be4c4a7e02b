#!/usr/bin/env bash
# against_stock.sh RANKS ARGS...: drawn programs have the same results over Open MPI's own components. Windows are left
# out: osc rdma cannot compare and swap at oneself, and osc pt2pt ends in a double free in post, start, complete, wait
# with derived types.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place host
random=("$(executable programs random)" --stock
  --kinds "messages,flood,persistent,collective,communicator,polling,neon" "${@:2}")
ours=$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl lfc --mca osc neon "${random[@]}")
stock=$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl vader,self --mca osc pt2pt "${random[@]}")
echo "lfc: $ours; stock: $stock"
[[ $ours == "$stock" && $ours == *ok ]]
