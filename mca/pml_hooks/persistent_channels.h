/* Persistent requests on channels: Open MPI's part of it (common/services/channels/README.md has the argument).
 *
 * persistent_channels.c  hooks in calls of the PML and in arrivals for it; how the two sides of a channel are connected
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

/* The sender of a channel, one for each communicator, destination and tag. */
struct lfc_persistent_sender {
  struct lfc_persistent_sender* next;
  ompi_communicator_t* comm;
  uint64_t comm_key;
  int destination, tag;
  uint32_t peer;
  uint32_t wish;    /* the last one sent to the receiver */
  uint32_t channel; /* 0: none */
};

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
  int peer, tag;     /* the program's; of a receive may be MPI_ANY_... */
  uint32_t lfc_peer; /* of a receive */
  struct lfc_persistent_sender* sender;
  lfc_channel_receive* receive;
};

/* --- persistent_channels.c --- */

bool lfc_persistent_install(bool threads);
void lfc_persistent_remove(void);
/* The LFC peer with this rank, if it may have channels with us; else LFC_NO_PEER. */
uint32_t lfc_persistent_peer(ompi_communicator_t* comm, int rank);
struct lfc_persistent_sender* lfc_persistent_sender_of(ompi_communicator_t* comm, int destination,
                                                       int tag);
/* Installs the hooks in receives and arrivals. False: ob1 has no callback for messages, so that there is none to
 * hook. */
bool lfc_persistent_watch(void);
bool lfc_persistent_send(const struct lfc_persistent_sender* sender, const void* data, size_t size);
/* Offers the channel to the sender. */
void lfc_persistent_offer(void* request, uint32_t channel);

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
