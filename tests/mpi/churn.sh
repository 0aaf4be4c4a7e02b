#!/usr/bin/env bash
# churn.sh PLACE RANKS WITH ARGS...: communicators that are made and freed leave nothing behind in the component.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

mpi "$1" "$2" "coll_lfc_stats=1+$3" mpi coll_churn "${@:4}" 2>&1 | tee "$output"
[[ $(grep -c 'lfc-coll rank=.* groups=0 .*packets=0' "$output") == "$2" ]] || { echo "groups or packets are left"; exit 1; }
