#!/usr/bin/env bash
# fault/rdma.sh [ROUNDS]: jobs in scripts/rdma-box, two nodes with RDMA devices, that use the link verbs by default.
# First with a device on both nodes, and on one. Then, ROUNDS times (default 1), the network is away for a moment, a
# port is down, and a process is killed.
set -euo pipefail
. "$(dirname "$0")/../scripts/expect.bash"
rounds=${1:-1}

box() { "$tree/scripts/rdma-box" "$@"; }
box up 2
share=$(box run bash -c 'echo $LFC_RDMA_SHARE')
programs=$LFC_BUILD/default/tests/mpi
unset "${!OMPI_MCA_btl_lfc_@}"

# job NAME PATTERN MPIRUN-ARGS...: must end well and print `ok`
job() {
  expect 0 "$2" box mpirun --limit 150 --mca btl lfc --mca btl_lfc_verbose 2 "${@:3}"
  grep -qx ok <<<"$output" || fail "$1: the program did not print ok: $output"
  echo "$1: as it must be"
}
by_tcp() { grep -q 'links loop shm tcp' <<<"$output" || fail "$1: another node has other links: $output"; }

# --- by default
expect 0 '^  verbs +works \(by default, between nodes\): ' box run "$LFC_BUILD/default/bin/lfc-info"
grep -qE '^  rxe0:1 +RoCE, GID 10.79.0.1, .* active: used between nodes' <<<"$output" ||
  fail "the port is not reported: $output"
job "a device on both nodes" 'links loop shm verbs tcp' "$programs/mpi_ring"
(($(grep -c 'links loop shm verbs tcp' <<<"$output") == 2)) || fail "one node has other links: $output"
expect 0 'links loop shm' box run mpirun -n 2 --oversubscribe --mca btl lfc --mca btl_lfc_verbose 1 "$programs/mpi_ring"
[[ $output != *verbs* ]] || fail "a job of one node looks for devices: $output"
echo "a job of one node: as it must be"

box run --node 1 rdma link delete rxe0
job "a device on one node" 'links loop shm verbs tcp' "$programs/mpi_random_traffic" --limit 120
by_tcp "a device on one node"
box run --node 1 rdma link add rxe0 type rxe netdev eth0

# --- in the middle of a stream
# faulted LINKS CMD...: runs CMD in the middle of a stream; sets code and output
faulted() {
  local links=$1 tries
  shift
  rm -f "$share/cut"
  : >"$scratch/stream"
  box mpirun --limit 120 --mca btl lfc --mca btl_lfc_links "$links" "$programs/mpi_stream" --mebibytes 2 --limit 100 \
    --until "$share/cut" >"$scratch/stream" 2>&1 &
  for ((tries = 0; tries < 600; ++tries)); do
    ! grep -q 'stream: half' "$scratch/stream" || break
    sleep 0.1
  done
  "$@"
  touch "$share/cut"
  code=0
  wait $! || code=$?
  output=$(<"$scratch/stream")
  box run --node 1 ip link set eth0 up
}
other_node() { box run --node 1 bash -c "$1"; }

reasons='the port is down|transport retry counter exceeded'
for ((round = 1; round <= rounds; ++round)); do
  for links in loop,verbs loop,verbs,tcp; do
    faulted $links other_node 'tc qdisc add dev eth0 root netem loss 100%; sleep 2; tc qdisc del dev eth0 root'
    [[ $code == 0 && $output == *ok ]] || fail "$links, the network is away for a moment: exit code $code: $output"
    faulted $links other_node 'ip link set eth0 down'
    ((code != 0 && code != 124)) || fail "$links, a port is down: exit code $code: $output"
    grep -qE "lost process .*: rxe0:1, GID 10.79.0.[12] to GID 10.79.0.[12]: ($reasons)" <<<"$output" ||
      fail "$links, a port is down: the reason is not reported: $output"
    faulted $links other_node 'pkill -KILL mpi_stream'
    ((code != 0 && code != 124)) || fail "$links, a process is killed: exit code $code: $output"
  done
  echo "round $round: as it must be"
done
echo ok
