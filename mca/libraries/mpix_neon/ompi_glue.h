/* ompi_glue: functions of Open MPI beyond MPI for libmpix_neon: requests of its own, a progress callback, the pieces
 * of a datatype. C++ passes in objects; this file makes no decisions.
 *
 *   static const lfc_request_hooks hooks = {start, freed};
 *   MPI_Request request = lfc_request_new(object, &hooks, 1, comm);
 *   lfc_request_complete(request, MPI_SUCCESS, source, bytes);
 */
#ifndef LFC_NEON_OMPI_GLUE_H
#define LFC_NEON_OMPI_GLUE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the running Open MPI is of the series this was compiled for. */
int lfc_glue_fits(void);

typedef struct lfc_request_hooks {
  /* MPI_Start of an inactive request (`active`: it is not, an error): returns an MPI error code, which
   * it has reported. */
  int (*start)(void* object, int active);
  /* MPI_Request_free, or MPI is done with it: returns 1 if the request may end now, or 0 and calls
   * lfc_request_end() later. */
  int (*freed)(void* object);
} lfc_request_hooks;

/* A request; persistent ones are inactive, others pending. An error that it completes with goes to the
 * error handler of `comm`. */
MPI_Request lfc_request_new(void* object, const lfc_request_hooks* hooks, int persistent,
                            MPI_Comm comm);
/* From now on errors go to `comm`. */
void lfc_request_move(MPI_Request request, MPI_Comm comm);
/* The object behind a request of ours with these hooks; null for any other. */
void* lfc_request_object(MPI_Request request, const lfc_request_hooks* hooks);
void lfc_request_complete(MPI_Request request, int error, int source, uint64_t bytes);
void lfc_request_end(MPI_Request request);
/* A request that is complete from the beginning, for any number of uses. */
MPI_Request lfc_request_finished(void);
/* Whether a request has completed; without progress. */
int lfc_request_is_complete(MPI_Request request);
/* As MPI_Start, whose errors Open MPI 5 reports to MPI_COMM_WORLD as well. */
int lfc_request_start(MPI_Request* request);

/* The function of Open MPI's that frees a window's memory. */
typedef int (*lfc_window_free)(MPI_Win win);
/* Lets MPI_Win_free call `instead`, which calls the former function. Returns that one. */
lfc_window_free lfc_set_window_free(MPI_Win win, lfc_window_free instead);

/* Whether there is an MPI_COMM_WORLD: not in a program that has only MPI sessions. */
int lfc_has_world(void);
/* Returns the communicator for errors that belong to no object. */
MPI_Comm lfc_errors_comm(void);
/* Collective over the group, without MPI_COMM_WORLD. Calls at the same time have different tags. MPI_COMM_NULL: it has
 * failed. */
MPI_Comm lfc_comm_of_group(MPI_Group group, const char* tag);
/* Calls `end` once, when MPI has ended. A program of sessions may start MPI again. */
void lfc_at_end(void (*end)(void));

void lfc_progress_add(int (*poll)(void));
void lfc_progress_remove(int (*poll)(void));
/* Runs one pass of Open MPI's progress. */
void lfc_progress(void);

/* Calls piece(offset, size) for the contiguous pieces of `count` items, in order. */
void lfc_pieces(MPI_Datatype type, int count, void (*piece)(void*, ptrdiff_t, size_t),
                void* context);
/* The bytes of `count` items if they are one piece that begins at offset 0, in order; else -1. */
int64_t lfc_contiguous_bytes(MPI_Datatype type, int count);

#ifdef __cplusplus
}
#endif

#endif
