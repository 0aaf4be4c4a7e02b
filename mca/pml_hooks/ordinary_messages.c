/* Ordinary messages on channels. */
#include "ordinary_messages.h"

#include <stdlib.h>
#include <string.h>

#include "lfc/lfc.h"
#include "ob1.h"
#include "report.h"
#include "routes.h"

/* A receive. Its request is the program's. */
struct ordinary {
  enum lfc_persistent_kind kind; /* first, as in struct lfc_persistent */
  ompi_request_t request;
  lfc_channel_receive* receive;
  ompi_request_t* shadow;        /* NULL: not posted below, or it has ended there */
  bool freed;                    /* by the program, while the shadow waits */
  bool cancelled;                /* the shadow was, or could not be posted */
  ompi_communicator_t* retained; /* by this request; so is `type` */
  void* buffer; /* this and the next two: the program's arguments; the others are in `request` */
  size_t count;
  ompi_datatype_t* type;
  struct ordinary* next_spare;
  struct ordinary* next; /* of all that were made */
};

static struct { struct ordinary *spare, *all; } receives;

static struct ordinary* ordinary_of(ompi_request_t* request) {
  return (struct ordinary*)((char*)request - offsetof(struct ordinary, request));
}

/* --- Sends --- */

static inline bool send_now(const void* buffer, size_t count, const ompi_datatype_t* type,
                            const struct lfc_route* route, mca_pml_base_send_mode_t mode) {
  const size_t bytes = count * type->super.size;
  const bool able = bytes <= LFC_LONGEST_ON_CHANNEL && lfc_is_one_piece(type, count) &&
                    (mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY);
  if (able && lfc_channel_send(route->sender, (const char*)buffer + type->super.true_lb, bytes)) {
    ++lfc_sent.ordinary.by_channel;
    return true;
  }
  ++lfc_sent.ordinary.matched;
  if (able && lfc_route_is_closed(route)) lfc_routes_uncache(&lfc_send_routes, route->comm);
  return false;
}

/* Each call ends in a jump to another with as many arguments, so that a message without a route costs a look and a
 * jump. Where the route is known it takes the place of the peer. */

LFC_APART int isend_on(const void* buffer, size_t count, ompi_datatype_t* type,
                       const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                       ompi_communicator_t* comm, ompi_request_t** request) {
  if (!send_now(buffer, count, type, route, mode))
    return lfc_ob1.pml_isend(buffer, count, type, route->peer, tag, mode, comm, request);
  *request = &ompi_request_empty;
  return OMPI_SUCCESS;
}

LFC_APART int isend_first(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                          ompi_request_t** request) {
  const struct lfc_cached_route* const cached = lfc_search_route(&lfc_send_routes, comm, peer, tag);
  if (cached->route != NULL)
    return isend_on(buffer, count, type, cached->route, tag, mode, comm, request);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

static int ordinary_isend(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                          ompi_request_t** request) {
  const struct lfc_cached_route* const cached = lfc_cached_route(&lfc_send_routes, comm, peer, tag);
  if (!lfc_is_cached(cached, comm, peer, tag))
    return isend_first(buffer, count, type, peer, tag, mode, comm, request);
  if (cached->route != NULL)
    return isend_on(buffer, count, type, cached->route, tag, mode, comm, request);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

LFC_APART int send_on(const void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                      ompi_communicator_t* comm) {
  if (send_now(buffer, count, type, route, mode)) return OMPI_SUCCESS;
  return lfc_ob1.pml_send(buffer, count, type, route->peer, tag, mode, comm);
}

LFC_APART int send_first(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  const struct lfc_cached_route* const cached = lfc_search_route(&lfc_send_routes, comm, peer, tag);
  if (cached->route != NULL) return send_on(buffer, count, type, cached->route, tag, mode, comm);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_send(buffer, count, type, peer, tag, mode, comm);
}

static int ordinary_send(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  const struct lfc_cached_route* const cached = lfc_cached_route(&lfc_send_routes, comm, peer, tag);
  if (!lfc_is_cached(cached, comm, peer, tag))
    return send_first(buffer, count, type, peer, tag, mode, comm);
  if (cached->route != NULL) return send_on(buffer, count, type, cached->route, tag, mode, comm);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_send(buffer, count, type, peer, tag, mode, comm);
}

/* --- Receives --- */

static int cancel(ompi_request_t* request, int flag);

static struct ordinary* make(void) {
  struct ordinary* const made = calloc(1, sizeof *made);
  if (made == NULL || (made->receive = lfc_channel_make(made)) == NULL) {
    free(made);
    return NULL;
  }
  made->kind = LFC_ORDINARY_RECEIVE;
  OBJ_CONSTRUCT(&made->request, ompi_request_t);
  made->request.req_type = OMPI_REQUEST_PML;
  made->request.req_persistent = false;
  made->request.req_free = lfc_ordinary_free;
  made->request.req_cancel = cancel;
  made->next = receives.all;
  return receives.all = made;
}

/* Frees what the program's request holds. The communicator may go with it. */
static void recycle(struct ordinary* ordinary) {
  ompi_communicator_t* retained = ordinary->retained;
  OMPI_REQUEST_FINI(&ordinary->request);
  ordinary->next_spare = receives.spare;
  receives.spare = ordinary;
  if (retained == NULL) return;
  if (!ompi_datatype_is_predefined(ordinary->type)) OBJ_RELEASE(ordinary->type);
  OBJ_RELEASE(retained);
}

/* The communicator and the type may be freed before the request ends, unless they are predefined. */
static inline void retain(struct ordinary* ordinary, ompi_communicator_t* comm) {
  if (OMPI_COMM_IS_INTRINSIC(comm) && ompi_datatype_is_predefined(ordinary->type)) return;
  ordinary->retained = comm;
  OBJ_RETAIN(comm);
  if (!ompi_datatype_is_predefined(ordinary->type)) OBJ_RETAIN(ordinary->type);
}

/* Starts a receive, of which the arguments stay valid unless they are retained. NULL: memory is short. */
static inline __attribute__((always_inline)) struct ordinary* start(
    void* buffer, size_t count, ompi_datatype_t* type, const struct lfc_route* route, int tag,
    ompi_communicator_t* comm, bool outlives_call) {
  struct ordinary* ordinary = receives.spare;
  if (ordinary != NULL)
    receives.spare = ordinary->next_spare;
  else if ((ordinary = make()) == NULL)
    return NULL;
  ordinary->request.req_complete = REQUEST_PENDING;
  ordinary->request.req_complete_cb = NULL;
  ordinary->request.req_state = OMPI_REQUEST_ACTIVE;
  ordinary->request.req_mpi_object.comm = comm;
  ordinary->shadow = NULL;
  ordinary->request.req_status.MPI_SOURCE = route->peer;
  ordinary->request.req_status.MPI_TAG = tag;
  ordinary->freed = ordinary->cancelled = false;
  ordinary->retained = NULL;
  ordinary->buffer = buffer;
  ordinary->count = count;
  ordinary->type = type;
  if (outlives_call) retain(ordinary, comm);
  if (!lfc_channel_start_on(ordinary->receive, route->key, count * type->super.size,
                            lfc_is_one_piece(type, count)) &&
      lfc_channel_is_closed(route->key))
    lfc_routes_uncache(&lfc_receive_routes, comm);
  return ordinary;
}

LFC_APART int irecv_on(void* buffer, size_t count, ompi_datatype_t* type,
                       const struct lfc_route* route, int tag, ompi_communicator_t* comm,
                       ompi_request_t** request) {
  struct ordinary* const ordinary = start(buffer, count, type, route, tag, comm, true);
  if (ordinary == NULL)
    return lfc_persistent_other_irecv(buffer, count, type, route->peer, tag, comm, request);
  *request = &ordinary->request;
  return OMPI_SUCCESS;
}

LFC_APART int irecv_first(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  const struct lfc_route* const route =
      lfc_search_route(&lfc_receive_routes, comm, source, tag)->route;
  if (route != NULL) return irecv_on(buffer, count, type, route, tag, comm, request);
  return lfc_persistent_other_irecv(buffer, count, type, source, tag, comm, request);
}

static int ordinary_irecv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  const struct lfc_cached_route* const cached =
      lfc_cached_route(&lfc_receive_routes, comm, source, tag);
  if (!lfc_is_cached(cached, comm, source, tag))
    return irecv_first(buffer, count, type, source, tag, comm, request);
  if (cached->route != NULL)
    return irecv_on(buffer, count, type, cached->route, tag, comm, request);
  return lfc_persistent_other_irecv(buffer, count, type, source, tag, comm, request);
}

LFC_APART int recv_on(void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, ompi_communicator_t* comm,
                      ompi_status_public_t* status) {
  struct ordinary* const ordinary = start(buffer, count, type, route, tag, comm, false);
  if (ordinary == NULL)
    return lfc_persistent_other_recv(buffer, count, type, route->peer, tag, comm, status);
  while (!REQUEST_COMPLETE(&ordinary->request)) {
    lfc_persistent_drive(&ordinary->request);
    if (!REQUEST_COMPLETE(&ordinary->request)) opal_progress();
  }
  const int result = ordinary->request.req_status.MPI_ERROR;
  if (status != MPI_STATUS_IGNORE) *status = ordinary->request.req_status;
  recycle(ordinary);
  return result;
}

LFC_APART int recv_first(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_status_public_t* status) {
  const struct lfc_route* const route =
      lfc_search_route(&lfc_receive_routes, comm, source, tag)->route;
  if (route != NULL) return recv_on(buffer, count, type, route, tag, comm, status);
  return lfc_persistent_other_recv(buffer, count, type, source, tag, comm, status);
}

static int ordinary_recv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_status_public_t* status) {
  const struct lfc_cached_route* const cached =
      lfc_cached_route(&lfc_receive_routes, comm, source, tag);
  if (!lfc_is_cached(cached, comm, source, tag))
    return recv_first(buffer, count, type, source, tag, comm, status);
  if (cached->route != NULL) return recv_on(buffer, count, type, cached->route, tag, comm, status);
  return lfc_persistent_other_recv(buffer, count, type, source, tag, comm, status);
}

/* --- Functions of lfc_channel_host --- */

static int shadow_ended(ompi_request_t* shadow) {
  struct ordinary* const ordinary = shadow->req_complete_cb_data;
  const ompi_status_public_t status = shadow->req_status;
  ordinary->shadow = NULL;
  ordinary->cancelled = status._cancelled;
  lfc_channel_ended(ordinary->receive);
  shadow->req_free(&shadow);
  ordinary->request.req_status = status;
  if (ordinary->freed)
    recycle(ordinary);
  else
    (void)ompi_request_complete(&ordinary->request, true);
  return 1; /* the shadow is no more */
}

void lfc_ordinary_post(void* receive) {
  struct ordinary* const ordinary = receive;
  ompi_request_t* const program_request = &ordinary->request;
  const int status = lfc_ob1.pml_irecv(
      ordinary->buffer, ordinary->count, ordinary->type, program_request->req_status.MPI_SOURCE,
      program_request->req_status.MPI_TAG, program_request->req_mpi_object.comm, &ordinary->shadow);
  if (status == OMPI_SUCCESS) {
    (void)ompi_request_set_callback(ordinary->shadow, shadow_ended, ordinary);
    return;
  }
  ordinary->cancelled = true;
  ordinary->shadow = NULL;
  lfc_channel_ended(ordinary->receive);
  program_request->req_status = (ompi_status_public_t){.MPI_ERROR = status};
  (void)ompi_request_complete(program_request, true);
}

enum lfc_channel_outcome lfc_ordinary_outcome(const void* receive) {
  const struct ordinary* const ordinary = receive;
  if (ordinary->shadow != NULL) return LFC_CHANNEL_PENDING;
  return ordinary->cancelled ? LFC_CHANNEL_CANCELLED : LFC_CHANNEL_MATCHED;
}

void lfc_ordinary_done(void* receive, const void* bytes, size_t size) {
  struct ordinary* const ordinary = receive;
  if (size != 0) memcpy((char*)ordinary->buffer + ordinary->type->super.true_lb, bytes, size);
  lfc_persistent_complete(&ordinary->request, size);
}

/* --- Functions of the request --- */

static int cancel(ompi_request_t* request, int flag) {
  struct ordinary* const ordinary = ordinary_of(request);
  lfc_channel_yield(ordinary->receive);
  return ordinary->shadow == NULL ? OMPI_SUCCESS
                                  : ordinary->shadow->req_cancel(ordinary->shadow, flag);
}

int lfc_ordinary_free(ompi_request_t** request) {
  struct ordinary* const ordinary = ordinary_of(*request);
  *request = MPI_REQUEST_NULL;
  if (!REQUEST_COMPLETE(&ordinary->request)) {
    lfc_channel_yield(ordinary->receive);
    ordinary->freed = ordinary->shadow != NULL;
    if (ordinary->freed) return OMPI_SUCCESS;
  }
  recycle(ordinary);
  return OMPI_SUCCESS;
}

/* --- Begin and end --- */

void lfc_ordinary_install(void) {
  mca_pml.pml_isend = ordinary_isend;
  mca_pml.pml_send = ordinary_send;
  mca_pml.pml_irecv = ordinary_irecv;
  mca_pml.pml_recv = ordinary_recv;
}

void lfc_ordinary_remove(void) {
  while (receives.all != NULL) {
    struct ordinary* const next = receives.all->next;
    if (receives.all->shadow != NULL) receives.all->shadow->req_complete_cb = NULL;
    lfc_channel_unmake(receives.all->receive);
    OBJ_DESTRUCT(&receives.all->request);
    free(receives.all);
    receives.all = next;
  }
  memset(&receives, 0, sizeof receives);
}
