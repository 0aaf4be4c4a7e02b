#!/usr/bin/env bash
# agreement.sh PLACE RANKS: in MPI_Init the ranks of one node agree about coll lfc without a message or a connection. In
# the control, ranks on several nodes, each rank sends one. A rank that waits for a late one for 5 s lets all ranks send,
# so its MPI_Init has lasted as long. If that of no rank has, messages are a failure; otherwise the test ends as late.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

mpi "$1" "$2" btl_lfc_stats=1+coll_lfc_verbose=1 mpi agreement 2>&1 | tee "$output"
served=$(grep -c 'coll lfc: MPI_COMM_WORLD: served$' "$output") || true
[[ $served == "$2" ]] || { echo "coll lfc serves $served ranks"; exit 1; }
silent=$(grep -c '^lfc-stats .* messages_sent=0 .* connections=0 ' "$output") || true
[[ $silent != $([[ $1 == lab ]] && echo 0 || echo "$2") ]] || exit 0
echo "$silent ranks have sent no message"
longest=$(sed -n 's/^agreement rank=.* init_ms=//p' "$output" | sort -n | tail -n 1)
[[ $1 != lab && $longest -ge 5000 ]] || exit 1
echo "late: MPI_Init took $longest ms, bound 5000"
exit 76
