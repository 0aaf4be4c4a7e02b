#!/usr/bin/env bash
# counters.sh ARGS...: the counters of NEON and the limits of early data. The line of statistics shows what rank 1 has
# counted.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

neon host 2 native counters "$@" 2>&1 | tee "$output"
grep -q '^lfc-neon rank=1 .* early=19 .* parked=0 parked_most=19224 ' "$output" ||
  { echo "no line of statistics shows the counters of rank 1"; exit 1; }
