#!/usr/bin/env bash
# HPC Challenge (Debian's hpcc) on four ranks over LFC and over stock transports. It checks its own results (HPL,
# PTRANS, DGEMM, RandomAccess, FFT), with all six algorithms of HPL's broadcast.
. "$(dirname "${BASH_SOURCE[0]}")/compare.bash"
parse_options "$@"
needs hpcc hpcc
mkdir "$scratch/run"
cd "$scratch/run"

# input SIZES BLOCKS GRIDS BROADCASTS: each a list; a grid is PxQ
input() {
  local rows='' columns='' grid
  for grid in $3; do rows+="${grid%x*} " columns+="${grid#*x} "; done
  cat <<I
HPLinpack benchmark input file
made by tests/apps/hpcc.sh
HPL.out
8
$(wc -w <<<"$1")
$1
$(wc -w <<<"$2")
$2
0
$(wc -w <<<"$3")
$rows
$columns
16.0
1
2
1
4
1
2
1
1
$(wc -w <<<"$4")
$4
1
1
2
64
0
0
1
8
-----
0
1200
0
40
I
}

# A line for each check. Residuals and times differ from run to run; the verdicts must not.
checks() {
  local code=0
  input "${problem[@]}" >hpccinf.txt
  rm -f hpccoutf.txt
  app 300 4 hpcc || code=$?
  echo "exit code: $code"
  awk '
    /^W[RC][0-9]/ { hpl = $1 " N=" $2 " NB=" $3 " P=" $4 " Q=" $5 }
    /\|\|Ax-b\|\|.*(PASSED|FAILED)/ { print "HPL " hpl " #" ++n ": " $NF }
    /tests completed and/ { sub(/^ +/, ""); print "HPL or PTRANS #" ++tests ": " $0 }
    /^(WALL|CPU) .*(PASSED|FAILED)/ { print "PTRANS " $1, $2, $3, $4, $5, $6, $7 " #" ++ptrans ": " ($0 ~ /PASSED/ ? "PASSED" : "FAILED") }
    /^Found .* errors in .* locations/ { print "RandomAccess #" ++random ": " $NF }
    /^Scaled residual:/ { print "DGEMM: " ($3 < 16 ? "residual is small" : "residual " $3) }
    /^Node\(s\) with error/ { print "nodes with error #" ++nodes ": " $NF }
    /^Solution Validates/ { print "STREAM #" ++stream ": validates" }
    /^(MPIRandomAccess.*_Errors|PTRANS_residual|Success)=/ { print }
    /^MPIFFT_maxErr=/ { split($0, part, "="); print "MPIFFT error: " (part[2] >= 0 && part[2] < 1e-10 ? "small" : part[2]) }
  ' hpccoutf.txt 2>/dev/null || true
}

# Checks that LFC must pass even if stock fails alike.
passed() {
  local line
  for line in 'exit code: 0' 'Success=1' 'MPIFFT error: small' '^HPL.*: PASSED' '^PTRANS.*: PASSED'; do
    grep -q "$line" "$scratch/lfc" || fail "hpcc over LFC: no '$line' among its checks"
  done
  ! grep FAILED "$scratch/lfc" || fail "a check of hpcc over LFC"
}

problem=(400 '32' '2x2' '1')
[[ $quick == yes ]] || problem=('600 301' '32 80' '2x2 1x4' '0 1 2 3 4 5')
compare checks
passed
finish
