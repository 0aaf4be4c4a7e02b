#!/usr/bin/env bash
# Many ranks on one node: all of them are reached by shared memory, with one descriptor for each peer that talks at most,
# from a limit of open files that is far too low; start, memory and open files beside Open MPI's own shared memory. And
# where that limit cannot be raised, the job ends with a text that says so.
#   tests/fault/fat_node.sh [RANKS]
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
program=$LFC_BUILD/default/tests/fault/fault_fat_node
ranks=${1:-24}

# Its providers look for devices while they are loaded, in every rank: only who uses it pays for that.
! readelf -d "$LFC_COMPONENTS_DIR/liblfc.so" | grep 'NEEDED.*libfabric' || fail "libfabric is loaded with LFC"

# At its end a process waits 2 s for mpirun to confirm it, whatever it communicates by. With hundreds of them on a few
# cores mpirun may take longer, and then calls a process that ended well improper: how each ended its exit code says.
in_order=(--mca orte_allowed_exit_without_sync 1)

run_job 550 "$ranks" "${in_order[@]}" --mca btl vader,self --mca coll ^lfc --mca osc ^neon "$program"
job_is_ok "Open MPI's own"
grep '^fat node' "$output" | sed 's/^/vader: /'

# mpirun raises its own limit, and its ranks' with it: the shell between lowers that again.
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
grep -aq 'ulimit -n' "$output" || fail "nothing is said of the limit"
grep -a 'ulimit -n' "$output" | head -n 1
echo ok
