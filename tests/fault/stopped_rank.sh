#!/usr/bin/env bash
# A rank that is stopped for some seconds (SIGSTOP) is not dead: the others wait, and the job ends well.
. "$(dirname "${BASH_SOURCE[0]}")/job.bash"

for links in loop,shm loop,tcp; do
  rm -f "$scratch/until"
  start_job 4 --mca btl lfc --mca btl_lfc_links "$links" mpi_random_traffic --events 1000000000 --until "$scratch/until" \
    --limit 600
  pid=$(pid_of_rank 1)
  await_line 'at work' || fail "the job does not get to work"
  kill -STOP "$pid" || fail "the job has ended before a rank was stopped"
  sleep 4
  kill -0 "$job_pid" 2>/dev/null || fail "the job ended while a rank was stopped"
  kill -CONT "$pid"
  touch "$scratch/until"
  end_job 90
  job_is_ok "with rank 1 stopped for 4 s"
  nothing_left
  echo "links $links: stopped for 4 s, done after $seconds s"
done
echo ok
