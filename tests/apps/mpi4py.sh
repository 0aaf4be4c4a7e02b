#!/usr/bin/env bash
# mpi4py's own test suite, of the version that Debian packages, on 2 and 4 ranks over LFC and over stock transports.
# Its one-sided part runs once more with osc neon, and with osc/rdma on btl lfc. Each test module is a separate run,
# so that one that crashes or hangs (stock Open MPI has some) hides no other.
#
#   tests/apps/mpi4py.sh [--lab] [--quick]      --quick: point to point, collectives, one-sided; two ranks
#
# The suite is in Debian's source package. LFC_MPI4PY=DIR is an unpacked one (DIR/test/runtests.py); otherwise it is
# fetched by apt-get source, with the package sources that this machine has.
. "$(dirname "${BASH_SOURCE[0]}")/compare.bash"
parse_options "$@"
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || needs python3-mpi4py python3-mpi4py

# fetch_source PACKAGE DIR: uses this machine's apt sources, with source packages enabled, and changes no file of
# apt
fetch_source() {
  local apt=$scratch/apt file version
  mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial" "$2"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ -f $file ]] || continue
    case $file in
      *.sources) sed -E 's/^Types:.*/Types: deb-src/' "$file" ;;
      *) sed -nE 's/^deb(-src)?([[:space:]])/deb-src\2/p' "$file" | sort -u ;;
    esac >"$apt/parts/$(basename "$file")"
    [[ $file == *.* ]] || mv "$apt/parts/$(basename "$file")" "$apt/parts/$(basename "$file").list"
  done
  local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::Languages=none)
  version=$(dpkg-query -W -f '${source:Version}' python3-mpi4py)
  apt-get "${options[@]}" update && (cd "$2" && apt-get "${options[@]}" source "$1=$version")
}

if [[ -z ${LFC_MPI4PY-} ]]; then
  if ! fetch_source mpi4py "$scratch/source" >"$scratch/fetch" 2>&1; then
    tail -n 4 "$scratch/fetch"
    echo "the source package of mpi4py cannot be fetched here; LFC_MPI4PY=DIR takes an unpacked one"
    exit 77
  fi
  LFC_MPI4PY=$(echo "$scratch"/source/mpi4py-*/)
fi
suite=$LFC_MPI4PY/test
[[ -f $suite/runtests.py ]] || fail "no test/runtests.py in $LFC_MPI4PY"
cd "$scratch"

# The script of one rank. Its report goes to a separate file, since the lines of several ranks would mix.
cat >"$scratch/one-rank" <<'R'
#!/bin/sh
exec /usr/bin/python3 "$1/runtests.py" --no-builddir -v -i "^$2\$" 2>"$3/report.$OMPI_COMM_WORLD_RANK"
R
chmod +x "$scratch/one-rank"

# module RANKS NAME: the verdict of each of its tests on each rank
module() {
  local ranks=$1 name=$2 code=0 rank
  rm -f "$scratch"/report.*
  app "${limit:-120}" "$ranks" "$scratch/one-rank" "$suite" "$name" "$scratch" || code=$?
  for ((rank = 0; rank < ranks; ++rank)); do
    [[ -f $scratch/report.$rank ]] || continue
    awk -v rank="$ranks/$rank" '
      match($0, /^[A-Za-z0-9_]+ \([A-Za-z0-9_.]+\)/) { test = substr($0, 1, RLENGTH); sub(/^[^(]*\(/, "", test); sub(/\)$/, "", test) }
      test != "" && match($0, /(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$/) {
        verdict = substr($0, RSTART); sub(/ .*/, "", verdict); print rank " " test ": " verdict; test = ""
      }' "$scratch/report.$rank"
  done
  # The exit code after a crash depends on the rank whose end is detected first.
  local end=crash
  if ((code == 0)); then
    end=ok
  elif ((code == 124)); then
    end=hang
  elif grep -qsE '^(OK|FAILED)' "$scratch"/report.*; then
    end=failed
  fi
  echo "$ranks ranks, $name: $end"
}

modules() { # modules RANKS PATTERN
  local file name
  for file in "$suite"/test_*.py; do
    name=$(basename "$file" .py)
    if [[ $name =~ $2 ]]; then module "$1" "$name"; fi
  done
}

if [[ $quick == yes ]]; then
  compare modules 2 '^test_(p2p_buf|cco_buf|cco_nb_buf|comm|status|request|win)$'
else
  compare modules 2 .
  compare modules 4 .
fi
two_sided=("${lfc[@]}")
lfc=("${two_sided[@]}" --mca osc neon)
compare modules 2 '^test_(rma|rma_nb|win)$'
[[ $quick == yes ]] || compare modules 4 '^test_(rma|rma_nb|win)$'
# Open MPI 4.1 finds btl lfc by this parameter; 5.0 accepts it too.
lfc=("${two_sided[@]}" --mca osc rdma --mca osc_rdma_btls lfc)
compare modules 2 '^test_(rma|rma_nb|win)$'
[[ $quick == yes ]] || compare modules 4 '^test_(rma|rma_nb|win)$'
finish
