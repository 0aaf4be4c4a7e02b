# shellcheck shell=bash
# The common functions of the application tests: the same unmodified program over Open MPI's own transports and over
# LFC, and the difference between the two lists of results. Sourced by tests/apps/NAME.sh:
#
#   parse_options "$@"                     # --lab: across the hosts of scripts/lab; --quick: a short version
#   results() { app 60 2 program ...; sed -n 's/...//p' "$output"; }     # prints a line for each check: NAME: verdict
#   compare results                        # once over stock, once over lfc; they must agree, and not be empty
#   finish
#
# The results of a run are sorted before they are compared. A run that does not end in its time is a failure, over
# LFC even if stock hangs too; the state of its processes is printed. LFC_COMPONENTS_DIR holds mca_btl_lfc.so
# (default: that of LFC_BUILD, build/).
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/lib/marked.sh
. "$tree/scripts/lib/marked.sh"
: "${LFC_BUILD:=$tree/build}" "${LFC_COMPONENTS_DIR:=$LFC_BUILD/default/components}"
export LFC_TEST_MARK=${LFC_TEST_MARK:-apps.$$}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path=$LFC_COMPONENTS_DIR:SYS_DEFAULT

scratch=$(mktemp -d)
output=$scratch/output
# shellcheck disable=SC2034  # for scripts that source this file
quick=no
launcher=(mpirun --map-by slot:OVERSUBSCRIBE --bind-to none)
stock=(--mca btl 'vader,tcp,self')
lfc=(--mca btl lfc)
extra=() # more arguments for mpirun, in both runs
own_lab=no
differences=0

leave() {
  marked_pids "$LFC_TEST_MARK" | while read -r pid; do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in bash | sh | timeout) ;; *) kill -KILL "$pid" 2>/dev/null || true ;; esac
  done
  [[ $own_lab == no ]] || "$tree/scripts/lab" down >/dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap leave EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

# shellcheck disable=SC2034  # for scripts that source this file
parse_options() {
  while (($#)); do
    case $1 in
      --quick) quick=yes ;;
      --lab) use_lab ;;
      *) echo "unknown option '$1': $(basename "$0") [--lab] [--quick]" && exit 2 ;;
    esac
    shift
  done
  [[ -f $LFC_COMPONENTS_DIR/mca_btl_lfc.so ]] || fail "no mca_btl_lfc.so in LFC_COMPONENTS_DIR=$LFC_COMPONENTS_DIR"
}

use_lab() {
  if ! "$tree/scripts/lab" status >/dev/null 2>&1; then
    export LFC_LAB=${LFC_LAB:-apps$$}
    # The lab is not one of the processes of a run.
    env -u LFC_TEST_MARK "$tree/scripts/lab" up 2 >/dev/null
    own_lab=yes
  fi
  launcher=("$tree/scripts/lab" mpirun)
  stock=(--mca btl 'tcp,self')
}

# app LIMIT RANKS PROGRAM ARGS...: one run over the present transport; its output is in $output. Returns the exit code;
# 124 after a hang, which is never right.
app() {
  local limit=$1 ranks=$2 pid deadline code=0
  shift 2
  "${launcher[@]}" -n "$ranks" --mca mpi_yield_when_idle 1 --mca pml ob1 "${transport[@]}" "${extra[@]}" "$@" \
    >"$output" 2>&1 </dev/null &
  pid=$!
  deadline=$((SECONDS + limit))
  while kill -0 $pid 2>/dev/null; do
    if ((SECONDS >= deadline)); then
      {
        echo "HANG over ${transport[*]}: $* on $ranks ranks did not end in $limit s"
        tail -n 20 "$output"
        marked_show "$LFC_TEST_MARK"
      } >&2
      [[ ${transport[*]} != "${lfc[*]}" ]] || echo "$*" >>"$scratch/hangs"
      kill -TERM $pid 2>/dev/null || true
      sleep 2
      kill -KILL $pid 2>/dev/null || true
      wait $pid 2>/dev/null || true
      return 124
    fi
    sleep 0.1
  done
  wait $pid || code=$?
  return $code
}

# Whether stock alone has failures, and LFC alone has none.
lfc_is_better() {
  ! grep '^<' "$scratch/difference" | grep -qvE ': (crash|hang|failed|FAIL|ERROR)$' &&
    ! grep '^>' "$scratch/difference" | grep -qvE ': (ok|skipped)$'
}

# compare FUNCTION ARGS...: FUNCTION must print the same over stock transports and over LFC, except that LFC may
# pass where stock fails.
compare() {
  local what="$*" start
  start=$SECONDS
  transport=("${stock[@]}")
  "$@" | sort >"$scratch/stock"
  local between=$SECONDS
  transport=("${lfc[@]}")
  "$@" | sort >"$scratch/lfc"
  [[ -s $scratch/stock ]] || fail "$what: no results over ${stock[*]}"
  printf '%s: %d results; stock (%s) %d s, lfc %d s: ' "$what" "$(wc -l <"$scratch/stock")" "${stock[*]: -1}" \
    $((between - start)) $((SECONDS - between))
  if diff "$scratch/stock" "$scratch/lfc" >"$scratch/difference"; then
    echo "no difference"
  elif lfc_is_better; then
    echo "they differ, only in that LFC passes what stock does not"
    cat "$scratch/difference"
  else
    echo "they DIFFER (< stock, > lfc)"
    cat "$scratch/difference"
    ((++differences))
  fi
}

# needs PACKAGE COMMAND
needs() {
  command -v "$2" >/dev/null || {
    echo "needs Debian's package $1"
    exit 77
  }
}

finish() {
  [[ ! -s $scratch/hangs ]] || fail "hangs over LFC, also where stock hangs: $(cat "$scratch/hangs")"
  ((differences == 0)) || fail "$differences of the comparisons show a difference"
  echo ok
}
