# shellcheck shell=bash
# Functions of all scripts: find the tree, print messages, fail.
# Sourced, never run:   . "$(dirname "$(readlink -f "$0")")/lib/common.sh"

lfc_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lfc_script=$(basename "$0")
export lfc_tree

say() { printf '%s: %s\n' "$lfc_script" "$*"; }
warn() { printf '%s: %s\n' "$lfc_script" "$*" >&2; }
die() {
  warn "$*"
  exit 1
}

# Prints the comment block at the top of the script, which is its help.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//;t show;b;:show p}' "$0"; }

# first_is_help ARGS...: succeeds if the first argument requests help
first_is_help() { [[ ${1-} == --help || ${1-} == -h || ${1-} == help ]]; }

have() { command -v "$1" >/dev/null 2>&1; }

# Sets `compiler_cache` to the options that make CMake use ccache; empty if ccache is not installed. A file that has
# been compiled before, by another run or in another clone, comes from the cache.
# shellcheck disable=SC2034 # the callers use it
use_compiler_cache() {
  compiler_cache=()
  have ccache || return 0
  # Clones in different folders share the cache, and precompiled headers do not switch it off. For them it must take the
  # headers of a source from the compiler, not from the preprocessor, which also saves a tenth of the time of a miss.
  export CCACHE_BASEDIR=$lfc_tree CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
  compiler_cache=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
}

# Open MPI refuses to start as root unless two variables permit it. Here root is the usual case (containers,
# namespaces).
allow_mpirun_as_root() {
  if [[ $EUID == 0 ]]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}

# Prints the major version of the Open MPI that mpirun belongs to.
ompi_major() { mpirun --version 2>/dev/null | sed -n '1s/.* \([0-9]*\)\..*/\1/p'; }

# Prints microseconds since the epoch, without a fork.
now_us() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }

# Print the folder of the Debian 13 tree (scripts/chroot13), and the folder outside of it that has the builds made
# inside. Two source trees may share one root, but not one build.
lfc_root() { readlink -m "${LFC_CHROOT:-/var/cache/lfc/trixie}"; }
root_build() { printf '%s-build/%s' "$1" "$(cksum <<<"$lfc_tree" | cut -d' ' -f1)"; } # root_build ROOT
