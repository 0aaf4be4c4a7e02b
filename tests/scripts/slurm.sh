#!/usr/bin/env bash
# LFC under Slurm: a controller and a slurmd on each host of the lab, and jobs by sbatch with mpirun, and by srun
# --mpi=pmix. Slurm comes from Debian's packages, unpacked into ${LFC_SLURM:-/var/cache/lfc/slurm}: nothing is
# installed, and no service runs.
set -euo pipefail
. "$(dirname "$0")/expect.bash"
slurm=${LFC_SLURM:-/var/cache/lfc/slurm}
export LFC_LAB=slurm$$

[[ $EUID == 0 ]] || { echo "the lab needs root"; exit 77; }
unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null || { echo "namespaces are not permitted here"; exit 77; }
if [[ ! -x $slurm/usr/sbin/slurmctld-wlm ]]; then
  mkdir -p "$slurm.$$"
  (cd "$scratch" && apt-get download slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libslurm38 libfreeipmi17) \
    >"$scratch/log" 2>&1 </dev/null || { echo "Debian's packages of Slurm cannot be fetched: $(tail -n 1 "$scratch/log")"; exit 77; }
  for package in "$scratch"/*.deb; do dpkg-deb -x "$package" "$slurm.$$"; done
  mv "$slurm.$$" "$slurm"
fi
plugins=$(dirname "$(find "$slurm/usr/lib" -name auth_munge.so)")
export LD_LIBRARY_PATH=$plugins:${plugins%/*} PATH=$slurm/usr/sbin:$slurm/usr/bin:$PATH SLURM_CONF=$scratch/slurm.conf

lab() { "$tree/scripts/lab" "$@"; }
on() { lab exec "$1" env PATH="$PATH" "${@:2}"; } # on HOST CMD...
leave() {
  lab down >/dev/null 2>&1 || true # ends the controller and the daemons as well
  [[ ! -s $scratch/munged.pid ]] || kill "$(cat "$scratch/munged.pid")" 2>/dev/null || true
  rm -rf "$scratch" 2>/dev/null || { sleep 1 && rm -rf "$scratch"; }
}
trap leave EXIT
lab up 3 >/dev/null

mkdir "$scratch/run" "$scratch/state"
chmod 755 "$scratch" "$scratch/run"
dd if=/dev/urandom of="$scratch/munge.key" bs=128 count=1 status=none
chmod 600 "$scratch/munge.key"
munged --force --key-file="$scratch/munge.key" --socket="$scratch/run/munge.sock" --pid-file="$scratch/munged.pid" \
  --log-file="$scratch/munged.log" --seed-file="$scratch/munge.seed" >"$scratch/log" 2>&1 || fail "munged: $(cat "$scratch/log")"
cat >"$SLURM_CONF" <<C
ClusterName=lab
SlurmctldHost=lfc-0
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/run/munge.sock
CredType=cred/munge
PluginDir=$plugins
MpiDefault=none
MailProg=/bin/true
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool.%n
TmpFS=$scratch/tmp.%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.%n.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.%n.log
SlurmdParameters=config_overrides
NodeName=lfc-[0-2] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
C
echo "CgroupPlugin=cgroup/v1" >"$scratch/cgroup.conf"
on 0 slurmctld-wlm -i || fail "slurmctld: $(tail "$scratch/slurmctld.log")"
for host in 0 1 2; do
  mkdir "$scratch/spool.lfc-$host" "$scratch/tmp.lfc-$host"
  on $host slurmd-wlm -N lfc-$host -d "$slurm/usr/sbin/slurmstepd-wlm" || fail "slurmd: $(tail "$scratch/slurmd.lfc-$host.log")"
done
for ((tries = 0; tries < 240; ++tries)); do
  [[ $(on 0 sinfo -h -t idle -o %D 2>/dev/null) == 3 ]] && break
  sleep 0.5
done
((tries < 240)) || fail "the nodes are not idle: $(on 0 sinfo -N -l 2>&1; tail -n 3 "$scratch"/*.log)"

over_lfc() { # over_lfc OUTPUT: six ranks, some of them on different nodes
  [[ $(grep -c '^lfc-stats rank=' <<<"$1") == 6 ]] || fail "not over LFC: $1"
  grep -q '^lfc-stats rank=.*links=.*tcp:' <<<"$1" || fail "not between nodes: $1"
}

# --- sbatch and mpirun, which starts its daemons by srun ---
program=$LFC_BUILD/default/tests/mpi/mpi_ring
cat >"$scratch/job" <<C
#!/bin/bash
#SBATCH --nodes=3 --ntasks=6 --output=$scratch/batch.out
mpirun --mca pml ob1 --mca btl lfc --mca btl_lfc_stats 1 --mca oob_tcp_if_include eth0 $program
C
expect 0 'Submitted batch job' on 0 sbatch --wait "$scratch/job"
grep -qx ok "$scratch/batch.out" || fail "sbatch: $(tail -n 20 "$scratch/batch.out")"
over_lfc "$(cat "$scratch/batch.out")"

# --- srun ---
expect 0 pmix on 0 srun --mpi=list
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=lfc OMPI_MCA_btl_lfc_stats=1
expect 0 '^ok$' on 0 srun --mpi=pmix --nodes=3 --ntasks=6 "$program"
over_lfc "$output"
# One text for each node, although all its ranks have the same message.
expect 0 'unknown parameters are set' on 0 env OMPI_MCA_btl_lfc_interface=eth0 srun --mpi=pmix --nodes=3 --ntasks=6 "$program"
[[ $(grep -c 'unknown parameters are set' <<<"$output") == 3 ]] || fail "not one text for each node: $output"
echo "Slurm: sbatch with mpirun, and srun --mpi=pmix"
