#!/usr/bin/env bash
# A rank is killed (kill -9) amid traffic: the job ends with an error, and no process and nothing in /dev/shm is
# left. Two more cases: mpirun is killed, and the victim is a rank that all others wait for.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

# victim WHICH RANKS MPIRUN-ARGS... PROGRAM: start, wait until rank 1 is at work, kill, see it end
victim() {
  local which=$1 pid
  shift
  start_job "$@"
  pid=$(pid_of_rank 0)
  [[ $which == mpirun ]] || pid=$(pid_of_rank "$which")
  await_traffic 1
  [[ $which != mpirun ]] || pid=$job_pid
  kill -0 "$pid" 2>/dev/null || fail "the job has ended before anything was killed: $*"
  kill -KILL "$pid"
  job_start=$EPOCHREALTIME
  end_job 60
  ((code != 0)) || fail "a process was killed, but the job ended without an error: $*"
  # Open MPI's own osc/rdma leaves the file of an unfinished window; that file is not LFC's.
  [[ " $* " != *' --mca osc rdma '* || -z ${LFC_OWN_SHM-} ]] || rm -f /dev/shm/osc_rdma.*
  nothing_left
  echo "killed $which of: $* -> exit code $code after $seconds s"
}

for links in loop,shm loop,tcp; do
  lfc=(--mca btl lfc --mca btl_lfc_links "$links")
  victim 2 4 "${lfc[@]}" mpi_random_traffic --events 1000000000
  victim 0 4 "${lfc[@]}" mpi_flood --sleep 60
  victim 1 4 "${lfc[@]}" mpi_collectives --rounds 100000
  victim mpirun 4 "${lfc[@]}" mpi_random_traffic --events 1000000000
done
victim 1 3 --mca btl lfc --mca coll_lfc_channels bind --mca coll_lfc_channels_report 1 mpi_persistent_channels --programs 100000
for rank in 0 1; do
  victim $rank 3 --mca btl lfc --mca coll_lfc_channels "plan:$tree/tests/mpi/every.plan" mpi_persistent_channels --programs 100000
done
victim 1 2 --mca btl lfc --mca osc rdma --mca osc_rdma_btls lfc mpi_onesided --rounds 100000
victim 1 2 --mca btl lfc --mca osc neon mpi_onesided --rounds 100000
victim 2 4 --mca btl lfc --mca osc neon --mca btl_lfc_links loop,tcp mpi_onesided --rounds 100000
# The next job starts as if nothing had happened.
run_job 60 4 --mca btl lfc mpi_ring
job_is_ok "a job after the killed ones"
nothing_left
echo ok
