#!/usr/bin/env bash
# against_stock.sh RANKS CASES: random collectives have the same results with coll lfc as without it.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

digests=()
need_place host
for transport in lfc vader,self; do
  digests+=("$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl $transport \
    "$(executable mpi coll_random)" --alike --cases "$2" --limit 600 | grep '^digest ')")
  echo "$transport: ${digests[-1]}"
done
[[ -n ${digests[0]} && ${digests[0]} == "${digests[1]}" ]]
