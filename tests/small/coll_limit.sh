#!/usr/bin/env bash
# coll_limit.sh PLACE RANKS COMMUNICATORS: more communicators and persistent requests than a node has boards for, with at
# most 256 of either. Each rank prints once that later communicators are not served.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

small_mpi coll_boards "$1" "$2" coll_lfc_verbose=1 coll_limit --communicators "$3" --requests 300 2>&1 | tee "$output"
[[ $(grep -o 'more than 256 communicators at a time are not served' "$output" | wc -l) == "$2" ]]
