#!/usr/bin/env bash
# The list of tests that scripts/test runs, at its end, and what each does. A test is a function that returns 0, or 77
# after printing why it cannot run here. Adding a test: a function, and an `entry WHEN SECONDS NAME FUNCTION ARGS...`.
# Programs in tests/mpi, tests/fault, tests/apps, tests/scripts and perf/apps are found by name.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
tree=$lfc_tree

skip() {
  echo "$*"
  exit 77
}

# --- builds -----------------------------------------------------------------------------------------------------

# need_build PRESET: once per run of scripts/test; afterwards the answer is known.
need_build() {
  local stamp=$LFC_TEST_STATE/built.$1 lock
  [[ ! -e $stamp ]] || return 0
  exec {lock}>"$stamp.lock"
  flock "$lock" # one builds, tests beside it wait
  if [[ ! -e $stamp ]]; then
    [[ ! -e $stamp.failed ]] || { echo "the build '$1' has failed before"; return 1; }
    touch "$stamp.failed"
    cd "$tree"
    cmake --preset "$1" -B "$LFC_BUILD/$1"
    cmake --build "$LFC_BUILD/$1"
    mv "$stamp.failed" "$stamp"
  fi
  exec {lock}>&-
}

# What the runs in small worlds need, and no more; `nightly` builds the rest.
need_small() {
  local stamp=$LFC_TEST_STATE/built.small_worlds
  [[ ! -e $stamp ]] || return 0
  cd "$tree"
  cmake --preset small -B "$LFC_BUILD/small"
  cmake --build "$LFC_BUILD/small" --target small_worlds
  touch "$stamp"
}

sanitizer_options() {
  # Nothing is forgiven, and a report ends the program.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
}

# program PRESET NAME ARGS...: one of our own test programs, without MPI
program() {
  need_build "$1"
  sanitizer_options
  "$LFC_BUILD/$1/tests/$2" "${@:3}"
}

# 10^7 notified puts and 10^6 re-announcements, out of order.
many_neon_frames() { LFC_TEST_EFFORT=100 program default lfc_unit '[neon]'; }

catch() { # catch PRESET NAME [WHICH]: a Catch2 program, or those of its cases; no test cases is no success
  local output=$LFC_TEST_STATE/output.$$
  program "$1" "$2" "${@:3}" | tee "$output"
  ! grep -q 'No tests ran' "$output"
}

# --- sources ----------------------------------------------------------------------------------------------------

check_format() { "$tree/scripts/format" --check; }
check_shell() {
  local scripts
  cd "$tree"
  mapfile -t scripts < <(grep -rlIE '^#!.*\b(ba)?sh$|^# shellcheck shell=bash' scripts tests perf .ci)
  ((${#scripts[@]} >= 8))
  shellcheck --severity=info "${scripts[@]}"
}
check_headers() {
  need_build default
  "$tree/scripts/checks/headers" "$LFC_BUILD/default"
}
check_exports() {
  need_build default
  "$tree/scripts/checks/exports" "$LFC_BUILD/default/components"
}
check_parameters() {
  need_build default
  "$tree/scripts/checks/parameters" "$LFC_BUILD/default/components"
}
check_defects() { "$tree/scripts/checks/defects" "$@"; }
check_tidy() {
  need_build default
  "$tree/scripts/checks/tidy" "$@" "$LFC_BUILD/default"
}

# --- MPI programs -----------------------------------------------------------------------------------------------

as_root_is_fine() { export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; }

# The plugin out of the build tree, without installing it.
use_plugin() { export OMPI_MCA_mca_base_component_path=$1/default/components:SYS_DEFAULT; }

# says_ok CMD...: exit code 0, and the last line of output is `ok`. A program that tried nothing says `skipped: why` before.
says_ok() {
  local output=$LFC_TEST_STATE/output.$$
  "$@" | tee "$output"
  [[ $(tail -n 1 "$output") == ok ]] || { echo "the last line is not 'ok'"; return 1; }
  ! grep -q '^skipped: ' "$output" || skip "$(sed -n 's/^skipped: //p' "$output" | sed -n 1p)"
}

# Over LFC a rank that does not receive must stall nobody else, which is more than MPI promises.
arguments_of() { [[ $1 != mpi_sync_compute ]] || echo --independent; }

mpi_on_host() { # mpi_on_host RANKS PROGRAM ARGS...
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  # shellcheck disable=SC2046  # none or one word
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc "$LFC_BUILD/default/tests/mpi/$2" $(arguments_of "$2") "${@:3}"
}

# With the least memory that can be asked for, under a policy, or `upcalls`: floating with them.
mpi_with_least() { # mpi_with_least RANKS PROGRAM POLICY MPIRUN-OPTIONS...
  local least=(--mca btl_lfc_initial_window 1 --mca btl_lfc_max_window 1 --mca btl_lfc_shm_slots 16)
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  if [[ $3 == upcalls ]]; then least+=(--mca btl_lfc_upcalls 1); fi
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca mpi_yield_when_idle 1 --mca btl lfc "${least[@]}" \
    --mca btl_lfc_policy "${3/upcalls/floating}" "${@:4}" "$LFC_BUILD/default/tests/mpi/$2"
}

rma_on_host() { # rma_on_host RANKS PROGRAM ARGS...: with osc neon
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc --mca osc neon "$LFC_BUILD/default/tests/${2%%_*}/$2" "${@:3}"
}

# programs_on_host ARGS...: whole programs drawn at random, on 2 to 6 ranks, under both policies
programs_on_host() {
  local ranks policy
  for ranks in 2:floating 3:single 4:floating 6:single; do
    policy=${ranks#*:}
    rma_with_policy rma_on_host "$policy" "${ranks%:*}" programs_random "$@"
  done
}
programs_on_lab() { rma_on_lab 4 programs_random --many-hosts "$@"; }
# The same programs over Open MPI's own components must bring the same. Not those of windows: osc rdma cannot compare and
# swap at oneself, and osc pt2pt ends in a double free in post, start, complete, wait with derived types.
programs_against_stock() { # programs_against_stock RANKS ARGS...
  local ours stock
  local job=(-n "$1" --map-by slot:OVERSUBSCRIBE --mca pml ob1)
  local random=("$LFC_BUILD/default/tests/programs/programs_random" --stock
    --kinds "messages,flood,persistent,collective,communicator,polling,neon" "${@:2}")
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  ours=$(mpirun "${job[@]}" --mca btl lfc --mca osc neon "${random[@]}")
  stock=$(mpirun "${job[@]}" --mca btl vader,self --mca osc pt2pt "${random[@]}")
  echo "lfc: $ours; stock: $stock"
  [[ $ours == "$stock" && $ours == *ok ]]
}

# One lab of four hosts for the whole run; scripts/test takes it down. It is not of the test that happens to need it first.
need_lab() {
  [[ $EUID == 0 ]] || skip "the lab needs root"
  unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || skip "namespaces are not permitted here"
  env -u LFC_TEST_MARK "$tree/scripts/lab" up 4 >/dev/null
}

kernel_on_host() { # kernel_on_host RANKS PROGRAM: a small problem of an application kernel, which checks its result
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc "$LFC_BUILD/default/perf/apps/$2" --quick
}

mpi_on_lab() { # mpi_on_lab RANKS PROGRAM ARGS...
  need_lab
  need_build default
  use_plugin "$LFC_BUILD"
  # shellcheck disable=SC2046
  says_ok "$tree/scripts/lab" mpirun -n "$1" --mca btl lfc "$LFC_BUILD/default/tests/mpi/$2" $(arguments_of "$2") "${@:3}"
}

# Random collectives have the same results with coll lfc as without it.
coll_against_stock() { # coll_against_stock RANKS CASES
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  local transport digests=()
  for transport in lfc vader,self; do
    digests+=("$(mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca pml ob1 --mca btl $transport \
      "$LFC_BUILD/default/tests/mpi/mpi_coll_random" --alike --cases "$2" --limit 600 | grep '^digest ')")
    echo "$transport: ${digests[-1]}"
  done
  [[ -n ${digests[0]} && ${digests[0]} == "${digests[1]}" ]]
}

# Communicators made and freed leave nothing behind in the component either.
coll_churn() { # coll_churn FUNCTION RANKS ARGS...
  local output=$LFC_TEST_STATE/churn.$$
  OMPI_MCA_coll_lfc_stats=1 "$1" "$2" mpi_coll_churn "${@:3}" 2>&1 | tee "$output"
  [[ $(grep -c 'lfc-coll rank=.* groups=0 .*packets=0' "$output") == "$2" ]] || { echo "groups or packets are left"; return 1; }
}

# Collectives that are ahead hold up nothing, and cost at most a window, and what is still to be read, for each communicator.
coll_ahead() { # coll_ahead POLICY WINDOW
  local output=$LFC_TEST_STATE/ahead.$$ stored
  OMPI_MCA_coll_lfc_fan=1 OMPI_MCA_coll_lfc_stats=1 OMPI_MCA_coll_lfc_window=$2 OMPI_MCA_btl_lfc_policy=$1 \
    mpi_on_lab 3 mpi_coll_ahead 2>&1 | tee "$output"
  while read -r stored; do
    ((stored <= 5 * ($2 + 17 * (61440 + 512)))) || { echo "$stored bytes were stored"; return 1; }
  done < <(sed -n 's/.* stored=0 most_stored=\([0-9]*\) packets=0.*/\1/p' "$output")
  [[ $(grep -c ' stored=0 most_stored=.* packets=0' "$output") == 3 ]] || { echo "packets are left"; return 1; }
}

# A rank that LFC does not reach: all agree to leave the collectives to Open MPI.
coll_fallback() {
  local output=$LFC_TEST_STATE/fallback.$$ program=$LFC_BUILD/default/tests/mpi/mpi_coll_random
  need_lab
  need_build default
  use_plugin "$LFC_BUILD"
  says_ok "$tree/scripts/lab" mpirun -n 3 --mca pml ob1 --mca btl lfc,tcp,self --mca coll_lfc_verbose 1 "$program" --alike --cases 60 : \
    -n 1 -x OMPI_MCA_btl_lfc_links=loop,shm "$program" --alike --cases 60 2>&1 | tee "$output"
  [[ $(grep -c 'MPI_COMM_WORLD: not served: some rank cannot reach another' "$output") == 4 ]]
}

# Programs with NEON calls. HOW: native (served by osc neon), emulated (LFC is there, and is not asked), policy=P (native
# under that policy).
neon_options() { # neon_options HOW
  case $1 in
    native) echo --mca pml ob1 --mca btl lfc --mca osc neon ;;
    policy=*) echo --mca pml ob1 --mca btl lfc --mca osc neon --mca btl_lfc_policy "${1#*=}" ;;
    emulated) echo --mca pml ob1 --mca osc '^neon' ;;
    *) echo "neon_options: $1?" >&2; return 1 ;;
  esac
}
neon_on_host() { # neon_on_host HOW RANKS PROGRAM ARGS...
  local options
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  [[ -x $LFC_BUILD/default/tests/neon/neon_$3 || $3 != halo ]] || skip "no Fortran compiler with MPI's module"
  read -ra options <<<"$(neon_options "$1")"
  says_ok mpirun -n "$2" --map-by slot:OVERSUBSCRIBE "${options[@]}" "$LFC_BUILD/default/tests/neon/neon_$3" "${@:4}"
}
neon_on_lab() { # neon_on_lab HOW RANKS PROGRAM ARGS...
  local options
  need_lab
  need_build default
  use_plugin "$LFC_BUILD"
  read -ra options <<<"$(neon_options "$1")"
  # Of Debian's own components only this one, which has to be named, serves windows between hosts.
  [[ $1 != emulated ]] || options=(--mca pml ob1 --mca osc pt2pt)
  says_ok "$tree/scripts/lab" mpirun -n "$2" "${options[@]}" "$LFC_BUILD/default/tests/neon/neon_$3" "${@:4}"
}

# Who forwards along a chain of four hosts while the inner ones are away.
chain_on_lab() { # chain_on_lab ARGS...
  OMPI_MCA_coll_lfc_fan=1 OMPI_MCA_btl_lfc_policy=floating mpi_on_lab 4 mpi_chain "$@"
}

flood_of_sends() { # with the NI's thread at work
  OMPI_MCA_btl_lfc_policy=floating OMPI_MCA_btl_lfc_peer_fragments=1024 mpi_on_host 2 mpi_isend_flood --messages 100000
}

# Links whose frames hold less than a packet does by default.
small_frames() { OMPI_MCA_btl_lfc_shm_bulk=16384 mpi_on_lab 4 mpi_coll_random --cases 60; }

rma_on_lab() { # rma_on_lab RANKS PROGRAM ARGS...
  need_lab
  need_build default
  use_plugin "$LFC_BUILD"
  says_ok "$tree/scripts/lab" mpirun -n "$1" --mca btl lfc --mca osc neon "$LFC_BUILD/default/tests/${2%%_*}/$2" "${@:3}"
}

# Components and program under the thread sanitizer. Open MPI's libraries are not instrumented: what they do to memory is
# not looked at, and what its headers do in our code is listed in tests/tsan.supp.
tsan_mpi() { # tsan_mpi RANKS 'PROGRAM ARGS' MPIRUN-OPTIONS...
  local words
  read -ra words <<<"$2"
  need_build tsan
  as_root_is_fine
  export OMPI_MCA_mca_base_component_path=$LFC_BUILD/tsan/components:SYS_DEFAULT
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1:suppressions=$tree/tests/tsan.supp
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl lfc "${@:3}" \
    "$LFC_BUILD/tsan/tests/${2%%_*}/${words[0]}" "${words[@]:1}" --limit 240
}

# The law of progress: everybody is served while a rank waits in any one call. Between hosts along a chain.
progress_on_host() { # progress_on_host POLICY ARGS...
  OMPI_MCA_btl_lfc_policy=$1 rma_on_host 3 progress_matrix "${@:2}"
}
progress_on_lab() { # progress_on_lab POLICY ARGS...
  OMPI_MCA_btl_lfc_policy=$1 OMPI_MCA_coll_lfc_fan=1 rma_on_lab 3 progress_matrix "${@:2}"
}

rma_with_policy() { # rma_with_policy FUNCTION POLICY RANKS PROGRAM ARGS...
  OMPI_MCA_btl_lfc_policy=$2 "$1" "${@:3}"
}

script() { # script FILE ARGS...: a test that is a program of its own
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  "$tree/$1" "${@:2}"
}

# What the README promises a stranger, and what quickstart advises at its end, as printed.
quickstart() {
  local output=$LFC_TEST_STATE/quickstart.$$ manifest=$LFC_BUILD/default/install_manifest.txt advice installed_before=no
  as_root_is_fine
  "$tree/scripts/quickstart" --no-setup --pairs 1 --seconds 0.05 | tee "$output"
  advice=$(sed -n 's/^try it: //p' "$output")
  says_ok bash -c "$advice"
  advice=$(sed -n 's/^install it [^:]*: //p' "$output")
  [[ ! -e $manifest ]] || installed_before=yes
  DESTDIR=$LFC_TEST_STATE/installed bash -c "$advice"
  [[ $installed_before == yes ]] || rm "$manifest"
  [[ $(find "$LFC_TEST_STATE/installed" -name 'mca_*.so' | wc -l) == 3 ]]
}
# Where nothing but what quickstart needs has been built.
quickstart_fresh() { LFC_BUILD=$LFC_TEST_STATE/fresh quickstart; }

# --- Debian 13 with Open MPI 5.0 --------------------------------------------------------------------------------

need_tree5() {
  [[ $EUID == 0 ]] || skip "a Debian 13 tree needs root"
  unshare --mount true 2>/dev/null || skip "mount namespaces are not permitted here"
  [[ -e $LFC_TEST_STATE/tree5 ]] || "$tree/scripts/chroot13" make
  touch "$LFC_TEST_STATE/tree5"
}

in5() { (cd "$tree" && "$tree/scripts/chroot13" run "$@"); }

need_build5() {
  local stamp=$LFC_TEST_STATE/built5
  need_tree5
  [[ ! -e $stamp ]] || return 0
  [[ ! -e $stamp.failed ]] || { echo "the build in the Debian 13 tree has failed before"; return 1; }
  touch "$stamp.failed"
  # Without what takes longest to compile, and does not depend on Open MPI; program5 builds it where it is wanted.
  in5 cmake --preset default -B /build/default -DLFC_CATCH=OFF -DLFC_PERF=OFF
  in5 cmake --build /build/default
  mv "$stamp.failed" "$stamp"
}

program5() {
  need_build5
  in5 cmake --preset default -B /build/default -DLFC_CATCH=ON
  in5 cmake --build /build/default --target "$1"
  in5 "/build/default/tests/$1" "${@:2}"
}

mpi5_on_host() {
  need_build5
  as_root_is_fine
  use_plugin /build
  # shellcheck disable=SC2046
  says_ok in5 mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc "/build/default/tests/mpi/$2" $(arguments_of "$2")
}

rma5_on_host() {
  need_build5
  as_root_is_fine
  use_plugin /build
  says_ok in5 mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc --mca osc neon "/build/default/tests/${2%%_*}/$2" "${@:3}"
}

mpi5_on_lab() {
  need_lab
  need_build5
  use_plugin /build
  cd "$tree"
  # shellcheck disable=SC2046
  LFC_ROOT=$(lfc_root) says_ok "$tree/scripts/lab" mpirun -n "$1" --mca btl lfc \
    "/build/default/tests/mpi/$2" $(arguments_of "$2")
}

# ordered_on_host RANKS PROGRAM ARGS...: totally ordered broadcast
ordered_on_host() {
  need_build default
  as_root_is_fine
  use_plugin "$LFC_BUILD"
  says_ok mpirun -n "$1" --map-by slot:OVERSUBSCRIBE --mca btl lfc "$LFC_BUILD/default/tests/ordered/$2" "${@:3}"
}
ordered_on_lab() {
  need_lab
  need_build default
  use_plugin "$LFC_BUILD"
  says_ok "$tree/scripts/lab" mpirun -n "$1" --mca btl lfc "$LFC_BUILD/default/tests/ordered/$2" "${@:3}"
}
ordered_with_policy() { # ordered_with_policy POLICY FUNCTION ARGS...
  OMPI_MCA_btl_lfc_policy=$1 "${@:2}"
}
ordered_with_upcalls() { # ordered_with_upcalls FUNCTION ARGS...
  OMPI_MCA_btl_lfc_upcalls=1 ordered_with_policy floating "$@"
}

small_worlds() { # small_worlds FAMILY COUNT
  need_small
  as_root_is_fine
  "$tree/tests/small/world.sh" "$@"
}

# The plugin built for Open MPI 5.0, in the hands of the one here.
other_version() {
  need_build5
  LFC_OTHER_COMPONENTS_DIR=$(root_build "$(lfc_root)")/default/components script tests/fault/other_version.sh
}

# --- the list ---------------------------------------------------------------------------------------------------

found() { # found FOLDER EXTENSION: the names of the files in tests/FOLDER
  local file
  for file in "$tree/tests/$1"/*."$2"; do
    [[ ! -e $file ]] || basename "$file" ".$2"
  done
}

suite() {
  local name ranks when how
  side_by_side 'sim/*' 'fuzz/*' conformance 'check/*' 'asan/[!b]*' 'tsan/unit*' tsan/sim
  entry quick 900 build need_build default
  entry quick 120 unit catch default lfc_unit
  entry quick 120 conformance catch default lfc_conformance
  entry quick 60 check/format check_format
  entry quick 60 check/shell check_shell
  entry nightly 120 check/headers check_headers
  entry quick 30 check/exports check_exports
  entry quick 30 check/parameters check_parameters
  entry quick 60 check/defects check_defects --applies
  entry nightly 600 check/tidy check_tidy
  entry nightly 1800 check/tidy-deep check_tidy --deep

  entry quick 120 sim/100 program default lfc_sim --seeds 100
  entry full 300 sim/1000 program default lfc_sim --seeds 1000
  entry full 120 sim/rma program default lfc_sim --seeds 100 --rma --queued --max-window 64
  entry full 120 sim/native program default lfc_sim --seeds 100 --native
  entry full 120 sim/256 program default lfc_sim --seeds 10 --nodes 256
  entry quick 60 sim/multicast program default lfc_sim --multicast --seeds 20
  entry full 120 sim/multicast-200 program default lfc_sim --multicast --seeds 200
  # Hosts that take a multicast only after a message, or another multicast, has come.
  entry quick 60 sim/multicast-waits program default lfc_sim --multicast --waits --nodes 16 --groups 8 --seeds 50
  entry full 60 sim/multicast-waits-3 program default lfc_sim --multicast --waits --nodes 16 --groups 8 --seeds 50 --window 3
  entry full 60 sim/recovery-waits program default lfc_sim --multicast --waits --nodes 16 --groups 8 --seeds 50 --shape binary --recovery timer
  entry full 120 sim/multicast-256 program default lfc_sim --multicast --seeds 4 --nodes 256
  entry full 60 sim/multicast-seed-trees program default lfc_sim --multicast --seeds 20 --shape binary --deadlocks
  entry full 60 sim/multicast-chains program default lfc_sim --multicast --seeds 20 --nodes 8 --whole --shape chain --deadlocks
  # The seed's trees with recovery; without it they deadlock (above).
  entry full 120 sim/recovery-timer program default lfc_sim --multicast --seeds 20 --shape binary --recovery timer
  entry full 120 sim/recovery-immediate program default lfc_sim --multicast --seeds 20 --shape kary --recovery immediate
  entry full 120 sim/recovery-chains program default lfc_sim --multicast --seeds 100 --nodes 8 --whole --shape chain --recovery timer
  # No deadlock is possible in these: binary trees within one group, and monotone ones.
  entry full 120 sim/false-recoveries program default lfc_sim --multicast --seeds 5 --whole --shape binary \
    --multicasts 20 --recovery timer --recoveries 0
  entry full 60 sim/recovery-monotone program default lfc_sim --multicast --seeds 10 --recovery timer --recoveries 0
  for name in binary:timer kary:immediate binomial:timer chain:immediate; do
    entry nightly 3600 "sim/recovery-${name/:/-}" program default lfc_sim --multicast --nodes 64 --most-nodes 256 \
      --multicasts 1 --seeds 250 --shape "${name%:*}" --recovery "${name#*:}"
  done
  entry quick 60 sim/ordered program default lfc_sim --ordered --nodes 16 --seeds 20 --messages 30
  entry full 120 sim/ordered-64 program default lfc_sim --ordered --nodes 64 --seeds 5 --messages 20
  entry nightly 3600 sim/ordered-million program default lfc_sim --ordered --nodes 16 --seeds 10 --messages 6250
  entry nightly 3600 sim/multicast-1000 program default lfc_sim --multicast --seeds 1000 --nodes 128
  entry nightly 3600 sim/20000 program default lfc_sim --seeds 20000
  entry full 60 fuzz/20s program default lfc_fuzz --seconds 20
  entry nightly 1200 fuzz/900s program default lfc_fuzz --seconds 900

  # All limits small, faults on purpose: the same seeds in every run, and at night many, of them one drawn at random.
  entry full 300 small/build need_small
  for name in sim mpi coll rma neon ordered; do
    [[ $name == mpi ]] || entry full 120 "small/$name" small_worlds "$name" 2
    entry nightly 14400 "small/$name-many" small_worlds "$name" 1000 random
  done

  entry full 900 asan/build need_build asan
  entry full 900 asan/unit catch asan lfc_unit
  entry full 300 asan/conformance catch asan lfc_conformance
  entry full 300 asan/sim program asan lfc_sim --seeds 50
  entry full 300 asan/fuzz program asan lfc_fuzz --seconds 10
  entry full 900 tsan/build need_build tsan
  # Those with threads, and what they run; the others are one thread each.
  entry full 900 tsan/unit-threads catch tsan lfc_unit \
    'ni thread*,handshake*,[accumulate],[calibration],[host_queue],[remote_memory],[ring],[shm],[tcp],[process]'
  entry nightly 900 tsan/unit catch tsan lfc_unit
  entry full 300 tsan/sim program tsan lfc_sim --seeds 20

  for name in random_traffic onesided threads; do
    entry full 300 "tsan/mpi/$name.single" tsan_mpi 2 "mpi_$name" --mca btl_lfc_policy single
    entry full 300 "tsan/mpi/$name.floating" tsan_mpi 2 "mpi_$name" --mca btl_lfc_policy floating
    entry full 300 "tsan/mpi/$name.upcalls" tsan_mpi 2 "mpi_$name" --mca btl_lfc_policy floating --mca btl_lfc_upcalls 1
  done
  for how in spin yield backoff block; do
    when=nightly
    [[ $how != yield ]] || when=full
    # A rank of its own, so that a core may be to spare.
    entry $when 300 "tsan/mpi/fixed.$how" tsan_mpi 1 mpi_random_traffic --mca btl_lfc_policy fixed --mca btl_lfc_idle "$how"
  done
  entry full 300 tsan/mpi/tcp tsan_mpi 2 mpi_onesided --mca btl_lfc_policy floating --mca btl_lfc_links loop,tcp
  entry full 300 tsan/mpi/neon tsan_mpi 3 'rma_random --programs 10' --mca btl_lfc_policy floating --mca osc neon
  for name in collectives nonblocking_collectives flood order sync_compute wildcards communicators; do
    for how in single floating; do entry nightly 300 "tsan/mpi/$name.$how" tsan_mpi 4 "mpi_$name" --mca btl_lfc_policy $how; done
    entry nightly 300 "tsan/mpi/$name.upcalls" tsan_mpi 4 "mpi_$name" --mca btl_lfc_policy floating --mca btl_lfc_upcalls 1
  done

  # No policy lets a job hang: more ranks than cores, one receive buffer for each sender, the smallest rings.
  for name in random_traffic onesided collectives wildcards; do
    for how in single floating upcalls; do entry full 180 "policy/$name.$how.8" mpi_with_least 8 "mpi_$name" $how; done
    entry nightly 180 "policy/$name.tcp.8" mpi_with_least 8 "mpi_$name" floating --mca btl_lfc_links loop,tcp
  done

  for name in $(found mpi c); do
    entry quick 180 "mpi/$name.2" mpi_on_host 2 "mpi_$name"
    entry nightly 180 "mpi/$name.4" mpi_on_host 4 "mpi_$name"
    entry full 180 "mpi/$name.8" mpi_on_host 8 "mpi_$name"
    entry nightly 180 "lab/$name.2" mpi_on_lab 2 "mpi_$name"
    entry full 180 "lab/$name.4" mpi_on_lab 4 "mpi_$name"
  done
  # More than ob1's numbers tell apart, kept by ob1. A large share, for ob1 tries all it keeps time and again.
  entry full 60 mpi/isend_flood.many flood_of_sends
  for name in order replicated; do
    entry quick 180 "ordered/$name.2" ordered_on_host 2 "ordered_$name"
    entry full 180 "ordered/$name.5" ordered_on_host 5 "ordered_$name"
    entry full 180 "ordered/lab/$name.4" ordered_on_lab 4 "ordered_$name"
    entry full 180 "ordered/$name.floating" ordered_with_policy floating ordered_on_host 3 "ordered_$name"
  done
  for how in single floating; do
    entry full 90 "ordered/inside.$how" ordered_with_policy $how ordered_on_host 3 ordered_inside
  done
  entry full 90 ordered/lab/inside ordered_on_lab 4 ordered_inside
  entry full 90 ordered/inside.threads ordered_on_host 3 ordered_inside --threads
  entry full 90 ordered/inside.upcalls ordered_with_upcalls ordered_on_host 3 ordered_inside
  entry full 90 ordered/inside.by-thread ordered_with_upcalls ordered_on_host 2 ordered_inside --by-thread
  entry nightly 1800 ordered/long ordered_on_host 3 ordered_order --long --limit 1700
  # Several ranks on each host, and few of them on one.
  entry full 180 lab/coll_random.7 mpi_on_lab 7 mpi_coll_random
  entry full 180 coll/stock.4 coll_against_stock 4 400
  entry nightly 1800 coll/stock.8 coll_against_stock 8 10000
  entry full 180 coll/threads.4 mpi_on_host 4 mpi_coll_random --threads 3 --cases 150
  entry full 180 coll/threads.lab mpi_on_lab 7 mpi_coll_random --threads 3 --cases 60
  entry full 180 coll/churn.4 coll_churn mpi_on_host 4
  entry full 180 coll/churn.lab coll_churn mpi_on_lab 4 --rounds 500
  entry nightly 900 coll/churn-many.4 coll_churn mpi_on_host 4 --long --limit 800
  entry nightly 900 coll/churn-many.lab coll_churn mpi_on_lab 4 --long --limit 800
  entry full 60 coll/ahead coll_ahead floating 8388608
  entry full 60 coll/ahead-single coll_ahead single 65536
  entry full 120 coll/fallback coll_fallback
  entry full 120 coll/small-frames small_frames
  # That nobody waits for hosts that are away, a second each; how close it comes to the idle case depends on the machine.
  entry full 180 coll/chain chain_on_lab --sleep --ratio 50 --stream 1000 --pipeline 3
  entry nightly 180 coll/chain-figures chain_on_lab --sleep --ratio 2 --stream 1000 --pipeline 1.2
  entry nightly 600 coll/large mpi_on_host 2 mpi_coll_large --long
  for ranks in 2 4; do
    for how in native emulated; do
      for name in thesis notified halo; do
        entry full 90 "neon/$name.$how.$ranks" neon_on_host $how $ranks $name
        [[ $name == halo ]] || entry full 90 "neon/lab/$name.$how.$ranks" neon_on_lab $how $ranks $name
      done
      entry full 120 "neon/lab/scenarios.$how.$ranks" neon_on_lab $how $ranks scenarios --delay 500
    done
  done
  entry quick 120 neon/scenarios.native.4 neon_on_host native 4 scenarios
  entry quick 120 neon/scenarios.emulated.4 neon_on_host emulated 4 scenarios --expect 1
  for how in policy=single policy=floating emulated; do
    entry full 120 "neon/scenarios.$how.8" neon_on_host $how 8 scenarios --delay 1000
    entry full 120 "neon/scenarios.$how.threads" neon_on_host $how 4 scenarios --threads
  done
  for how in native emulated; do
    entry nightly 1800 "neon/long.$how" neon_on_host $how 2 scenarios --long --limit 1700
  done
  entry nightly 1800 neon/unit-long many_neon_frames
  for ranks in 2 3; do
    when=full
    ((ranks > 2)) || when=quick
    for name in epochs operations churn threads corners; do entry $when 180 "rma/$name.$ranks" rma_on_host $ranks "rma_$name"; done
    entry $when 180 "rma/onesided.$ranks" rma_on_host $ranks mpi_onesided --swap-everywhere --dynamic
    entry $when 300 "rma/random.$ranks" rma_on_host $ranks rma_random --programs 100
  done
  entry full 300 rma/random.6 rma_on_host 6 rma_random --programs 30 --seed 10000
  entry full 60 rma/atomicity rma_on_host 4 rma_atomicity
  entry full 60 rma/atomicity-floating rma_with_policy rma_on_host floating 3 rma_atomicity
  entry nightly 900 rma/atomicity-long rma_on_host 6 rma_atomicity --long --limit 800
  entry full 180 rma/compute rma_with_policy rma_on_host floating 2 rma_compute --independent
  entry full 180 rma/compute-single rma_with_policy rma_on_host single 2 rma_compute
  entry full 300 rma/random-floating rma_with_policy rma_on_host floating 3 rma_random --programs 60 --seed 30000
  entry full 180 rma/lab/compute rma_with_policy rma_on_lab floating 2 rma_compute --independent
  entry full 180 rma/lab/epochs rma_on_lab 4 rma_epochs
  entry full 180 rma/lab/onesided rma_on_lab 4 mpi_onesided --swap-everywhere --dynamic
  entry full 300 rma/lab/random rma_on_lab 4 rma_random --programs 60 --seed 20000
  for how in single floating; do
    entry full 120 "rma/patterns.16.$how" rma_with_policy rma_on_host $how 16 rma_patterns
  done
  entry quick 120 rma/patterns.3 rma_on_host 3 rma_patterns
  entry full 120 rma/lab/patterns rma_on_lab 4 rma_patterns
  entry full 120 rma/patterns.32 rma_on_host 32 rma_patterns --pattern all-to-all
  entry nightly 180 rma/patterns.64 rma_on_host 64 rma_patterns --pattern all-to-all
  for how in single floating; do
    entry full 120 "progress/$how" progress_on_host $how --bound 500
    entry full 120 "progress/lab.$how" progress_on_lab $how --bound 500
    entry nightly 120 "progress/figures.$how" progress_on_host $how
    entry nightly 120 "progress/lab.figures.$how" progress_on_lab $how
  done
  entry nightly 3600 rma/random-many rma_on_host 4 rma_random --programs 10000 --seed 100000
  entry nightly 900 fault/lost_member-all script tests/fault/lost_member.sh --all
  entry nightly 900 rma/lab/operations rma_on_lab 3 rma_operations --limit 800
  entry nightly 900 rma/churn-many rma_on_host 4 rma_churn --long --limit 800
  entry nightly 300 rma/large rma_on_host 2 rma_large
  # The tests that were written for a defect find it: each is put back, built and looked for.
  entry nightly 14400 defects check_defects
  entry full 180 programs/host programs_on_host --programs 125
  entry full 120 programs/lab programs_on_lab --programs 40
  entry nightly 10800 programs/many programs_on_host --programs 25000 --seed 100000
  entry nightly 3600 programs/many-lab programs_on_lab --programs 4000 --seed 300000
  entry nightly 3600 programs/large programs_on_host --programs 100 --seed 400000 --large --program-limit 300
  entry nightly 1800 programs/stock programs_against_stock 3 --programs 3000 --seed 500000
  for name in "$tree"/perf/apps/*.cpp; do
    name=$(basename "$name" .cpp)
    for ranks in 2 4; do entry quick 90 "kernel/$name.$ranks" kernel_on_host $ranks "$name"; done
  done
  for name in $(found fault sh); do
    case $name in
      other_version) ;;
      # After a cut at the switch a host may still hold the next job's peer for unreachable (ARP), and leave that rail out.
      rails) entry nightly 300 "fault/$name" script "tests/fault/$name.sh" ;;
      lost_member) entry nightly 300 "fault/$name" script "tests/fault/$name.sh" ;;
      *) entry full 300 "fault/$name" script "tests/fault/$name.sh" ;;
    esac
  done
  for name in $(found scripts sh); do
    case $name in
      lab | compare | apps | policies) when=nightly ;; # of what measures and tests; half a minute and more each
      *) when=full ;;
    esac
    entry $when 300 "scripts/$name" script "tests/scripts/$name.sh"
  done
  entry full 300 quickstart quickstart
  entry nightly 1200 quickstart/fresh quickstart_fresh
  for name in $(found apps sh); do entry nightly 1200 "apps/$name" script "tests/apps/$name.sh"; done

  entry smoke5 600 ompi5/tree need_tree5
  entry smoke5 900 ompi5/build need_build5
  entry smoke5 180 ompi5/other_version other_version
  entry full5 120 ompi5/unit program5 lfc_unit
  entry full5 120 ompi5/conformance program5 lfc_conformance
  entry full5 120 ompi5/sim program5 lfc_sim --seeds 20
  for name in $(found mpi c); do
    when=full5
    [[ $name != pt2pt_sizes ]] || when=smoke5
    entry $when 180 "ompi5/$name.2" mpi5_on_host 2 "mpi_$name"
    entry full5 180 "ompi5/$name.4" mpi5_on_host 4 "mpi_$name"
    entry $when 180 "ompi5/$name.lab.2" mpi5_on_lab 2 "mpi_$name"
  done
  for name in epochs operations random churn threads; do entry full5 300 "ompi5/rma_$name" rma5_on_host 3 "rma_$name"; done
  for name in scenarios thesis notified; do entry full5 180 "ompi5/neon_$name" rma5_on_host 4 "neon_$name"; done
}

# scripts/test starts each test as a process of its own:  suite.sh run COMMAND
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  [[ ${1-} == run ]] || { echo "run it through scripts/test" >&2; exit 2; }
  eval "$2"
fi
