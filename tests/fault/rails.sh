#!/usr/bin/env bash
# One of two network interfaces is cut in the middle of a checked stream: the job goes on over the other, every byte
# right. It is cut at the host itself, and at the switch, where no host is notified; point to point and one-sided;
# and first none at all, for comparison. Also: an interface that is dead from the start is left out; ranks without a
# network in common.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
export LFC_LAB=rails$$
# eth0 starts the job; the tested traffic runs over eth1 and eth2.
"$tree/scripts/lab" up 2 --rails 3 --rate 300mbit >/dev/null
trap 'leave; "$tree/scripts/lab" down >/dev/null' EXIT

# For start_job: one rank to a host.
mpirun() { "$tree/scripts/lab" mpirun "${@/slot:OVERSUBSCRIBE/node:OVERSUBSCRIBE}"; }

host() { nsenter --net="/run/netns/lfc-$LFC_LAB-$1" "${@:2}"; }
cut_rail() { # cut_rail WHERE RAIL
  case $1 in
    host) host 1 ip link set "eth$2" down ;;
    switch) host switch ip link set "p1r$2" down ;;
  esac
}
# Whether host 0 reaches host 1 over this rail: no process listens there, and its kernel refuses the connection.
reaches() {
  [[ $(host 0 timeout 5 bash -c "exec 3<>/dev/tcp/10.77.$1.2/9" 2>&1) == *'Connection refused'* ]]
}
# Waits until both rails carry packets again. After a cut a host treats the other one as unreachable for a while
# (ARP), and LFC leaves out a rail over which it cannot connect at the start.
mend_rails() {
  local rail tries
  for rail in 1 2; do
    host 1 ip link set "eth$rail" up
    host switch ip link set "p1r$rail" up
    for ((tries = 0; tries < 600; ++tries)); do
      ! reaches "$rail" || break
      sleep 0.1
    done
    ((tries < 600)) || fail "rail $rail does not come back"
  done
}

stream=(--mca btl lfc --mca btl_lfc_interfaces "eth1,eth2" --mca btl_lfc_stats 1)

# faulted NAME WHERE RAIL PROGRAM-ARGS...: cut in the middle
faulted() {
  local name=$1 where=$2 rail=$3
  shift 3
  rm -f "$scratch/cut"
  start_job 2 "${stream[@]}" "$@" --until "$scratch/cut"
  await_line 'stream: half' || { tail -n 20 "$output"; fail "$name: the stream did not get half way"; }
  [[ $where == none ]] || cut_rail "$where" "$rail"
  touch "$scratch/cut"
  end_job 60
  mend_rails
  job_is_ok "$name"
  if [[ $where == none ]]; then
    (($(stat_of 0 rails_lost) + $(stat_of 1 rails_lost) == 0)) || fail "$name: a rail was lost for no reason"
  else
    (($(stat_of 0 rails_lost) == 1 && $(stat_of 1 rails_lost) == 1)) || fail "$name: no rail was lost"
  fi
  (($(stat_of 1 peers_broken) == 0)) || fail "$name: a peer was lost"
  nothing_left
  echo "$name: $seconds s, rail bytes at rank 0 $(stat_of 0 rail0_bytes) $(stat_of 0 rail1_bytes), at rank 1" \
    "$(stat_of 1 rail0_bytes) $(stat_of 1 rail1_bytes), sent again $(($(stat_of 0 rail_frames_again) + $(stat_of 1 rail_frames_again)))"
}

osc=(--mca osc rdma --mca osc_rdma_btls lfc)
faulted "two rails" none 0 mpi_stream --mebibytes 64
faulted "first rail cut at the host" host 1 mpi_stream --mebibytes 64
faulted "second rail cut at the host" host 2 mpi_stream --mebibytes 64
faulted "first rail cut at the switch" switch 1 mpi_stream --mebibytes 64
faulted "second rail cut at the switch" switch 2 mpi_stream --mebibytes 64
faulted "fragments, first rail cut at the switch" switch 1 --mca btl_lfc_flags 1 mpi_stream --mebibytes 64
faulted "one-sided, first rail cut at the switch" switch 1 "${osc[@]}" mpi_stream --one-sided --mebibytes 64
faulted "one-sided, second rail cut at the host" host 2 "${osc[@]}" mpi_stream --one-sided --mebibytes 64

host switch ip link set p1r2 nomaster # a wire that leads nowhere
run_job 60 2 "${stream[@]}" mpi_stream
job_is_ok "a rail that is dead from the start"
nothing_left
echo "a rail that is dead from the start: $seconds s"

# Ranks without a network in common: another BTL carries the messages; coll lfc agrees not to serve, and prints the
# reason.
# shellcheck disable=SC2016  # for the rank's shell
start_job 2 --mca btl lfc,tcp,self --mca btl_tcp_if_include eth0 bash -c \
  'export OMPI_MCA_btl_lfc_interfaces=eth$((OMPI_COMM_WORLD_RANK + 1)); exec "$@"' apart mpi_stream --mebibytes 1
end_job 60
job_is_ok "ranks out of each other's reach"
grep -aEq 'coll lfc: rank [0-9]+ of MPI_COMM_WORLD.* cannot be reached by LFC: .*' "$output" || fail "coll lfc did not say what is wrong"
nothing_left
echo "ranks out of each other's reach: $seconds s"
echo ok
