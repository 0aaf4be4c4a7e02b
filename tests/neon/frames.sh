#!/usr/bin/env bash
# frames.sh PLACE RANKS LEAST MOST COUNT PROGRAM ARGS...: the frames that each rank sends for one unit of a program of
# perf/, an iteration or a put in either direction. COUNT is the program's option for the number of units. Frames are
# counted in two jobs with different numbers, so that start and end cancel. Frames that return credits come first by the
# size of the windows, so the quotient is rounded to two digits.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

need_place "$1"
use btl_lfc_stats=1
for units in 200 1200; do
  "${launcher[@]}" -n "$2" --mca pml ob1 --mca btl lfc --mca osc neon "$LFC_BUILD/default/perf/$6" --repeats 1 "${@:7}" \
    "$5" "$units" 2>&1 | tee "$output.$units"
done
awk -v ranks="$2" -v least="$3" -v most="$4" '
  FNR == 1 { ++job }
  match($0, /lfc-stats rank=[0-9]+/) {
    rank = substr($0, RSTART + 15, RLENGTH - 15)
    if (match($0, / frames_sent=[0-9]+/)) sent[job, rank] = substr($0, RSTART + 13, RLENGTH - 13)
  }
  END {
    for (rank = 0; rank < ranks; rank++) {
      if (!((1, rank) in sent) || !((2, rank) in sent)) { print "rank " rank " has no counters"; exit 1 }
      each = sprintf("%.2f", (sent[2, rank] - sent[1, rank]) / 1000)
      fits = each + 0 >= least + 0 && each + 0 <= most + 0
      printf "rank %d: %s frames for each unit, required %s to %s%s\n", rank, each, least, most, fits ? "" : ": WRONG"
      wrong += !fits
    }
    exit wrong > 0
  }' "$output.200" "$output.1200"
