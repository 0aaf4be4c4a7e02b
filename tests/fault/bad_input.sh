#!/usr/bin/env bash
# Parameters that cannot be served: one line for the job reports that and names the parameter. The job runs on other
# transports if it has any, and otherwise ends. It never hangs, and never runs on a transport that was not
# requested.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

# bad PARAMETER VALUE [MORE MPIRUN-ARGS...]
bad() {
  local parameter=btl_lfc_$1 value=$2 ranks=2 lines
  shift 2
  local wrong=(--mca "$parameter" "$value" "$@" mpi_ring)

  run_job 60 $ranks --mca btl lfc,vader,self --mca btl_lfc_stats 1 "${wrong[@]}"
  job_is_ok "$parameter '$value' with vader at hand"
  lines=$(grep -ac "btl lfc: .*$parameter" "$output") || fail "no line names $parameter ('$value')"
  ((lines == 1)) || fail "$lines lines of $ranks ranks name $parameter ('$value')"
  [[ $(grep -ac 'btl lfc:' "$output") == "$lines" ]] || fail "more than the one line about $parameter ('$value')"
  ! grep -aq '^lfc-stats' "$output" || fail "$parameter '$value', but LFC took part all the same"
  echo "$parameter='$value': $(grep -am1 -o 'btl lfc: .*' "$output")"

  run_job 60 $ranks --mca btl lfc "${wrong[@]}"
  ((code != 0)) || fail "$parameter '$value' was accepted"
  grep -aq "btl lfc: .*$parameter" "$output" || fail "no line names $parameter ('$value') before the job ends"
  nothing_left
}

bad links nosuch
bad links loop,nosuch
bad links loop,loop
bad links ''
bad interfaces nosuch0 --mca btl_lfc_links loop,tcp
bad interfaces 203.0.113.0/24 --mca btl_lfc_links loop,tcp
bad interfaces 1.2.3.4/99 --mca btl_lfc_links loop,tcp
bad provider nosuch --mca btl_lfc_links loop,ofi
bad initial_window 0
bad initial_window 1000000
bad max_window 0
bad max_window 4
bad window_cap 0
bad policy nosuch
bad shm_slots 3
bad shm_slots 63
bad shm_bulk 100
bad peer_fragments 0

# Collectives: they go on without LFC, and one line gives the reason.
for wrong in 'fan 17' 'tree nosuch'; do
  run_job 60 2 --mca btl lfc --mca coll_lfc_stats 1 --mca "coll_lfc_${wrong% *}" "${wrong#* }" mpi_ring
  job_is_ok "coll_lfc_$wrong"
  [[ $(grep -ac "coll lfc: coll_lfc_${wrong% *}: .*(accepted: " "$output") == 1 ]] || fail "not one line names coll_lfc_$wrong"
  ! grep -aq '^lfc-coll' "$output" || fail "coll_lfc_$wrong, but LFC took part all the same"
  echo "coll_lfc_$wrong: $(grep -am1 -o 'coll lfc: .*' "$output")"
done
# Windows: other components serve them.
run_job 60 2 --mca btl lfc --mca osc neon,sm --mca osc_neon_stats 1 --mca osc_neon_budget 1000 mpi_ring
job_is_ok osc_neon_budget
[[ $(grep -ac "osc neon: osc_neon_budget: 1000 (accepted: 16448 to 1073741824)" "$output") == 1 ]] || fail "not one line names osc_neon_budget"
! grep -aq '^lfc-neon' "$output" || fail "osc_neon_budget 1000, but osc neon took part all the same"
# Parameters that do not exist: one line names them, with suggestions, and the job runs as if they had not been set.
export OMPI_MCA_osc_neon_verbos=1
run_job 60 4 --mca btl lfc --mca btl_lfc_interface lo --mca coll_lfc_colour red --mca btl_lfc_eager_limit 4096 mpi_ring
job_is_ok "unknown parameters"
unset OMPI_MCA_osc_neon_verbos
told='btl_lfc_interface (did you mean btl_lfc_interfaces?), coll_lfc_colour, osc_neon_verbos (did you mean osc_neon_verbose?)'
[[ $(grep -ac 'lfc: unknown parameters' "$output") == 1 ]] || fail "the number of lines about unknown parameters is not 1"
grep -aqF "lfc: unknown parameters are set, and change nothing: $told" "$output" || fail "unknown parameters are not named"
# Unknown parameters of a parameter file; one that is set in both places is named once.
parameters=$scratch/parameters
printf '%s\n' 'btl_lfc_polcy = single' 'btl_lfc_stats = 1' 'btl_lfc_interface = lo' >"$parameters"
run_job 60 2 --mca btl lfc --mca mca_base_param_files "$parameters" --mca btl_lfc_interface lo mpi_ring
job_is_ok "unknown parameters of a file"
told='btl_lfc_interface (did you mean btl_lfc_interfaces?), btl_lfc_polcy (did you mean btl_lfc_policy?)'
grep -aqFx "btl lfc: unknown parameters are set, and change nothing: $told" "$output" || fail "unknown parameters of a file are not named"
[[ $(grep -ac '^lfc-stats' "$output") == 2 ]] || fail "the parameter file was not read"

# A condition that all ranks of a node detect and one of them prints: with one processor no rank has a second one
# for its thread.
processor=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
mpirun() { taskset -c "$processor" mpirun "$@"; }
for verbose in 0 1 2; do
  run_job 120 3 --mca btl lfc --mca btl_lfc_policy fixed --mca btl_lfc_verbose $verbose mpi_ring
  job_is_ok "fixed without a processor, verbose $verbose"
  [[ $(grep -ac 'btl lfc: policy fixed refused (.*), floating instead$' "$output") == 1 ]] || fail "the number of lines that report fixed as refused is not 1"
  [[ $(grep -ac 'btl lfc: policy fixed refused (.*), floating instead; links ' "$output") == $((verbose == 2 ? 3 : verbose)) ]] ||
    fail "verbose $verbose: too many ranks print their links, or too few"
done
unset -f mpirun

run_job 60 2 --mca btl vader,self --mca btl_lfc_interface lo mpi_ring
job_is_ok "unknown parameters of a transport that is not asked for"
! grep -aq 'unknown' "$output" || fail "unknown parameters of an unselected transport are reported"
echo ok
