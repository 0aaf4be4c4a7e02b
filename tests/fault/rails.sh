#!/usr/bin/env bash
# One of two network interfaces is cut in the middle of a checked stream: the job goes on over the other, every byte
# right (rails.bash). It is cut at the host itself, and at the switch, where no host is notified; point to point and
# one-sided; and first none at all, for comparison. Also: an interface that is dead from the start is left out; ranks
# without a network in common.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
. "$(dirname "${BASH_SOURCE[0]}")/rails.bash"

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
grep -aEq 'coll lfc: rank [0-9]+ of MPI_COMM_WORLD.* cannot be reached by LFC: .*' "$output" || fail "coll lfc did not report the reason"
nothing_left
echo "ranks out of each other's reach: $seconds s"
echo ok
