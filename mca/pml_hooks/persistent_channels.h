/* Persistent requests on channels: Open MPI's part of it (common/services/channels/README.md has the argument).
 *
 * persistent_channels.c  hooks in calls of the PML and in arrivals for it
 * persistent_requests.c  persistent requests: ob1's own, of which LFC replaces start, free and cancel
 *
 *   lfc_persistent_install(threads);     // at init_query: hooks the calls for persistent requests
 *   lfc_persistent_remove();             // at close
 *
 * Only over ob1, in programs with one thread. The first persistent receive that could have a channel installs the other
 * hooks (lfc_persistent_watch()); programs without such a receive execute no further instruction.
 */
#ifndef LFC_PERSISTENT_CHANNELS_H
#define LFC_PERSISTENT_CHANNELS_H

#include "communicator_key.h"
#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

enum lfc_persistent_kind { LFC_PERSISTENT_SEND, LFC_PERSISTENT_RECEIVE, LFC_PERSISTENT_OTHER };

/* A persistent request. */
struct lfc_persistent {
  struct lfc_persistent *next, **link; /* in the list of all; the pointer to this one */
  ompi_request_t* request;
  enum lfc_persistent_kind kind;
  ompi_request_start_fn_t start; /* ob1's */
  ompi_request_free_fn_t release;
  ompi_request_cancel_fn_t cancel;
  ompi_communicator_t* comm;
  void* address;
  size_t bytes;
  int peer, tag; /* the program's; of a receive may be MPI_ANY_... */
  lfc_channel_sender* sender;
  lfc_channel_receive* receive;
};

/* --- persistent_channels.c --- */

bool lfc_persistent_install(bool threads);
void lfc_persistent_remove(void);
/* Sets this process's end of the channel for messages of this tag from or to this rank. False: there can be none. */
bool lfc_persistent_end(ompi_communicator_t* comm, int rank, int tag, struct lfc_channel_end* end);
/* Installs the hooks in receives and arrivals. False: ob1 has no callback for messages, so that there is none to
 * hook. */
bool lfc_persistent_watch(void);

/* --- persistent_requests.c --- */

/* Installs waits that drive LFC before the rest of Open MPI. */
void lfc_persistent_requests_watch(void);
void lfc_persistent_requests_close(void);
int lfc_persistent_isend_init(const void* buffer, size_t count, ompi_datatype_t* type,
                              int destination, int tag, mca_pml_base_send_mode_t mode,
                              ompi_communicator_t* comm, ompi_request_t** request);
int lfc_persistent_irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int source,
                              int tag, ompi_communicator_t* comm, ompi_request_t** request);
int lfc_persistent_start(size_t count, ompi_request_t** requests);
/* The functions of lfc_channel_host for requests. */
void lfc_persistent_post(void* request);
enum lfc_channel_outcome lfc_persistent_outcome(void* request);
void lfc_persistent_done(void* request, const void* bytes, size_t size);

#endif
