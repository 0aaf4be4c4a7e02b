# shellcheck shell=bash
# The common functions of the fault tests: start a job under mpirun, await its end with a limit, and find its
# remains. Sourced.
#
#   start_job 4 --mca btl lfc mpi_ring          # 4 ranks of $LFC_TESTS_BIN/mpi_ring, output to $output
#   kill -KILL "$(pid_of_rank 2)"
#   end_job 60                                  # fails, with the state of the processes, if it takes longer
#   ((code != 0)) || fail "the job did not fail"
#   nothing_left
#
# LFC_COMPONENTS_DIR holds mca_btl_lfc.so, LFC_TESTS_BIN the mpi_* programs (default: those of LFC_BUILD, build/).
# A test prints `ok` last. If permitted, it runs with its own /dev/shm, so that files of other jobs are not
# attributed to it.
set -euo pipefail

if [[ -z ${LFC_OWN_SHM-} ]] && unshare --mount --propagation private true 2>/dev/null; then
  export LFC_OWN_SHM=1
  exec unshare --mount --propagation private bash -c 'mount -t tmpfs tmpfs /dev/shm && exec "$@"' bash "$0" "$@"
fi

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/lib/marked.sh
. "$tree/scripts/lib/marked.sh"
: "${LFC_BUILD:=$tree/build}" "${LFC_COMPONENTS_DIR:=$LFC_BUILD/default/components}"
: "${LFC_TESTS_BIN:=$LFC_BUILD/default/tests/mpi}"
export LFC_TEST_MARK=${LFC_TEST_MARK:-fault.$$}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path=$LFC_COMPONENTS_DIR:SYS_DEFAULT

scratch=$(mktemp -d)
output=$scratch/output
code=0
seconds=0

rank_pids() { # the ranks
  local pid
  for pid in $(marked_pids "$LFC_TEST_MARK"); do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in mpi_* | ordered_* | neon_* | fault_*) echo "$pid" ;; esac
  done
}

job_pids() { # mpirun, its daemons and the ranks
  local pid
  rank_pids
  for pid in $(marked_pids "$LFC_TEST_MARK"); do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in mpirun | orted | prte*) echo "$pid" ;; esac
  done
}

leave() {
  local pids
  pids=$(job_pids)
  # shellcheck disable=SC2086  # a list of numbers
  [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
  rm -rf "$scratch"
}
trap leave EXIT

fail() {
  echo "FAILED: $*"
  [[ ! -s $output ]] || { echo '--- output of the job'; head -n 60 "$output"; }
  exit 1
}

[[ -f $LFC_COMPONENTS_DIR/mca_btl_lfc.so ]] || fail "no mca_btl_lfc.so in LFC_COMPONENTS_DIR=$LFC_COMPONENTS_DIR"
[[ -x $LFC_TESTS_BIN/mpi_ring ]] || fail "no mpi_ring in LFC_TESTS_BIN=$LFC_TESTS_BIN"

# start_job RANKS MPIRUN-ARGS... mpi_PROGRAM ARGS...; or neon_PROGRAM, of the folder beside
start_job() {
  local ranks=$1 arguments=() argument
  shift
  for argument; do
    case $argument in
      mpi_*) [[ ! -x $LFC_TESTS_BIN/$argument ]] || argument=$LFC_TESTS_BIN/$argument ;;
      neon_*) [[ ! -x $LFC_TESTS_BIN/../neon/$argument ]] || argument=$LFC_TESTS_BIN/../neon/$argument ;;
    esac
    arguments+=("$argument")
  done
  : >"$output" # the shell in the background may take its time: nobody must read the last job's
  job_start=$EPOCHREALTIME
  mpirun -n "$ranks" --map-by slot:OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1 --mca pml ob1 \
    "${arguments[@]}" >"$output" 2>&1 </dev/null &
  job_pid=$!
}

# end_job LIMIT: waits at most LIMIT seconds from now; sets code, and seconds since the start. The limit ends a hang
# and measures nothing: it counts polls, so that a machine that stands still for a while fails no test. scripts/test can
# multiply it.
end_job() {
  local looks=$(($1 * 10 * ${LFC_TEST_PATIENCE:-1}))
  while kill -0 "$job_pid" 2>/dev/null; do
    if ((looks-- == 0)); then
      marked_show "$LFC_TEST_MARK"
      fail "the job still runs after $1 s"
    fi
    sleep 0.1
  done
  code=0
  wait "$job_pid" || code=$?
  # shellcheck disable=SC2034  # for the test
  seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $job_start }")
}

run_job() { # run_job LIMIT RANKS MPIRUN-ARGS... mpi_PROGRAM ARGS...
  start_job "${@:2}"
  end_job "$1"
}

job_is_ok() {
  ((code == 0)) || fail "exit code $code: $*"
  grep -aqx ok "$output" || fail "the program did not print ok: $*"
}

pid_of_rank() { # waits until it has begun; a busy machine takes its time
  local tries pid
  for ((tries = 0; tries < 600; ++tries)); do
    for pid in $(job_pids); do
      if grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$pid/environ" 2>/dev/null; then
        echo "$pid"
        return
      fi
    done
    sleep 0.1
  done
  fail "rank $1 has not begun within 60 s" >&2
}

# await_line LINE: waits until the job has printed it. False: it does not within a minute, or has ended.
await_line() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    ! grep -aqx "$1" "$output" || return 0
    kill -0 "$job_pid" 2>/dev/null || return 1
    sleep 0.1
  done
  return 1
}

# counter_of PID NAME: a counter of a running rank, as lfc-look shows it. 0: the rank has not counted yet, or may
# not be inspected.
counter_of() {
  local shown
  shown=$("$LFC_BUILD/default/bin/lfc-look" "$1" --wait 0.01 2>/dev/null) || true
  shown=$(sed -nE "s/^  counters .*\\<$2 ([0-9]+).*/\\1/p" <<<"$shown")
  echo "${shown:-0}"
}

# await_traffic RANK: until that rank has sent some frames, or has no credit for more
await_traffic() {
  local tries pid
  pid=$(pid_of_rank "$1")
  for ((tries = 0; tries < 600; ++tries)); do
    (($(counter_of "$pid" frames_sent) < 10 && $(counter_of "$pid" credit_stalls) == 0)) || return 0
    kill -0 "$job_pid" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "rank $1 has sent nothing within 60 s"
}

# stat RANK KEY: a counter of that rank's lfc-stats line
stat_of() {
  local value
  value=$(sed -n "s/^lfc-stats rank=$1 .*\\<$2=\\([0-9]*\\).*/\\1/p" "$output")
  [[ $value =~ ^[0-9]+$ ]] || fail "rank $1 printed no lfc-stats line with $2" >&2
  echo "$value"
}

# In a /dev/shm that is shared with other jobs only the name identifies our files.
shm_names='*lfc*'
[[ -z ${LFC_OWN_SHM-} ]] || shm_names='*'
shm_files() { find /dev/shm -mindepth 1 -maxdepth 1 -name "$shm_names" -printf '%f\n' | sort; }
shm_before=$(shm_files)

# Fails if a process of the job, or a new file in /dev/shm, is left.
nothing_left() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    [[ -n $(job_pids) ]] || break
    sleep 0.1
  done
  if [[ -n $(job_pids) ]]; then
    marked_show "$LFC_TEST_MARK"
    fail "processes are left running"
  fi
  [[ $(shm_files) == "$shm_before" ]] || fail "left in /dev/shm: $(shm_files)"
}
