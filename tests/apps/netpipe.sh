#!/usr/bin/env bash
# NetPIPE (Debian's netpipe-openmpi) over LFC and over stock transports: its integrity check of every size, in
# several modes of sending, and one measurement.
. "$(dirname "${BASH_SOURCE[0]}")/compare.bash"
parse_options "$@"
needs netpipe-openmpi NPopenmpi
cd "$scratch"

# integrity OPTIONS...: a line for each size that was checked, and how many checks passed. (Size and verdict are two
# writes, between which the other rank may write too.)
integrity() {
  local code=0
  app 120 2 NPopenmpi -i -n 10 -u "$largest" "$@" || code=$?
  sed -nE 's/^ *[0-9]+: +([0-9]+) bytes .*-->.*/\1 bytes: checked/p' "$output"
  echo "passed: $(grep -o 'Integrity check passed' "$output" | wc -l)"
  grep -i 'integrity check fail' "$output" || true
  echo "exit code: $code"
}

# Performance figures differ; the list of measured sizes must not.
measured() {
  local code=0
  app 120 2 NPopenmpi -n 10 -u "$largest" -o "$scratch/np.out" || code=$?
  awk 'NF == 3 && $2 > 0 { print $1 " bytes: measured" }' "$scratch/np.out"
  echo "exit code: $code"
}

largest=67108864
[[ $quick == no ]] || largest=1048576
compare integrity
grep -q '^passed: [1-9][0-9]' "$scratch/lfc" || fail "fewer than 10 sizes passed the integrity check over LFC"
compare integrity -a
compare integrity -a -2
compare integrity -S
compare integrity -z
compare integrity -s
compare integrity -O 1,3
compare measured
finish
