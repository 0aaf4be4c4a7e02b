#!/usr/bin/env bash
# NEON, one-sided operations and collectives over two rails. One rail is slow, so that a notification on the other one
# could overtake the data; then it is cut, with data on it. Every byte is right, and the job goes on over the other
# rail.
#
#   tests/fault/rails_calls.sh            NEON
#   tests/fault/rails_calls.sh --all      all of these; also with the slow rail not cut, and with a fast rail cut
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
. "$(dirname "${BASH_SOURCE[0]}")/rails.bash"

neon=(--mca osc neon neon_stream --mebibytes 16)
rma=(--mca osc neon mpi_stream --one-sided --mebibytes 16)
coll=(mpi_stream --collective --mebibytes 16)

delay_rail 2
faulted "NEON, slow rail cut at the switch" switch 2 "${neon[@]}"
if [[ ${1-} == --all ]]; then
  faulted "one-sided, slow rail cut at the switch" switch 2 "${rma[@]}"
  faulted "collectives, slow rail cut at the switch" switch 2 "${coll[@]}"
  faulted "NEON, second rail slow" none 0 "${neon[@]}"
  faulted "one-sided, second rail slow" none 0 "${rma[@]}"
  faulted "collectives, second rail slow" none 0 "${coll[@]}"
  undelay_rail 2
  for rail in 1 2; do
    for where in host switch; do
      faulted "NEON, rail $rail cut at the $where" $where $rail "${neon[@]}"
      faulted "one-sided, rail $rail cut at the $where" $where $rail "${rma[@]}"
      faulted "collectives, rail $rail cut at the $where" $where $rail "${coll[@]}"
    done
  done
fi
echo ok
