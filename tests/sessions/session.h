// A communicator of all ranks out of a separate session, for programs that have not called MPI_Init.
//
//   watch(argv);
//   struct session session = open_session("turn 0");
//   MPI_Barrier(session.comm);
//   close_session(&session);
#ifndef LFC_TESTS_SESSION_H
#define LFC_TESTS_SESSION_H

#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

struct session {
  MPI_Session handle;
  MPI_Comm comm;
};

// The watchdog, which check_start() sets in programs that call MPI_Init.
static inline void watch(char** argv) {
  const char* slash = strrchr(argv[0], '/');
  snprintf(program_name, sizeof program_name, "%s", slash != NULL ? slash + 1 : argv[0]);
  signal(SIGALRM, on_alarm);
  alarm(watchdog_seconds(0));
}

static inline struct session open_session(const char* tag) {
  struct session made;
  MPI_Group group;
  doing("MPI_Session_init, %s", tag);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made.handle);
  MPI_Group_from_session_pset(made.handle, "mpi://WORLD", &group);
  doing("MPI_Comm_create_from_group, %s", tag);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made.comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(made.comm, &me);
  MPI_Comm_size(made.comm, &ranks);
  return made;
}

// Returns a count in memory that all ranks of the job share; the ranks are on one node.
static inline _Atomic int* shared_count(void) {
  char path[200];
  const char* const job = getenv("PMIX_NAMESPACE");
  require(job != NULL, "PMIX_NAMESPACE is not set: start this program with mpirun");
  snprintf(path, sizeof path, "/dev/shm/lfc_sessions.%s", job);
  const int file = open(path, O_CREAT | O_RDWR, 0600);
  require(file >= 0 && ftruncate(file, sizeof(_Atomic int)) == 0, "cannot make %s", path);
  _Atomic int* const count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  require(count != MAP_FAILED, "cannot map %s", path);
  close(file);
  if (atomic_fetch_add(count, 1) == ranks - 1) unlink(path);
  while (atomic_load(count) < ranks) sched_yield();
  return count;
}

// Waits, without MPI, until all ranks have closed their sessions. The PMIx server can take a rank that is still closing
// its last session out of the fence of the next one: that fence then ends too early, and MPI_Session_init or the first
// message hangs with any component (openpmix issue 3931).
static inline void wait_until_all_are_closed(void) {
  static _Atomic int* count;
  static int wanted;
  if (count == NULL) {
    count = shared_count();
    wanted = ranks;
  }
  wanted += ranks;
  atomic_fetch_add(count, 1);
  while (atomic_load(count) < wanted) sched_yield();
}

// All ranks call it.
static inline void close_session(struct session* session) {
  doing("MPI_Session_finalize");
  MPI_Comm_free(&session->comm);
  MPI_Session_finalize(&session->handle);
  doing("wait until all ranks have closed their sessions");
  wait_until_all_are_closed();
}

#endif
