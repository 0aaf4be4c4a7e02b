# shellcheck shell=bash
# A process is marked by LFC_TEST_MARK=MARK in its environment at its start. Each process that it starts has the same
# mark, also on other hosts of the lab, in the Debian 13 tree and below Open MPI's daemons. So a hang can be explained
# before it is ended, no process is left running, and processes without the mark are never touched.

marked_pids() { # marked_pids MARK: prints those that run, one on each line
  local environment pid stat
  { grep -lzxF "LFC_TEST_MARK=$1" /proc/[0-9]*/environ 2>/dev/null || true; } | while read -r environment; do
    pid=${environment#/proc/} pid=${pid%/environ}
    stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
    [[ ${stat##*) } == Z* ]] || echo "$pid" # a zombie has ended already
  done
}

marked_list() { # marked_list MARK: prints one line of `ps` for each, nothing if there is none
  local pids
  pids=$(marked_pids "$1")
  [[ -z $pids ]] || ps -o pid,ppid,stat,nlwp,time,wchan:24,args -p "${pids//$'\n'/,}" | cut -c1-200
}

marked_kill() { # marked_kill MARK: kills them until none is left that could start another
  local pids tries
  for ((tries = 0; tries < 50; tries++)); do
    pids=$(marked_pids "$1")
    [[ -n $pids ]] || return 0
    # shellcheck disable=SC2086  # a list of numbers
    kill -KILL $pids 2>/dev/null || true
    sleep 0.1
  done
}

# For each process that has loaded LFC, prints the operations that LFC waits for.
marked_look() { # marked_look MARK
  local look=${LFC_BUILD-}/default/bin/lfc-look pids
  mapfile -t pids < <(marked_pids "$1")
  if [[ ! -x $look || ${#pids[@]} == 0 ]]; then return; fi
  echo "--- what lfc-look sees"
  timeout -s KILL 30 "$look" "${pids[@]}" 2>/dev/null | cut -c1-400 || true
}

marked_show() { # marked_show MARK: prints the state and the stacks of all
  local pid name shown=0
  echo "--- state of its processes"
  marked_list "$1"
  marked_look "$1"
  if ! command -v gdb >/dev/null; then
    echo "(no gdb here, so no stacks: scripts/setup test)"
    return
  fi
  for pid in $(marked_pids "$1"); do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $name in bash | sh | sleep | timeout | mpirun | prterun | prte | prted | orted | nsenter | unshare | setsid | lab | tail) continue ;; esac
    if ((++shown > 8)); then
      echo "(more processes than 8: not shown)"
      break
    fi
    echo "--- stacks of $pid ($name)"
    timeout -s KILL 30 gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'thread apply all bt 30' -p "$pid" \
      </dev/null 2>&1 | grep -E '^(Thread|#|ptrace)' | cut -c1-240 || true
  done
}
