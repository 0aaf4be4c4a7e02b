# shellcheck shell=bash
# The column `with` of tests/suite.table: how a job runs, and whether it did. Sourced by tests/jobs.bash.
#
#   use ofi+single                        # before the job: sets Open MPI's parameters
#   used_expected_path RANKS MESSAGES     # after it. False: prints which rank used something else
#
# MESSAGES is a file with the standard error of the job. The words are:
#   -                           nothing
#   single, floating, upcalls   the policy; the last is floating with upcalls
#   fixed                       this policy, and the test fails if it is refused: for ranks on separate hosts
#   tcp, ofi                    only this transport: TCP, or libfabric over TCP
#   verbs, ofi-verbs            in a box: only the transport verbs, or libfabric over verbs
#   ulfm                        with Open MPI 5.0: a rank that fails does not end the others
#   planned                     all ordinary messages that can use a channel may use one; some must have done so
#   NAME=VALUE                  a parameter of Open MPI
#   first:NAME=VALUE            the same for rank 0 alone
# With the name of a transport, the test fails if the counters of any rank show another one, or no frame. The kind
# `neon` also checks the counters of osc neon.

# The number of peers for which libfabric makes queues: its default is 256, and soft-RoCE has too few queues for
# that.
few_peers=FI_UNIVERSE_SIZE=16

tests=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
every_plan=$tests/mpi/every.plan
by_rank=() # the words before a program that give its ranks their own parameters

only_over() { # only_over TRANSPORT
  export OMPI_MCA_btl_lfc_links=loop,$1
  [[ $1 != ofi ]] || export OMPI_MCA_btl_lfc_provider='tcp;ofi_rxm'
  expect_transport "$1"
}

use() { # use WITH
  local words word
  IFS=+ read -ra words <<<"$1"
  for word in "${words[@]}"; do
    case $word in
      -) ;;
      single | floating) export OMPI_MCA_btl_lfc_policy=$word ;;
      fixed)
        (($(nproc) > 1)) || skip "the policy fixed needs a second processor"
        export OMPI_MCA_btl_lfc_policy=fixed
        expect_policy fixed
        ;;
      upcalls) export OMPI_MCA_btl_lfc_policy=floating OMPI_MCA_btl_lfc_upcalls=1 ;;
      tcp | verbs | ofi) only_over "$word" ;;
      ofi-verbs)
        use "ofi+mca_base_env_list=$few_peers"
        export OMPI_MCA_btl_lfc_provider='verbs;ofi_rxm'
        ;;
      ulfm) launcher+=(--with-ft ulfm) ;;
      planned)
        export OMPI_MCA_coll_lfc_channels=plan:$every_plan OMPI_MCA_coll_lfc_stats=1
        expected_channels=yes
        ;;
      first:*=*) by_rank+=("$tests/first_rank" "OMPI_MCA_${word#first:}") ;;
      *=*) export "OMPI_MCA_$word" ;;
      *) die "'$word' says nothing about how to run a program" ;;
    esac
  done
}

expected_transport='' expected_policy='' expected_neon='' expected_channels=''

expect_transport() {
  expected_transport=$1
  export OMPI_MCA_btl_lfc_stats=1
}
# For ranks on nodes of their own: one rank of each node prints its policy.
expect_policy() {
  expected_policy=$1
  export OMPI_MCA_btl_lfc_verbose=1
}

# expect_neon native|emulated: osc neon serves the NEON calls of each rank, or no rank has loaded it.
expect_neon() {
  expected_neon=$1
  export OMPI_MCA_osc_neon_stats=1
}

used_expected_path() {
  local printed
  if [[ $expected_policy ]]; then
    printed=$(grep -c "btl lfc: policy $expected_policy (" "$2") || true
    [[ $printed == "$1" ]] || { echo "$printed of $1 ranks have the policy $expected_policy"; return 1; }
  fi
  [[ ! $expected_neon ]] || used_neon "$@" || return 1
  [[ ! $expected_channels ]] || used_channels "$@" || return 1
  [[ ! $expected_transport ]] || used_transport "$@"
}

# The counters of each rank show frames, direct writes, or accesses to mapped memory.
used_neon() {
  local rank
  if [[ $expected_neon == emulated ]]; then
    ! grep '^lfc-neon ' "$2" || { echo "a rank has loaded osc neon"; return 1; }
    return 0
  fi
  for ((rank = 0; rank < $1; rank++)); do
    grep -qE "^lfc-neon rank=$rank (.* )?(frames|written|mapped)=[1-9]" "$2" ||
      { echo "osc neon has served no NEON call of rank $rank"; return 1; }
  done
}

# Each rank has channels, and a message has used one.
used_channels() {
  local printed
  printed=$(grep -c '^lfc-channels ' "$2") || true
  [[ $printed == "$1" ]] || { echo "$printed of $1 ranks have channels"; return 1; }
  grep -q '^lfc-channels .* sent=[1-9]' "$2" || { echo "no message has used a channel"; return 1; }
}

# Each rank has received frames of other ranks over the expected transport, and none over another.
used_transport() {
  local lines line
  mapfile -t lines < <(grep '^lfc-stats ' "$2")
  ((${#lines[@]} == $1)) || { echo "${#lines[@]} of $1 ranks have printed counters"; return 1; }
  for line in "${lines[@]}"; do
    [[ ! $line =~ \ links=(loop:1,)?$expected_transport:[0-9]+\ .*\ frames_received=[1-9] ]] || continue
    echo "a rank has not used the transport $expected_transport alone: ${line:0:100}"
    return 1
  done
}
