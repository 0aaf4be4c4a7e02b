#!/usr/bin/env bash
# Permissions that containers withdraw from the ranks of a node: each in its own user namespace or pid namespace,
# not dumpable, or without /proc; all of them or one only. They still share memory if it can be handed over;
# otherwise one line gives the reason, and the job goes on over tcp. No rank counts as dead because others may not
# inspect it.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

user=(unshare --user --map-root-user)
pid=(unshare --pid --fork --mount-proc)
for kind in user pid; do
  declare -n words=$kind
  "${words[@]}" true 2>/dev/null || {
    echo 'skipped: namespaces are not permitted here'
    echo ok
    exit
  }
done

# Scripts that start a rank; each is one word for mpirun.
wrapper() { # wrapper NAME COMMAND: before the program
  printf '#!/usr/bin/env bash\n%s && exec "$@"\n' "$2" >"$scratch/$1"
  chmod +x "$scratch/$1"
}
wrapper nothing true
wrapper no_proc 'mount -t tmpfs none /proc'
wrapper small 'ulimit -f 16'
# A separate /proc that hides the processes that the rank may not inspect.
wrapper hidepid 'mount -t proc -o hidepid=2 none /proc'
wrapper floating 'export OMPI_MCA_btl_lfc_policy=floating'

# try NAME LINK ONE OTHERS [ARGS...]: the words of ONE start rank 0, those of OTHERS start three more; all use LINK.
try() {
  local name=$1 link=$2 one others told ranks=()
  read -ra one <<<"$3"
  read -ra others <<<"$4"
  local use=(--mca btl lfc --mca osc neon --mca btl_lfc_stats 1)
  local program=("$LFC_BUILD/default/tests/fault/fault_containers" "${@:5}")
  ranks=("${use[@]}" "${one[@]}" "${program[@]}" : -n 3 "${use[@]}" "${others[@]}" "${program[@]}")
  run_job 60 1 "${ranks[@]}"
  job_is_ok "$name"
  [[ $(grep -ac "^lfc-stats .* links=[a-z:0-9,]*$link:" "$output") == 4 ]] || fail "$name: not all over $link"
  [[ $link == tcp ]] || ! grep -a '^lfc-stats .*tcp:' "$output" || fail "$name: also over tcp"
  told=$(grep -ac 'communicate over tcp, because' "$output") || true
  [[ $told == $([[ $link == tcp ]] && echo 1 || echo 0) ]] || fail "$name: reported $told times"
  nothing_left
  echo "$name: $link, $seconds s"
}

try 'user namespaces' shm "${user[*]}" "${user[*]}"
try 'one outside' shm "$scratch/nothing" "${user[*]}"
try 'pid namespaces' shm "${pid[*]} $scratch/floating" "${pid[*]} $scratch/floating"
try 'hidden in /proc' shm 'unshare --pid --fork' 'unshare --pid --fork'
# Root may inspect all processes as long as it has its capabilities.
try 'not dumpable' shm 'setpriv --bounding-set=-all' 'setpriv --bounding-set=-all' --not-dumpable
hidden="unshare --mount --propagation private $scratch/hidepid setpriv --bounding-set=-all"
try 'hidepid' shm "$hidden" "$hidden"
try 'hidepid, not dumpable' shm "$hidden" "$hidden" --not-dumpable
try 'one behind hidepid, not dumpable' shm "$hidden" "$scratch/nothing" --not-dumpable
try 'one without /proc' tcp "unshare --mount --propagation private $scratch/no_proc" "$scratch/nothing"
try 'small files only' tcp "$scratch/small" "$scratch/small"
grep -aq 'because .*(ulimit -f)' "$output" || fail 'the limit of file sizes is not named'
echo ok
