# shellcheck shell=bash
# MPI jobs of the tests: where they run, and whether they did what the row promises. Sourced by tests/kinds.sh, and by
# scenarios, which are scripts of their own:
#
#   . "$(dirname "$0")/../jobs.bash"
#   mpi lab 3 coll_lfc_stats=1 mpi coll_ahead 2>&1 | tee "$output"
#
# Arguments of the functions that start a job:
#   PLACE             host: this one; lab: a rank on each of the four hosts of scripts/lab in turn; box: a guest with an
#                     RDMA device (scripts/rdma-box); boxes: two such guests in turn
#   WITH              `-` for nothing, or words of tests/with.sh, joined by `+`
#   FOLDER, PROGRAM   `rma random` is tests/rma/random.c
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
tree=$lfc_tree
. "$tree/tests/builds.bash"
. "$tree/tests/with.sh"
[[ ${LFC_TEST_STATE-} ]] || die "run it through scripts/test"
output=$LFC_TEST_STATE/output.$$ # the file of a scenario for the output of its job

# One lab of four hosts for the whole run; scripts/test takes it down. It does not belong to the test that needs it
# first, and tests that run at once do not make it twice.
need_lab() {
  [[ $EUID == 0 ]] || skip "the lab needs root"
  unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || skip "namespaces are not permitted here"
  env -u LFC_TEST_MARK flock -o "$LFC_TEST_STATE/lab.lock" "$tree/scripts/lab" up 4 >/dev/null
}

# One box of one node, and one of two, for the whole run; scripts/test takes them down.
need_box() { # need_box NODES
  local said=$LFC_TEST_STATE/box$1 status=0
  export LFC_RDMA_BOX=${LFC_LAB}n$1
  box_nodes=$1
  [[ ! -e $said.impossible ]] || skip "$(tail -n 1 "$said")"
  env -u LFC_TEST_MARK "$tree/scripts/rdma-box" up "$1" >"$said" 2>&1 || status=$?
  if ((status)); then cat "$said"; fi
  if ((status == 77)); then
    touch "$said.impossible"
    skip "$(tail -n 1 "$said")"
  fi
  return $status
}

# The time of the test, less the time for showing the state of its processes.
in_box() { echo --limit $((LFC_TEST_LIMIT * 3 / 4)); }

need_place() { # need_place PLACE [PRESET [TARGET]]: builds, and sets `launcher`
  case $1 in
    host) launcher=(mpirun --map-by slot:OVERSUBSCRIBE) ;;
    lab)
      need_lab
      launcher=("$tree/scripts/lab" mpirun)
      ;;
    box | boxes)
      need_box "$([[ $1 == box ]] && echo 1 || echo 2)"
      read -ra launcher <<<"$tree/scripts/rdma-box mpirun $(in_box)"
      ;;
    *) die "'$1' is no place to run at" ;;
  esac
  if is_chroot; then
    build_in_chroot plugin lfc_info
    case $1 in
      host) launcher=(in_chroot "${launcher[@]}") ;;
      lab) launcher=(env LFC_ROOT="$(lfc_root)" "${launcher[@]}") ;;
      *) die "rows of the Debian 13 tree run at host or lab" ;;
    esac
    cd "$tree"
  else
    build "${2-default}" "${@:3}"
  fi
  allow_mpirun_as_root
  use_plugin "${2-default}"
}

# How often a receiver was not ready, as counted by the devices of all nodes of the box.
not_ready() {
  local node
  for ((node = 0; node < box_nodes; node++)); do
    "$tree/scripts/rdma-box" run --node $node bash -c 'cat /sys/class/infiniband/*/ports/1/hw_counters/*_rnr_err'
  done | awk '{ sum += $1 } END { print sum }'
}

# says_ok CMD...: exit code 0, and the last line of output is `ok`. A program that tried nothing prints `skipped:
# why` before.
says_ok() {
  local printed=$LFC_TEST_STATE/printed.$$
  "$@" | tee "$printed"
  [[ $(tail -n 1 "$printed") == ok ]] || { echo "the last line is not 'ok'"; return 1; }
  ! grep -q '^skipped: ' "$printed" || skip "$(sed -n 's/^skipped: //p' "$printed" | sed -n 1p)"
}

# job_says_ok RANKS ARGS...: says_ok with so many ranks, started by `launcher`; and they have used what WITH names. Over
# the transport verbs the count of receivers that were not ready must not grow.
job_says_ok() {
  local messages=$LFC_TEST_STATE/messages.$$ before=''
  [[ $expected_transport != verbs ]] || before=$(not_ready)
  { says_ok "${launcher[@]}" -n "$@" 2>&1 >&3 | tee "$messages" >&2; } 3>&1
  if [[ $before && $(not_ready) != "$before" ]]; then
    echo "$(not_ready) times a receiver was not ready, before $before"
    return 1
  fi
  used_expected_path "$1" "$messages"
}

# mpi PLACE RANKS WITH FOLDER PROGRAM ARGS...: over btl lfc
mpi() {
  local launcher arguments=("${@:6}")
  # Over LFC a rank that does not receive must not stall other ranks, which is more than MPI promises.
  [[ $5 != sync_compute ]] || arguments+=(--independent)
  need_place "$1"
  need_program "$4" "$5"
  use "$3"
  job_says_ok "$2" --mca btl lfc "${by_rank[@]}" "$(executable "$4" "$5")" "${arguments[@]}"
}

rma() { # rma PLACE RANKS WITH FOLDER PROGRAM ARGS...: and windows over osc neon
  local launcher
  need_place "$1"
  need_program "$4" "$5"
  use "$3"
  job_says_ok "$2" --mca btl lfc --mca osc neon "${by_rank[@]}" "$(executable "$4" "$5")" "${@:6}"
}

# A program in a world in which one limit is the smallest, and the others are as in the normal build.
small_mpi() { # small_mpi LIMIT PLACE RANKS WITH PROGRAM ARGS...
  local launcher
  need_place "$2" small small_worlds
  use "$4"
  says_ok "${launcher[@]}" -n "$3" --mca btl lfc --mca mpi_yield_when_idle 1 -x LFC_SMALL_WORLD=0 \
    -x LFC_SMALL_WORLD_ONLY="$1" -x LFC_SMALL_WORLD_FAULTS=0 "$(executable mpi "$5" small)" "${@:6}"
}

# neon PLACE RANKS WITH PROGRAM ARGS...: NEON calls, served by osc neon. WITH may also be native, which adds nothing, or
# emulated (LFC is installed, but not used).
neon() {
  local launcher options=(--mca pml ob1 --mca btl lfc --mca osc neon)
  need_place "$1"
  [[ -x $(executable neon "$4") || $4 != halo ]] || skip "no Fortran compiler with MPI's module"
  expect_neon "$([[ $3 == emulated ]] && echo emulated || echo native)"
  case $1-$3 in
    *-native) ;;
    host-emulated) options=(--mca pml ob1 --mca osc '^neon') ;;
    # Among Debian's own components only this one serves windows between hosts, and it must be named.
    lab-emulated) options=(--mca pml ob1 --mca osc pt2pt) ;;
    *) use "$3" ;;
  esac
  job_says_ok "$2" "${options[@]}" "${by_rank[@]}" "$(executable neon "$4")" "${@:5}"
}
