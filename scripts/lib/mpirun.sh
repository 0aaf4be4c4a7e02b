# shellcheck shell=bash
# What scripts/lab and scripts/rdma-box must know of the arguments of mpirun. Sourced, behind common.sh.
# shellcheck disable=SC2034,SC2154  # variables of who sources this, and of common.sh

# The options of mpirun that take values, as far as they may stand before the program.
values_of() {
  case $1 in
    --mca | -mca | --gmca | -gmca | --prtemca | --pmixmca | --omca) echo 2 ;;
    -n | -np | --n | --np | -c | -x | -H | --host | -host | --hostfile | -hostfile | --machinefile | -machinefile | \
      --map-by | -map-by | --rank-by | -rank-by | --bind-to | -bind-to | --wdir | -wdir | -wd | --prefix | -prefix | \
      --timeout | -timeout | --output | --tag-output-to | --output-filename | -output-filename | --stdin | -stdin | \
      --path | -path | --tune | -tune | --am | -am | -N | --npernode | -npernode | --app | -app | --pset | \
      --personality | --runtime-options | --display | --report-state-on-timeout-to | --preload-files) echo 1 ;;
    *) echo 0 ;;
  esac
}

# read_mpirun HOSTS ARGS...: sets `ranks` (one on each of HOSTS hosts, unless ARGS say it), `extra` (what says so), `slots`
# (of each host), and `bind` and `map` (empty where ARGS have their own).
read_mpirun() {
  local hosts=$1 argument='' words i
  shift
  words=("$@") ranks='' extra=() bind=(--bind-to none) map=(--map-by node)
  for ((i = 0; i < ${#words[@]}; i += 1 + $(values_of "$argument"))); do
    argument=${words[i]}
    case $argument in
      -n | -np | --n | --np | -c) ranks=${words[i + 1]-} ;;
      --bind-to | -bind-to) bind=() ;;
      --map-by | -map-by | -N | --npernode | -npernode) map=() ;;
      --host | -host | -H | --hostfile | -hostfile | --machinefile | -machinefile) die "$argument: the $lfc_script chooses the hosts" ;;
      -*) ;;
      *) break ;;
    esac
  done
  if [[ -z $ranks ]]; then
    ranks=$hosts
    extra+=(-n "$ranks")
  fi
  [[ $ranks =~ ^[0-9]+$ ]] || die "'$ranks' is not a number of ranks"
  # More slots than ranks, so that MPI_Comm_spawn finds room.
  slots=$(((ranks + hosts - 1) / hosts))
  ((slots >= 8)) || slots=8
}
