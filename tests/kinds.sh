#!/usr/bin/env bash
# kinds.sh KIND ARGS...: how the tests of tests/suite.table are run, by scripts/test. A kind is a function that
# returns 0, or 77 after printing why it cannot run here. Its arguments are the columns behind `kind` in the table.
#
# The arguments of kinds that run MPI programs:
#   PLACE             host: this one; lab: a rank on each of the four hosts of scripts/lab in turn; box: a guest with an
#                     RDMA device (scripts/rdma-box); boxes: two such guests in turn
#   WITH              `-` for nothing, or words of tests/with.sh, joined by `+`
#   FOLDER, PROGRAM   `rma random` is tests/rma/random.c
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
tree=$lfc_tree
. "$tree/tests/with.sh"

skip() {
  echo "$*"
  exit 77
}

# --- builds -----------------------------------------------------------------------------------------------------

# build PRESET [TARGET]: builds once per run of scripts/test; later calls reuse the result. Only a test that runs
# again (LFC_TEST_AGAIN) tries a failed build once more.
build() {
  local stamp=$LFC_TEST_STATE/built.$1${2+.$2} lock
  [[ ! -e $stamp ]] || return 0
  exec {lock}>"$stamp.lock"
  flock "$lock" # one test builds, tests beside it wait
  if [[ ! -e $stamp ]]; then
    [[ ! -e $stamp.failed || ${LFC_TEST_AGAIN-} ]] || { echo "the build '$1' has failed before"; return 1; }
    touch "$stamp.failed"
    cd "$tree"
    use_compiler_cache
    [[ -e $LFC_TEST_STATE/built.$1 ]] || cmake --preset "$1" -B "$LFC_BUILD/$1" "${compiler_cache[@]}"
    cmake --build "$LFC_BUILD/$1" ${2+--target "$2"}
    mv "$stamp.failed" "$stamp"
  fi
  exec {lock}>&-
}

# --- programs without MPI, and checks ---------------------------------------------------------------------------

# program PRESET NAME ARGS...: a test program of ours
program() {
  build "$1"
  build "$1" "$2" # if it is not among the usual ones
  # No fault is suppressed, and a report ends the program.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  "$LFC_BUILD/$1/tests/$2" "${@:3}"
}

simulator() { program default lfc_sim "$@"; }

catch() { # catch PRESET NAME [WHICH]: a Catch2 program, or those of its cases; no test cases is no success
  local output=$LFC_TEST_STATE/output.$$
  program "$1" "$2" "${@:3}" | tee "$output"
  ! grep -q 'No tests ran' "$output"
}

catch_long() { LFC_TEST_EFFORT=$1 catch default lfc_unit "$2"; } # catch_long TIMES-AS-MUCH WHICH

check() { # check PROGRAM ARGS...: a check of the sources
  cd "$tree"
  "$@"
}
check_build() { # check_build PROGRAM ARGS...: a check of the build; BUILD in an argument stands for its folder
  build default
  check "${@/#BUILD/"$LFC_BUILD/default"}"
}

check_asan() { # check_asan PROGRAM: a check of the build with sanitizers
  build asan
  check "$1" "$LFC_BUILD/asan"
}

script() { # script FILE ARGS...: a test that is a program of its own
  build default
  allow_mpirun_as_root
  use_plugin "$LFC_BUILD"
  "$tree/$1" "${@:2}"
}

other_build() { # other_build SCRIPT: a job of two builds
  build small small_worlds
  LFC_OTHER_COMPONENTS_DIR=$LFC_BUILD/small/components script "tests/fault/$1.sh"
}

small_worlds() { # small_worlds FAMILY COUNT [random]
  build small small_worlds
  allow_mpirun_as_root
  "$tree/tests/small/world.sh" "$@"
}

# More communicators and persistent requests than a node has boards for, with at most 256 of either. Each rank
# prints once that later communicators are not served.
small_coll_limit() { # small_coll_limit PLACE RANKS COMMUNICATORS
  local launcher output=$LFC_TEST_STATE/coll_limit.$$
  need_place "$1"
  build small small_worlds
  export OMPI_MCA_mca_base_component_path=$LFC_BUILD/small/components:SYS_DEFAULT
  says_ok "${launcher[@]}" -n "$2" --mca btl lfc --mca coll_lfc_verbose 1 --mca mpi_yield_when_idle 1 -x LFC_SMALL_WORLD=0 \
    -x LFC_SMALL_WORLD_ONLY=coll_boards -x LFC_SMALL_WORLD_FAULTS=0 \
    "$LFC_BUILD/small/tests/mpi/mpi_coll_limit" --communicators "$3" --requests 300 2>&1 | tee "$output"
  [[ $(grep -o 'more than 256 communicators at a time are not served' "$output" | wc -l) == "$2" ]]
}

# A program in a world in which one limit is the smallest, and the others are as in the normal build.
small_mpi() { # small_mpi LIMIT RANKS WITH PROGRAM ARGS...
  local launcher
  need_place host
  build small small_worlds
  use "$3"
  export OMPI_MCA_mca_base_component_path=$LFC_BUILD/small/components:SYS_DEFAULT
  says_ok "${launcher[@]}" -n "$2" --mca btl lfc --mca mpi_yield_when_idle 1 -x LFC_SMALL_WORLD=0 \
    -x LFC_SMALL_WORLD_ONLY="$1" -x LFC_SMALL_WORLD_FAULTS=0 "$LFC_BUILD/small/tests/mpi/mpi_$4" "${@:5}"
}

# --- MPI programs -----------------------------------------------------------------------------------------------

# The plugin out of the build tree, without installing it.
use_plugin() { export OMPI_MCA_mca_base_component_path=$1/default/components:SYS_DEFAULT; }

# One lab of four hosts for the whole run; scripts/test takes it down. It does not belong to the test that needs it
# first.
need_lab() {
  [[ $EUID == 0 ]] || skip "the lab needs root"
  unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || skip "namespaces are not permitted here"
  env -u LFC_TEST_MARK "$tree/scripts/lab" up 4 >/dev/null
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

need_place() { # need_place PLACE: sets `launcher`
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
  build default
  allow_mpirun_as_root
  use_plugin "$LFC_BUILD"
}

executable() { # executable BUILD FOLDER PROGRAM
  case $2 in
    perf/apps) echo "$1/default/perf/apps/$3" ;;
    *) echo "$1/default/tests/$2/$2_$3" ;;
  esac
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
  local output=$LFC_TEST_STATE/output.$$
  "$@" | tee "$output"
  [[ $(tail -n 1 "$output") == ok ]] || { echo "the last line is not 'ok'"; return 1; }
  ! grep -q '^skipped: ' "$output" || skip "$(sed -n 's/^skipped: //p' "$output" | sed -n 1p)"
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
  use "$3"
  job_says_ok "$2" --mca btl lfc "${by_rank[@]}" "$(executable "$LFC_BUILD" "$4" "$5")" "${arguments[@]}"
}

rma() { # rma PLACE RANKS WITH FOLDER PROGRAM ARGS...: and windows over osc neon
  local launcher
  need_place "$1"
  use "$3"
  job_says_ok "$2" --mca btl lfc --mca osc neon "${by_rank[@]}" "$(executable "$LFC_BUILD" "$4" "$5")" "${@:6}"
}

# With the smallest memory that the parameters permit.
mpi_with_least() { # arguments as of mpi
  use btl_lfc_initial_window=1+btl_lfc_max_window=1+btl_lfc_shm_slots=16+mpi_yield_when_idle=1
  mpi "$@"
}

# neon PLACE RANKS WITH PROGRAM ARGS...: NEON calls, served by osc neon. WITH may also be native, which adds nothing, or
# emulated (LFC is installed, but not used).
neon() {
  local launcher options=(--mca pml ob1 --mca btl lfc --mca osc neon)
  need_place "$1"
  [[ -x $(executable "$LFC_BUILD" neon "$4") || $4 != halo ]] || skip "no Fortran compiler with MPI's module"
  expect_neon "$([[ $3 == emulated ]] && echo emulated || echo native)"
  case $1-$3 in
    *-native) ;;
    host-emulated) options=(--mca pml ob1 --mca osc '^neon') ;;
    # Among Debian's own components only this one serves windows between hosts, and it must be named.
    lab-emulated) options=(--mca pml ob1 --mca osc pt2pt) ;;
    *) use "$3" ;;
  esac
  job_says_ok "$2" "${options[@]}" "${by_rank[@]}" "$(executable "$LFC_BUILD" neon "$4")" "${@:5}"
}

# The counters of NEON and the limits of early data. The line of statistics shows what rank 1 has counted.
neon_counters() {
  local output=$LFC_TEST_STATE/neon_counters.$$
  neon host 2 native counters "$@" 2>&1 | tee "$output"
  grep -q '^lfc-neon rank=1 .* early=19 .* parked=0 parked_most=19224 ' "$output" ||
    { echo "no line of statistics shows the counters of rank 1"; return 1; }
}

# Frames that each rank sends for one unit of a program of perf/: an iteration, or a put in either direction. They are
# counted in two jobs with different numbers of units, so that start and end cancel. Frames that return credits come
# first by the size of the windows, so the quotient is rounded to two digits.
neon_frames() { # neon_frames PLACE RANKS LEAST MOST COUNT PROGRAM ARGS...: COUNT is the option for the number of units
  local launcher units output=$LFC_TEST_STATE/frames.$$
  need_place "$1"
  use btl_lfc_stats=1
  for units in 200 1200; do
    "${launcher[@]}" -n "$2" --mca pml ob1 --mca btl lfc --mca osc neon "$LFC_BUILD/default/perf/$6" --repeats 1 "${@:7}" \
      "$5" "$units" 2>&1 | tee "$output.$units"
  done
  awk -v ranks="$2" -v least="$3" -v most="$4" '
    FNR == 1 { ++job }
    match($0, /lfc-stats rank=[0-9]+/) {
      rank = substr($0, RSTART + 15, RLENGTH - 15)
      if (match($0, / frames_sent=[0-9]+/)) sent[job, rank] = substr($0, RSTART + 13, RLENGTH - 13)
    }
    END {
      for (rank = 0; rank < ranks; rank++) {
        if (!((1, rank) in sent) || !((2, rank) in sent)) { print "rank " rank " has no counters"; exit 1 }
        each = sprintf("%.2f", (sent[2, rank] - sent[1, rank]) / 1000)
        fits = each + 0 >= least + 0 && each + 0 <= most + 0
        printf "rank %d: %s frames for each unit, required %s to %s%s\n", rank, each, least, most, fits ? "" : ": WRONG"
        wrong += !fits
      }
      exit wrong > 0
    }' "$output.200" "$output.1200"
}

# Components and program under the thread sanitizer. Open MPI's libraries are not instrumented, so their accesses to
# memory are not checked. tests/tsan.supp lists the accesses that Open MPI's headers make in our code.
mpi_tsan() { # mpi_tsan RANKS WITH FOLDER PROGRAM ARGS...
  local launcher=(mpirun --map-by slot:OVERSUBSCRIBE)
  build tsan
  allow_mpirun_as_root
  use "$2"
  export OMPI_MCA_mca_base_component_path=$LFC_BUILD/tsan/components:SYS_DEFAULT
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7:ignore_noninstrumented_modules=1:suppressions=$tree/tests/tsan.supp
  job_says_ok "$1" --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl lfc \
    "$LFC_BUILD/tsan/tests/$3/$3_$4" "${@:5}" --limit 240
}

# --- RDMA devices -------------------------------------------------------------------------------------------------

box_program() { # box_program NODES NAME ARGS...: a test program of ours without MPI, on the first of so many nodes
  need_box "$1"
  build default
  # shellcheck disable=SC2046
  "$tree/scripts/rdma-box" run $(in_box) env "$few_peers" "$LFC_BUILD/default/tests/$2" "${@:3}"
}

box_script() { # box_script NODES FILE ARGS...: a test that is a separate program, and finds so many nodes up
  need_box "$1"
  script "${@:2}"
}

# --- collectives and their counters -------------------------------------------------------------------------------

# Random collectives have the same results with coll lfc as without it.
coll_against_stock() { # coll_against_stock RANKS CASES
  local transport launcher digests=()
  need_place host
  for transport in lfc vader,self; do
    digests+=("$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl $transport \
      "$(executable "$LFC_BUILD" mpi coll_random)" --alike --cases "$2" --limit 600 | grep '^digest ')")
    echo "$transport: ${digests[-1]}"
  done
  [[ -n ${digests[0]} && ${digests[0]} == "${digests[1]}" ]]
}

# Communicators that are made and freed leave nothing behind in the component.
coll_churn() { # coll_churn PLACE RANKS WITH ARGS...
  local output=$LFC_TEST_STATE/churn.$$
  mpi "$1" "$2" "coll_lfc_stats=1+$3" mpi coll_churn "${@:4}" 2>&1 | tee "$output"
  [[ $(grep -c 'lfc-coll rank=.* groups=0 .*packets=0' "$output") == "$2" ]] || { echo "groups or packets are left"; return 1; }
}

# The control of the churn rows over ofi: without LFC the same program grows over the same provider, unless its ring of
# completions is short (common/link/ofi/README.md).
ofi_churn_without_lfc() {
  local launcher peers output=$LFC_TEST_STATE/churn.$$
  need_place lab
  for peers in 256 4; do
    echo "FI_UNIVERSE_SIZE=$peers:"
    "${launcher[@]}" -n 4 --mca mca_base_env_list FI_UNIVERSE_SIZE=$peers --mca pml cm --mca mtl ofi \
      --mca mtl_ofi_provider_include 'tcp;ofi_rxm' --mca btl ^lfc --mca coll ^lfc \
      "$(executable "$LFC_BUILD" mpi coll_churn)" --rounds 3000 2>&1 | tee "$output.$peers" || true
  done
  grep -q 'KiB became' "$output.256" || { echo "the provider does not grow any more: drop FI_UNIVERSE_SIZE"; return 1; }
  [[ $(tail -n 1 "$output.4") == ok ]] || { echo "it also grows with a short ring"; return 1; }
}

# In MPI_Init the ranks of one node agree about coll lfc without a message or a connection. In the control, ranks on
# several nodes, each rank sends one. A rank that waits for a late one for 5 s lets all ranks send, so its MPI_Init has
# lasted as long. If that of no rank has, messages are a failure; otherwise the test ends as late.
coll_agreement() { # coll_agreement PLACE RANKS
  local output=$LFC_TEST_STATE/agreement.$$ served silent longest
  mpi "$1" "$2" btl_lfc_stats=1+coll_lfc_verbose=1 mpi agreement 2>&1 | tee "$output"
  served=$(grep -c 'coll lfc: MPI_COMM_WORLD: served$' "$output") || true
  [[ $served == "$2" ]] || { echo "coll lfc serves $served ranks"; return 1; }
  silent=$(grep -c '^lfc-stats .* messages_sent=0 .* connections=0 ' "$output") || true
  [[ $silent != $([[ $1 == lab ]] && echo 0 || echo "$2") ]] || return 0
  echo "$silent ranks have sent no message"
  longest=$(sed -n 's/^agreement rank=.* init_ms=//p' "$output" | sort -n | tail -n 1)
  [[ $1 != lab && $longest -ge 5000 ]] || return 1
  echo "late: MPI_Init took $longest ms, bound 5000"
  return 76
}

# Collectives over a job and its two spawned children. So many ranks print that LFC serves the merged communicator.
coll_jobs() { # coll_jobs KIND PLACE RANKS SERVED ARGS...: KIND is mpi or ompi5_mpi
  local output=$LFC_TEST_STATE/jobs.$$ served
  "$1" "$2" "$3" coll_lfc_verbose=1 mpi jobs "${@:5}" 2>&1 | tee "$output"
  served=$(grep -o 'coll lfc: both: served' "$output" | wc -l) || true
  [[ $served == "$4" ]] || { echo "served at $served ranks, not $4"; return 1; }
}

# LFC does not reach the children from one of the parents: all ranks agree to leave their collectives to Open MPI.
coll_jobs_out_of_reach() {
  local launcher output=$LFC_TEST_STATE/jobs.$$
  need_place lab
  says_ok "${launcher[@]}" -n 2 --mca pml ob1 --mca btl lfc,tcp,self --mca coll_lfc_verbose 1 \
    "$(executable "$LFC_BUILD" mpi jobs)" --child btl_lfc_links=loop,shm 2>&1 | tee "$output"
  [[ $(grep -o 'both: not served: some rank cannot reach another' "$output" | wc -l) == 4 ]]
}

# Collectives that run ahead hold up no rank. For each communicator they cost at most a window and the data that is
# still to be read.
coll_ahead() { # coll_ahead POLICY WINDOW
  local output=$LFC_TEST_STATE/ahead.$$ stored
  mpi lab 3 "$1+coll_lfc_fan=1+coll_lfc_stats=1+coll_lfc_window=$2" mpi coll_ahead 2>&1 | tee "$output"
  while read -r stored; do
    ((stored <= 5 * ($2 + 17 * (61440 + 512)))) || { echo "$stored bytes were stored"; return 1; }
  done < <(sed -n 's/.* stored=0 most_stored=\([0-9]*\) packets=0.*/\1/p' "$output")
  [[ $(grep -c ' stored=0 most_stored=.* packets=0' "$output") == 3 ]] || { echo "packets are left"; return 1; }
}

# Trees that deadlock and recover. With the default delay a round takes less than a third of the time that it takes
# with a delay of 10 ms. Both times consist of timers: some 30 recoveries of a round, one behind the other. If 15
# other programs compete for the processors, waiting for them is most of both times, and the test ends as late.
recovery_factor() {
  local output=$LFC_TEST_STATE/together.$$ delay took=()
  for delay in '' +coll_lfc_recovery_delay=10000; do
    (mpi lab 4 "coll_lfc_tree=chain+coll_lfc_packet=4096+btl_lfc_initial_window=1+btl_lfc_max_window=1+btl_lfc_stats=1$delay" \
      mpi coll_together --rounds 20 2>&1) | tee "$output"
    took+=("$(sed -n 's/.* round_ms=//p' "$output")")
    grep -q '^lfc-stats .* recoveries=[1-9]' "$output" || { echo "nothing was recovered"; return 1; }
  done
  awk -v usual="${took[0]}" -v slow="${took[1]}" 'BEGIN {
    if (usual <= 0) exit 1
    in_time = slow > 3 * usual
    printf "%sa round is %.1f times as fast as with a delay of 10 ms, bound 3\n", in_time ? "" : "late: ", slow / usual
    exit in_time ? 0 : 76
  }'
}

# A rank that LFC does not reach: all ranks agree to leave the collectives to Open MPI.
coll_fallback() {
  local launcher output=$LFC_TEST_STATE/fallback.$$ random
  need_place lab
  random=("$(executable "$LFC_BUILD" mpi coll_random)" --alike --cases 60)
  says_ok "${launcher[@]}" -n 3 --mca pml ob1 --mca btl lfc,tcp,self --mca coll_lfc_verbose 1 "${random[@]}" : \
    -n 1 -x OMPI_MCA_btl_lfc_links=loop,shm "${random[@]}" 2>&1 | tee "$output"
  [[ $(grep -c 'MPI_COMM_WORLD: not served: some rank cannot reach another' "$output") == 4 ]]
}

# --- whole programs drawn at random ---------------------------------------------------------------------------------

random_programs() { # random_programs ARGS...: on 2 to 6 ranks, under both policies
  local ranks
  for ranks in 2:floating 3:single 4:floating 6:single; do
    (rma host "${ranks%:*}" "${ranks#*:}" programs random "$@")
  done
}

# The same programs over Open MPI's own components must give the same results. Windows are left out: osc rdma cannot
# compare and swap at oneself, and osc pt2pt ends in a double free in post, start, complete, wait with derived
# types.
random_programs_against_stock() { # random_programs_against_stock RANKS ARGS...
  local ours stock launcher random
  need_place host
  random=("$(executable "$LFC_BUILD" programs random)" --stock
    --kinds "messages,flood,persistent,collective,communicator,polling,neon" "${@:2}")
  ours=$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl lfc --mca osc neon "${random[@]}")
  stock=$("${launcher[@]}" -n "$1" --mca pml ob1 --mca btl vader,self --mca osc pt2pt "${random[@]}")
  echo "lfc: $ours; stock: $stock"
  [[ $ours == "$stock" && $ours == *ok ]]
}

# Programs whose messages may use channels must have the same results with channels for all messages that can have
# them, with those for persistent requests alone, with none, and over Open MPI's own components. Each of the jobs has
# PROGRAMS programs, and prints a line. They have 2 to 6 ranks in turn.
random_programs_on_channels() { # random_programs_on_channels JOBS PROGRAMS SEED
  local job way ranks seed expected said launcher random components
  need_place host
  for ((job = 0; job < $1; job++)); do
    ranks=$((2 + job % 5)) seed=$(($3 + job * $2)) expected=''
    random=("$(executable "$LFC_BUILD" programs random)" --stock --kinds "repeated,communicator" --programs "$2"
      --seed "$seed")
    for way in planned coll_lfc_channels=bind - stock; do
      components=(--mca btl lfc --mca osc neon)
      [[ $way != stock ]] || components=(--mca btl "vader,self" --mca osc pt2pt --mca coll ^lfc)
      said=$(
        [[ $way == stock ]] || use "$way"
        job_says_ok "$ranks" --mca pml ob1 "${components[@]}" "${random[@]}"
      ) || return 1
      echo "job $((job + 1)) of $1: $ranks ranks, seed $seed, $way: $said"
      [[ ${expected:=$said} == "$said" ]] || { echo "they differ"; return 1; }
    done
  done
}

# Ranks in circumstances of their own: first the jobs of the table, then those that are drawn.
random_programs_unequal() { # random_programs_unequal ARGS...
  local launcher
  need_place host
  "$tree/tests/programs/unequal" --table "$tree/tests/programs/unequal.table" "$@" "$LFC_BUILD/default/tests/programs"
}

# --- the promises of the README to a new user ---------------------------------------------------------------------

# Also runs the commands that quickstart prints at its end.
quickstart() {
  local output=$LFC_TEST_STATE/quickstart.$$ advice
  allow_mpirun_as_root
  "$tree/scripts/quickstart" --no-setup --pairs 1 --seconds 0.05 | tee "$output"
  advice=$(sed -n 's/^try it: //p' "$output")
  says_ok bash -c "$advice"
  advice=$(sed -n 's/^install it [^:]*: //p' "$output")
  DESTDIR=$LFC_TEST_STATE/installed bash -c "$advice"
  [[ $(find "$LFC_TEST_STATE/installed" -name 'mca_*.so' | wc -l) == 3 ]]
}
# Runs quickstart where only its own prerequisites have been built.
quickstart_fresh() { LFC_BUILD=$LFC_TEST_STATE/fresh quickstart; }

# --- Debian 13 with Open MPI 5.0 --------------------------------------------------------------------------------

ompi5_tree() {
  [[ $EUID == 0 ]] || skip "a Debian 13 tree needs root"
  unshare --mount true 2>/dev/null || skip "mount namespaces are not permitted here"
  local said=$LFC_TEST_STATE/tree5 status=0
  [[ ! -e $said ]] || return 0
  [[ ! -e $said.impossible ]] || skip "$(cat "$said.impossible")"
  "$tree/scripts/chroot13" make 2>&1 | tee "$said.output" || status=$?
  if ((status == 77)); then
    tail -n 1 "$said.output" >"$said.impossible"
    exit 77
  fi
  ((status == 0)) || return "$status"
  touch "$said"
}

in5() { (cd "$tree" && "$tree/scripts/chroot13" run "$@"); }

# ompi5_build TARGET...: builds the plugin and these targets. Without Catch2, which takes longest to compile and
# does not depend on Open MPI.
ompi5_build() {
  local configured=$LFC_TEST_STATE/configured5 target missing=()
  ompi5_tree
  for target in plugin "$@"; do
    [[ ! -e $LFC_TEST_STATE/failed5.$target || ${LFC_TEST_AGAIN-} ]] ||
      { echo "building '$target' in the Debian 13 tree has failed before"; return 1; }
    [[ -e $LFC_TEST_STATE/built5.$target ]] || missing+=("$target")
  done
  ((${#missing[@]})) || return 0
  touch "${missing[@]/#/$LFC_TEST_STATE/failed5.}"
  if [[ ! -e $configured ]]; then
    in5 cmake --preset fast -B /build/default
    touch "$configured"
  fi
  in5 cmake --build /build/default --target "${missing[@]}"
  touch "${missing[@]/#/$LFC_TEST_STATE/built5.}"
  rm "${missing[@]/#/$LFC_TEST_STATE/failed5.}"
}

# The plugin of that tree. PMIx 5 would take Open MPI's variable for its own, complain of each file, and crash when it
# starts for the second time.
use_plugin5() {
  use_plugin /build
  ompi5_build lfc_info
  eval "$(in5 /build/default/bin/lfc-info --environment | grep '^export PMIX_')"
}

ompi5_program() { # ompi5_program NAME ARGS...: one without MPI
  ompi5_tree
  in5 cmake --preset fast -B /build/default -DLFC_CATCH=ON
  in5 cmake --build /build/default --target "$1"
  in5 "/build/default/tests/$1" "${@:2}"
}

ompi5_mpi() { # ompi5_mpi PLACE RANKS WITH FOLDER PROGRAM ARGS...
  local launcher=(in5 mpirun --map-by slot:OVERSUBSCRIBE) arguments=("${@:6}")
  if [[ $1 == lab ]]; then
    need_lab
    launcher=(env LFC_ROOT="$(lfc_root)" "$tree/scripts/lab" mpirun)
  fi
  ompi5_build "$4_$5"
  allow_mpirun_as_root
  use_plugin5
  use "$3"
  [[ $5 != sync_compute ]] || arguments+=(--independent)
  cd "$tree"
  job_says_ok "$2" --mca btl lfc "${by_rank[@]}" "$(executable /build "$4" "$5")" "${arguments[@]}"
}

# ompi5_ulfm PLACE RANKS WITH FOLDER PROGRAM ARGS...: a program that goes on without ranks that failed, so LFC prints nothing
# about them.
ompi5_ulfm() {
  local output=$LFC_TEST_STATE/ulfm.$$
  ompi5_mpi "$1" "$2" "ulfm+$3" "${@:4}" 2>&1 | tee "$output"
  # A rank that was killed before another one had opened its memory makes that one print this line.
  ! grep -aE '(btl|coll) lfc: |has ended' "$output" | grep -av 'because shared memory is refused' ||
    { echo "LFC has printed a loss"; return 1; }
}

ompi5_script() { # ompi5_script FILE TARGET...: a test that is a program of its own, and needs these
  ompi5_build "${@:2}"
  allow_mpirun_as_root
  in5 "$tree/$1"
}

# Buffers in the memory of an accelerator of the tests: messages go over LFC, collectives and windows do not.
ompi5_device() { # ompi5_device LINKS
  local output=$LFC_TEST_STATE/device.$$
  ompi5_build device_buffers
  allow_mpirun_as_root
  export OMPI_MCA_mca_base_component_path=/build/default/tests/device:/build/default/components:SYS_DEFAULT
  cd "$tree"
  says_ok in5 mpirun --map-by slot:OVERSUBSCRIBE -n 3 --mca btl lfc --mca btl_lfc_links "$1" --mca coll_lfc_verbose 1 \
    "$(executable /build device buffers)" 2>&1 | tee "$output"
  [[ $(grep -ac 'coll lfc: declines: Open MPI serves the memory of accelerators' "$output") == 3 ]]
}

# A rank that must use Open MPI's own partitioned communication: its partners choose the same component.
ompi5_partitioned_fallback() {
  local output=$LFC_TEST_STATE/partitioned_fallback.$$ program
  ompi5_build partitioned_fallback
  allow_mpirun_as_root
  use_plugin /build
  program=$(executable /build partitioned fallback)
  cd "$tree"
  # shellcheck disable=SC2016 # the ranks' shells are to expand it
  says_ok in5 mpirun --map-by slot:OVERSUBSCRIBE -n 3 --mca btl lfc --mca part_lfc_verbose 1 \
    sh -c '[ "$OMPI_COMM_WORLD_RANK" != 2 ] || export OMPI_MCA_part=persist; exec "$0"' "$program" 2>&1 | tee "$output"
  [[ $(grep -c 'left to persist: one of the two has no part lfc' "$output") == 4 && $(grep -c ': served' "$output") == 4 ]]
}

# The plugin built for Open MPI 5.0, loaded by the one here.
ompi5_other_version() {
  ompi5_build
  LFC_OTHER_COMPONENTS_DIR=$(root_build "$(lfc_root)")/default/components script tests/fault/other_version.sh
}

# --------------------------------------------------------------------------------------------------------------------

[[ ${1-} && ${LFC_TEST_STATE-} ]] || die "run it through scripts/test"
[[ $(type -t "$1") == function ]] || die "there is no kind '$1'"
"$@"
