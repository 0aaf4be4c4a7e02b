// The common parts of programs that go on without ranks that failed (mpirun --with-ft ulfm).
//
//   require_failed(MPI_Barrier(comm), MPI_ERR_REVOKED, "barrier");
//   MPI_Comm rest = shrink(comm);                         // revokes it first
//   use(rest);                                            // collectives and messages are right
//   end_of_survivors(rest);                               // rank 0 prints ok; without MPI_Finalize
#ifndef LFC_TESTS_ULFM_SURVIVORS_H
#define LFC_TESTS_ULFM_SURVIVORS_H

#include "check.h"

#include <mpi-ext.h>

static inline int class_of(int result) {
  int class = MPI_SUCCESS;
  MPI_Error_class(result, &class);
  return class;
}

// Whether the call has failed: with this class, or with MPI_ERR_REVOKED, if another rank was faster.
static inline bool has_failed(int result, int class, const char* of) {
  const int seen = class_of(result);
  require(seen == MPI_SUCCESS || seen == class || seen == MPI_ERR_REVOKED,
          "%s: error class %d, not %d or %d", of, seen, class, MPI_ERR_REVOKED);
  return seen != MPI_SUCCESS;
}

static inline void require_failed(int result, int class, const char* of) {
  require(has_failed(result, class, of), "%s has not failed", of);
}

static inline MPI_Comm shrink(MPI_Comm comm) {
  MPI_Comm rest = MPI_COMM_NULL;
  doing("revoke");
  MPIX_Comm_revoke(comm);
  doing("shrink");
  require(MPIX_Comm_shrink(comm, &rest) == MPI_SUCCESS, "shrink has failed");
  MPI_Comm_set_errhandler(rest, MPI_ERRORS_RETURN);
  return rest;
}

// Collectives in their three forms, and messages in a ring.
static inline void use(MPI_Comm comm) {
  int rank, size, sum = 0, got = -1, bytes[1000] = {0};
  MPI_Request request, again;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  require(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &again) ==
              MPI_SUCCESS,
          "no persistent request");
  for (int round = 0; round < 20; ++round) {
    doing("round %d among %d ranks", round, size);
    sum = 0;
    const int own = rank + round;
    require(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "allreduce");
    require(sum == size * round + size * (size - 1) / 2, "the sum is %d", sum);
    for (int i = 0; rank == round % size && i < 1000; ++i) bytes[i] = round + i;
    require(MPI_Ibcast(bytes, 1000, MPI_INT, round % size, comm, &request) == MPI_SUCCESS, "bcast");
    require(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "bcast");
    for (int i = 0; i < 1000; ++i) require(bytes[i] == round + i, "bcast: element %d", i);
    sum = 0;
    MPI_Start(&again);
    require(MPI_Wait(&again, MPI_STATUS_IGNORE) == MPI_SUCCESS, "persistent allreduce");
    require(sum == size * (size - 1) / 2, "the persistent sum is %d", sum);
    require(MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT,
                         (rank + size - 1) % size, 7, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "message");
    require(got == (rank + size - 1) % size + round, "message: %d", got);
    require(MPI_Barrier(comm) == MPI_SUCCESS, "barrier");
  }
  MPI_Request_free(&again);
}

// Rank 0 ends last. Open MPI 5.0.7 sometimes does not end MPI_Finalize after a failure, over any transport.
static inline void end_of_survivors(MPI_Comm rest) {
  int rank, size, done = 1;
  MPI_Comm_rank(rest, &rank);
  MPI_Comm_size(rest, &size);
  doing("the end");
  if (rank != 0) {
    MPI_Send(&done, 1, MPI_INT, 0, 9, rest);
    MPI_Recv(&done, 1, MPI_INT, 0, 9, rest, MPI_STATUS_IGNORE);
    _exit(0);
  }
  for (int i = 1; i < size; ++i) MPI_Recv(&done, 1, MPI_INT, i, 9, rest, MPI_STATUS_IGNORE);
  printf("ok\n");
  fflush(stdout);
  for (int i = 1; i < size; ++i) MPI_Send(&done, 1, MPI_INT, i, 9, rest);
  pause_seconds(0.2);
  _exit(0);
}

#endif
