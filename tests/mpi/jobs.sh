#!/usr/bin/env bash
# jobs.sh PLACE RANKS SERVED ARGS...: collectives over a job and its two spawned children. So many ranks print that LFC
# serves the merged communicator.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

mpi "$1" "$2" coll_lfc_verbose=1 mpi jobs "${@:4}" 2>&1 | tee "$output"
served=$(grep -o 'coll lfc: both: served' "$output" | wc -l) || true
[[ $served == "$3" ]] || { echo "served at $served ranks, not $3"; exit 1; }
