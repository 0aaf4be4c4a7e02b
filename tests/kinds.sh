#!/usr/bin/env bash
# kinds.sh KIND ARGS...: how the tests of tests/suite.table are run, by scripts/test. A kind is a function that
# returns 0, or 77 after printing why it cannot run here. Its arguments are the columns behind `kind` in the table.
# Kinds that are one MPI job are in tests/jobs.bash. A test with steps of its own is a script, of one of two kinds:
#   script     runs anywhere, knows nothing of the suite, and finds the plugin in its environment
#   scenario   sources tests/jobs.bash and starts jobs by the kinds there
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/jobs.bash"

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
  use_plugin
  "$tree/$1" "${@:2}"
}

scenario() { "$tree/$1" "${@:2}"; } # scenario FILE ARGS...: a program that starts jobs by tests/jobs.bash

other_build() { # other_build SCRIPT: a job of two builds
  build small small_worlds
  LFC_OTHER_COMPONENTS_DIR=$LFC_BUILD/small/components script "tests/fault/$1.sh"
}

small_worlds() { # small_worlds FAMILY COUNT [random]
  build small small_worlds
  allow_mpirun_as_root
  "$tree/tests/small/world.sh" "$@"
}

# --- MPI programs in other circumstances --------------------------------------------------------------------------

# With the smallest memory that the parameters permit.
mpi_with_least() { # arguments as of mpi
  use btl_lfc_initial_window=1+btl_lfc_max_window=1+btl_lfc_shm_slots=16+mpi_yield_when_idle=1
  mpi "$@"
}

# Components and program under the thread sanitizer. Open MPI's libraries are not instrumented, so their accesses to
# memory are not checked. tests/tsan.supp lists the accesses that Open MPI's headers make in our code.
mpi_tsan() { # mpi_tsan RANKS WITH FOLDER PROGRAM ARGS...
  local launcher=(mpirun --map-by slot:OVERSUBSCRIBE)
  build tsan
  allow_mpirun_as_root
  use "$2"
  use_plugin tsan
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7:ignore_noninstrumented_modules=1:suppressions=$tree/tests/tsan.supp
  job_says_ok "$1" --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl lfc \
    "$(executable "$3" "$4" tsan)" "${@:5}" --limit 240
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

# --- Debian 13 with Open MPI 5.0 --------------------------------------------------------------------------------

# with_ompi VERSION KIND ARGS...: another kind with another Open MPI than the system's. The only one is 5, in the Debian 13
# tree (scripts/chroot13).
with_ompi() {
  [[ $1 == 5 ]] || die "there is no tree with Open MPI $1"
  export LFC_TEST_OMPI=$1
  case $2 in
    mpi | rma | scenario) "${@:2}" ;;
    *) "$2_in_chroot" "${@:3}" ;;
  esac
}

tree_in_chroot() { need_chroot; }
plugin_in_chroot() { build_in_chroot plugin; }

program_in_chroot() { # program_in_chroot NAME ARGS...: one without MPI, perhaps with Catch2
  build_in_chroot plugin
  once chroot.catch in_chroot cmake --preset fast -B /build/default -DLFC_CATCH=ON
  build_in_chroot "$1"
  in_chroot "/build/default/tests/$1" "${@:2}"
}

script_in_chroot() { # script_in_chroot FILE TARGET...: a test that is a program of its own, and needs these
  build_in_chroot plugin "${@:2}"
  allow_mpirun_as_root
  in_chroot "$tree/$1"
}

# The plugin built for Open MPI 5.0, loaded by the one here.
other_version_in_chroot() {
  build_in_chroot plugin
  unset LFC_TEST_OMPI
  LFC_OTHER_COMPONENTS_DIR=$(root_build "$(lfc_root)")/default/components script tests/fault/other_version.sh
}

# --------------------------------------------------------------------------------------------------------------------

[[ ${1-} ]] || die "run it through scripts/test"
[[ $(type -t "$1") == function ]] || die "there is no kind '$1'"
"$@"
