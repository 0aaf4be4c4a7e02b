// A communicator of all ranks out of a separate session, for programs that have not called MPI_Init.
//
//   watch(argv);
//   struct session session = open_session("turn 0");
//   MPI_Barrier(session.comm);
//   close_session(&session);
#ifndef LFC_TESTS_SESSION_H
#define LFC_TESTS_SESSION_H

#include "check.h"

struct session {
  MPI_Session handle;
  MPI_Comm comm;
};

// The watchdog, which check_start() sets in programs that call MPI_Init.
static inline void watch(char** argv) {
  const char* slash = strrchr(argv[0], '/');
  snprintf(program_name, sizeof program_name, "%s", slash != NULL ? slash + 1 : argv[0]);
  signal(SIGALRM, on_alarm);
  alarm(watchdog_seconds());
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

static inline void close_session(struct session* session) {
  doing("MPI_Session_finalize");
  MPI_Comm_free(&session->comm);
  MPI_Session_finalize(&session->handle);
}

#endif
