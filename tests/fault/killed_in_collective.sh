#!/usr/bin/env bash
# A rank is killed (kill -9) inside each collective: the job ends with an error, on one node and, as root, across
# the hosts of a lab. If mpirun does not end the job (--enable-recovery), coll lfc itself detects the loss: all
# other ranks end, and name the lost rank. Arguments: the collectives; without them, all.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"
cd "$tree"

program=$LFC_TESTS_BIN/mpi_coll_steady
calls=("$@")
(($# > 0)) || calls=(bcast barrier reduce allreduce allgather gather scatter ibcast ibarrier ireduce iallreduce iallgather)

launch() { # launch LAUNCHER... -- ARGS...: as start_job, by another launcher
  local launcher=()
  while [[ $1 != -- ]]; do launcher+=("$1"); shift; done
  shift
  job_start=$EPOCHREALTIME
  "${launcher[@]}" --mca pml ob1 --mca btl lfc "$@" >"$output" 2>&1 </dev/null &
  job_pid=$!
}

victim() { # victim CALL RANK: once it is at work
  local pid
  pid=$(pid_of_rank "$2")
  await_line 'at work' || fail "the job does not get to work: $1"
  kill -0 "$pid" 2>/dev/null || fail "the job has ended before anything was killed: $1"
  kill -KILL "$pid"
}

in_each() { # in_each WHERE LAUNCHER...: mpirun ends the job
  local where=$1 call i
  shift
  for ((i = 0; i < ${#calls[@]}; ++i)); do
    call=${calls[i]}
    launch "$@" -- "$program" --only "$call" --seconds 100
    victim "$call" $((i % 3))
    job_start=$EPOCHREALTIME
    end_job 60
    ((code != 0)) || fail "a rank was killed in $call, but the job ended without an error"
    echo "$where: killed in $call: exit code $code after $seconds s"
  done
}

here=(mpirun -n 4 --map-by slot:OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1)
in_each here "${here[@]}"
if [[ $EUID == 0 ]] && unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null; then
  export LFC_LAB=killed$$
  env -u LFC_TEST_MARK scripts/lab up 3 >/dev/null
  trap 'leave; scripts/lab down >/dev/null 2>&1' EXIT
  in_each lab scripts/lab mpirun -n 5
else
  echo "not across hosts: namespaces are not permitted"
fi
nothing_left

# Here only the component itself reports the loss to the ranks that wait.
for call in "${calls[@]}"; do
  [[ $call =~ ^(bcast|barrier|reduce|allreduce|ibcast|iallreduce)$ ]] || continue # where every rank waits for every other
  launch "${here[@]}" --enable-recovery -- "$program" --only "$call" --seconds 100
  victim "$call" 2
  for ((tries = 0; tries < 600; ++tries)); do
    [[ -n $(rank_pids) ]] || break
    sleep 0.1
  done
  [[ -z $(rank_pids) ]] || fail "ranks still wait 60 s after one was killed in $call"
  grep -aqE '^(coll lfc: rank 2 of MPI_COMM_WORLD( on node [^ ]+)? has ended|.*btl lfc: lost process .*, rank 2 on node )' "$output" ||
    fail "no rank reported the lost rank in $call"
  (($(grep -ac '^coll lfc: .* has ended' "$output") <= 1)) || fail "more than one rank of the node reported the lost rank in $call"
  kill "$job_pid" 2>/dev/null || true
  end_job 60
  echo "here, nobody told: killed in $call: all ended after $((tries / 10)).$((tries % 10)) s"
done
nothing_left
echo ok
