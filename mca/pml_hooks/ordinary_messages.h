/* Ordinary messages on channels: those of MPI_Send, MPI_Isend, MPI_Recv and MPI_Irecv whose keys the plan names.
 *
 *   lfc_ordinary_install();           // with the other hooks of lfc_channel_hooks_install()
 *   lfc_ordinary_remove();            // at close
 *
 * A receive that a channel may serve is a request of LFC's. If it has to go below, ob1 receives into the same buffer by
 * a request of its own, the *shadow*, whose end ends LFC's.
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_ORDINARY_MESSAGES_H
#define LFC_ORDINARY_MESSAGES_H

#include "persistent_requests.h"

/* Replaces the PML's calls for sends and receives. */
void lfc_ordinary_install(void);
void lfc_ordinary_remove(void);
/* Whether the request is such a receive. */
static inline bool lfc_is_ordinary(const ompi_request_t* request);
/* Ends a wait for it: frees it. */
int lfc_ordinary_free(ompi_request_t** request);

/* The functions of lfc_channel_host for such receives. */
void lfc_ordinary_post(void* receive);
enum lfc_channel_outcome lfc_ordinary_outcome(const void* receive);
void lfc_ordinary_done(void* receive, const void* bytes, size_t size);

static inline bool lfc_is_ordinary(const ompi_request_t* request) {
  return request->req_free == lfc_ordinary_free;
}

#endif
