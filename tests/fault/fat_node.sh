#!/usr/bin/env bash
# Many ranks on one node: shared memory reaches all of them, with at most one descriptor for each peer that
# communicates. They start with a limit of open files that is far too low. Start, memory and open files are printed
# beside those of Open MPI's own shared memory. If that limit cannot be raised, the job ends with a text that names
# it.
#
#   tests/fault/fat_node.sh [RANKS]
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
program=$LFC_BUILD/default/tests/fault/fault_fat_node
ranks=${1:-24}

# The providers of libfabric look for devices while they are loaded, in every rank: only jobs that use it must load
# it.
! readelf -d "$LFC_COMPONENTS_DIR/liblfc.so" | grep 'NEEDED.*libfabric' || fail "libfabric is loaded with LFC"

# At its end a process waits 2 s for mpirun to confirm it, over any transport. With hundreds of ranks on a few cores
# mpirun may take longer, and then reports a good end as improper. Therefore the exit code of each rank decides.
in_order=(--mca orte_allowed_exit_without_sync 1)

run_job 550 "$ranks" "${in_order[@]}" --mca btl vader,self --mca coll ^lfc --mca osc ^neon "$program"
job_is_ok "Open MPI's own"
grep '^fat node' "$output" | sed 's/^/vader: /'

# mpirun raises its own limit and that of its ranks; the shell between lowers the latter again.
limited() { # limited ULIMIT-OPTIONS POLICY
  run_job 550 "$ranks" "${in_order[@]}" --mca btl lfc --mca btl_lfc_links loop,shm --mca btl_lfc_policy "$2" \
    bash -c "ulimit $1 && exec $program"
}

for policy in single floating; do
  limited '-Sn 40' $policy
  job_is_ok "policy $policy"
  grep '^fat node' "$output" | sed "s/^/lfc $policy: /"
  nothing_left
done

limited "-n $((ranks / 2 + 20))" single
((code != 0)) || fail "half the descriptors are enough"
grep -aq 'ulimit -n' "$output" || fail "the limit is not reported"
grep -a 'ulimit -n' "$output" | head -n 1
echo ok
