# shellcheck shell=bash
# Builds for the tests, each once in a run of scripts/test. Sourced by tests/kinds.sh and by scenarios, through jobs.bash.
#
#   build default            # configures build/default and builds it; later calls of the same run return at once
#   build default lfc_sim    # builds one target of it
#   need_program mpi ring    # builds what a job of tests/mpi/ring.c needs, with the Open MPI of the row
#
# LFC_TEST_OMPI=5: rows of the Debian 13 tree (scripts/chroot13) with Open MPI 5.0, set by the kind `with_ompi`. Its builds
# are in /build inside the tree. Only the plugin and requested programs are built there. Catch2, which takes longest
# to compile and does not depend on Open MPI, is left out.
# shellcheck disable=SC2154  # `tree` of jobs.bash, `compiler_cache` of common.sh

skip() {
  echo "$*"
  exit 77
}

# once FOLDER[.WHAT] CMD...: runs CMD unless it has succeeded in this run. Other tests wait meanwhile if they need the same
# folder, because two ninjas must not work in one. Only a test that runs again (LFC_TEST_AGAIN) tries a failed build
# once more.
once() {
  local stamp=$LFC_TEST_STATE/built.$1 lock
  [[ ! -e $stamp ]] || return 0
  exec {lock}>"$LFC_TEST_STATE/lock.${1%%.*}"
  flock "$lock"
  if [[ ! -e $stamp ]]; then
    [[ ! -e $stamp.failed || ${LFC_TEST_AGAIN-} ]] || { echo "the build '$1' has failed before"; return 1; }
    touch "$stamp.failed"
    "${@:2}"
    mv "$stamp.failed" "$stamp"
  fi
  exec {lock}>&-
}

build() { once "$1${2+.$2}" build_here "$@"; } # build PRESET [TARGET]

build_here() { # build_here PRESET [TARGET]
  cd "$tree" || return
  use_compiler_cache
  [[ -e $LFC_TEST_STATE/built.$1 ]] || cmake --preset "$1" -B "$LFC_BUILD/$1" "${compiler_cache[@]}"
  cmake --build "$LFC_BUILD/$1" ${2+--target "$2"}
}

# --- the Debian 13 tree -------------------------------------------------------------------------------------------

is_chroot() { [[ ${LFC_TEST_OMPI-} == 5 ]]; }

in_chroot() { (cd "$tree" && "$tree/scripts/chroot13" run "$@"); }

# Makes the tree once in a run. The reason why it cannot be made is kept for the tests behind this one.
need_chroot() {
  local impossible=$LFC_TEST_STATE/built.tree5.impossible
  [[ $EUID == 0 ]] || skip "a Debian 13 tree needs root"
  unshare --mount true 2>/dev/null || skip "mount namespaces are not permitted here"
  [[ ! -e $impossible ]] || skip "$(cat "$impossible")"
  once tree5 make_chroot "$impossible"
}

make_chroot() { # make_chroot IMPOSSIBLE
  local output=$LFC_TEST_STATE/tree5.output status=0
  "$tree/scripts/chroot13" make 2>&1 | tee "$output" || status=$?
  if ((status == 77)); then
    tail -n 1 "$output" >"$1"
    exit 77
  fi
  return "$status"
}

build_in_chroot() { # build_in_chroot TARGET...
  local target
  need_chroot
  once chroot in_chroot cmake --preset fast -B /build/default
  for target; do once "chroot.$target" in_chroot cmake --build /build/default --target "$target"; done
}

# --- both -----------------------------------------------------------------------------------------------------------

# The folder that has `default`, as the programs of the row see it.
builds() { if is_chroot; then echo /build; else echo "$LFC_BUILD"; fi; }

need_program() { # need_program FOLDER PROGRAM
  if is_chroot; then build_in_chroot plugin lfc_info "${1##*/}_$2"; else build default; fi
}

executable() { # executable FOLDER PROGRAM [PRESET]
  case $1 in
    perf/apps) echo "$(builds)/${3-default}/perf/apps/$2" ;;
    *) echo "$(builds)/${3-default}/tests/$1/$1_$2" ;;
  esac
}

# The plugin out of the build tree, without installing it.
use_plugin() { # use_plugin [PRESET]
  local environment folder
  folder=$(builds)/${1-default}
  export OMPI_MCA_mca_base_component_path=$folder/components:SYS_DEFAULT
  is_chroot || return 0
  # PMIx 5 would take Open MPI's variable for its own, complain of each file, and crash when it starts for the second
  # time.
  environment=$(in_chroot /build/default/bin/lfc-info --environment)
  eval "$(grep '^export PMIX_' <<<"$environment")"
}
