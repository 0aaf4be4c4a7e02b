#!/usr/bin/env bash
# quiet.sh PLACE RANKS WITH FOLDER PROGRAM ARGS...: a program that goes on without ranks that failed, so LFC prints nothing
# about them.
set -euo pipefail
. "$(dirname "$0")/../jobs.bash"

mpi "$1" "$2" "ulfm+$3" "${@:4}" 2>&1 | tee "$output"
! grep -aE '(btl|coll) lfc: |has ended' "$output" || { echo "LFC has printed a loss"; exit 1; }
