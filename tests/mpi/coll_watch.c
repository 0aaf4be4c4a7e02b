// While a rank waits long for its peers in collectives, it watches their processes. It uses one descriptor for each
// peer, for any number of communicators on which it waits.
#define _DEFAULT_SOURCE  // syscall
#include "check.h"
#include "process.h"

#include <sys/syscall.h>

static MPI_Comm local;  // the ranks of this host
static int neighbours;
static long pids[512];  // of `local`, valid at its rank 0

static void find_neighbours(void) {
  const long pid = getpid();
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &neighbours);
  require(neighbours <= (int)(sizeof pids / sizeof *pids), "too many ranks");
  MPI_Gather(&pid, 1, MPI_LONG, pids, 1, MPI_LONG, 0, local);
  --neighbours;
}

// Descriptors of processes that a process has open.
static int watches_of(long pid) {
  char path[64], file[512], target[64];
  snprintf(path, sizeof path, "/proc/%ld/fd", pid);
  DIR* directory = opendir(path);
  require(directory != NULL, "cannot list %s", path);
  int count = 0;
  for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    const ssize_t length = readlink(file, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    count += strstr(target, "pidfd") != NULL;
  }
  closedir(directory);
  return count;
}

static bool kernel_has_pidfd(void) {
  const long watch = syscall(SYS_pidfd_open, getpid(), 0);
  if (watch >= 0) close((int)watch);
  return watch >= 0;
}

// Returns when all other ranks of this host watch each other.
static void stay_away_until_watched(void) {
  for (int i = 1; i <= neighbours; ++i)
    while (watches_of(pids[i]) < neighbours) pause_seconds(0.01);
}

// The first of these waits opens the watches. A further one changes nothing that rank 0 could await.
// Rank 0 is then late by three periods of looks. On a loaded machine the test sees less, and does not fail.
static void wait_long(MPI_Comm comm, bool first) {
  doing("a barrier for which rank 0 is late");
  MPI_Barrier(comm);
  if (me == 0 && first && kernel_has_pidfd()) stay_away_until_watched();
  if (me == 0 && !first) pause_seconds(0.6);
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  enum { kCommunicators = 3 };
  MPI_Comm comms[kCommunicators];
  find_neighbours();
  wait_long(MPI_COMM_WORLD, true);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  const long before = count_entries("/proc/self/fd");
  for (int i = 0; i < kCommunicators; ++i) wait_long(comms[i], false);
  const long after = count_entries("/proc/self/fd");
  // If not all ranks are on one host, some may not have waited for long yet.
  require(after < before + ranks, "%ld descriptors, and %ld after %d communicators", before, after,
          kCommunicators);
  for (int i = 0; i < kCommunicators; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_free(&local);
  return check_end();
}
