#!/usr/bin/env bash
# ahead.sh POLICY WINDOW: collectives that run ahead hold up no rank. For each communicator they cost at most a window and
# the data that is still to be read.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

mpi lab 3 "$1+coll_lfc_fan=1+coll_lfc_stats=1+coll_lfc_window=$2" mpi coll_ahead 2>&1 | tee "$output"
while read -r stored; do
  ((stored <= 5 * ($2 + 17 * (61440 + 512)))) || { echo "$stored bytes were stored"; exit 1; }
done < <(sed -n 's/.* stored=0 most_stored=\([0-9]*\) packets=0.*/\1/p' "$output")
[[ $(grep -c ' stored=0 most_stored=.* packets=0' "$output") == 3 ]] || { echo "packets are left"; exit 1; }
