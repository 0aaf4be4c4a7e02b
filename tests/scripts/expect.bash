# shellcheck shell=bash
# The common functions of the tests of scripts. Sourced, and not a test: it has no line that runs anything.

# shellcheck disable=SC2034  # for scripts that source this file
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# expect STATUS PATTERN CMD...: CMD ends with STATUS, and its output (both streams) has a line that matches PATTERN.
# The output is then in $output.
expect() {
  local status=$1 pattern=$2 got=0
  shift 2
  output=$("$@" 2>&1) || got=$?
  [[ $got == "$status" ]] || fail "exit code $got, not $status, of: $*"$'\n'"$output"
  grep -qE -- "$pattern" <<<"$output" || fail "no '$pattern' in the output of: $*"$'\n'"$output"
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
