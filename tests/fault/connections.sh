#!/usr/bin/env bash
# A network that limits each flow. A stream of large messages uses all four connections of an interface alike, which
# makes it faster (the factor is printed). Small messages use the first one only, and no other is opened before the
# first large message.
#   connections.sh [MBIT/S OF EACH FLOW]
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
export LFC_LAB=connections$$
"$tree/scripts/lab" up 2 >/dev/null
trap 'leave; "$tree/scripts/lab" down >/dev/null' EXIT
mbit=${1:-1000}
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }

paced() { # paced CONNECTIONS MPIRUN-ARGS...
  start_job 2 --mca btl lfc --mca btl_lfc_connections "$1" --mca btl_lfc_stats 1 \
    -x LD_PRELOAD="$LFC_BUILD/default/tests/fault/libfault_pace.so" -x PACE_BYTES=$((mbit * 125000)) "${@:2}"
  end_job 60
  ((code == 0)) || fail "with $1 connections: ${*:2}"
}
bench() { # bench CONNECTIONS NAME SIZE: its figure
  paced "$1" "$LFC_BUILD/default/perf/mpi_bench" --bench "$2:$3" --time 0.5 --repeats 3
  awk -F'"median":' '/"median":/ { split($2, value, /[,}]/); print value[1] + 0; exit }' "$output"
}

one=$(bench 1 bw 4M@4)
four=$(bench 4 bw 4M@4)
echo "4 MiB, $mbit Mbit/s for each flow: one connection $one MB/s, four $four MB/s"
carried=() all=0
for rail in 0 1 2 3; do
  carried[rail]=$(($(stat_of 0 "rail${rail}_bytes") + $(stat_of 1 "rail${rail}_bytes")))
  all=$((all + carried[rail]))
done
((all > 16 << 20)) || fail "only $all bytes were carried"
for rail in 0 1 2 3; do
  # A quarter each, and less for a connection that waited for the processor.
  ((carried[rail] >= all / 16)) || fail "connection $rail carried ${carried[rail]} of $all bytes"
done

paced 4 --mca btl_lfc_verbose 1 mpi_ring
job_is_ok "small messages"
# shellcheck disable=SC2126  # lines of all ranks
(($(grep -ac 'connecting to .*connection [2-4] between these' "$output") == 0)) || fail "further connections were opened for small messages"
nothing_left
echo ok
