#!/usr/bin/env bash
# NetPIPE (Debian's netpipe-openmpi) over LFC and over stock transports: its integrity check of every size, in several
# ways of sending, and one measurement.
. "$(dirname "${BASH_SOURCE[0]}")/compare.bash"
parse_options "$@"
needs netpipe-openmpi NPopenmpi
cd "$scratch"

# integrity OPTIONS...: a line for each size that was checked
integrity() {
  local code=0
  app 120 2 NPopenmpi -i -n 10 -u "$largest" "$@" || code=$?
  sed -nE 's/^ *[0-9]+: +([0-9]+) bytes .*--> *(.*)$/\1 bytes: \2/p' "$output"
  echo "exit code: $code"
}

# Performance figures differ; that each size was measured must not.
measured() {
  local code=0
  app 120 2 NPopenmpi -n 10 -u "$largest" -o "$scratch/np.out" || code=$?
  sed -nE 's/^ *[0-9]+: +([0-9]+) bytes .*--> *[0-9.]+ Mbps.*$/\1 bytes: measured/p' "$output"
  echo "exit code: $code"
}

largest=67108864
[[ $quick == no ]] || largest=1048576
compare integrity
compare integrity -a
compare integrity -a -2
compare integrity -S
compare integrity -z
compare integrity -s
compare integrity -O 1,3
compare measured
finish
