#!/usr/bin/env bash
# A node that has no interface but loopback (a laptop without a network, a container with --network none). Its ranks
# reach each other by shared memory, and LFC prints nothing. A list that excludes interfaces changes nothing; a list
# that names an interface is an error there.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

unshare --net true 2>/dev/null || { echo "network namespaces are not permitted here"; exit 77; }
mpirun() {
  # shellcheck disable=SC2016  # for the shell in the namespace
  unshare --net bash -c 'ip link set lo up && exec mpirun "$@"' mpirun "$@"
}

for list in '' ^docker,virbr; do
  run_job 30 2 --mca btl lfc --mca btl_lfc_stats 1 ${list:+--mca btl_lfc_interfaces "$list"} mpi_ring
  job_is_ok "without a network, interfaces '$list'"
  (($(grep -ac '^lfc-stats' "$output") == 2)) || fail "interfaces '$list': LFC took no part"
  [[ -n $list ]] || ! grep -aq 'btl lfc:' "$output" || fail "LFC prints a line on a node without a network"
done

run_job 30 2 --mca btl lfc --mca btl_lfc_interfaces eth0 mpi_ring
((code != 0)) || fail "an interface that is not there was accepted"
grep -aq 'btl_lfc_interfaces: tcp: no interface is named "eth0"' "$output" || fail "no line names the interface"
nothing_left
echo ok
