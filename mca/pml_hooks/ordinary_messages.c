/* Ordinary messages on channels. */
#include "ordinary_messages.h"

#include <stdlib.h>
#include <string.h>

#include "lfc/lfc.h"
#include "ob1.h"
#include "observer.h"
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

LFC_APART int isend_on(const void* buffer, size_t count, ompi_datatype_t* type,
                       const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                       ompi_communicator_t* comm, ompi_request_t** request) {
  if (!send_now(buffer, count, type, route, mode))
    return lfc_ob1.pml_isend(buffer, count, type, route->peer, tag, mode, comm, request);
  *request = &ompi_request_empty;
  return OMPI_SUCCESS;
}

LFC_APART int send_on(const void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, mca_pml_base_send_mode_t mode,
                      ompi_communicator_t* comm) {
  if (send_now(buffer, count, type, route, mode)) return OMPI_SUCCESS;
  return lfc_ob1.pml_send(buffer, count, type, route->peer, tag, mode, comm);
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
    return lfc_irecv_by_ob1(buffer, count, type, route->peer, tag, comm, request);
  *request = &ordinary->request;
  return OMPI_SUCCESS;
}

LFC_APART int recv_on(void* buffer, size_t count, ompi_datatype_t* type,
                      const struct lfc_route* route, int tag, ompi_communicator_t* comm,
                      ompi_status_public_t* status) {
  struct ordinary* const ordinary = start(buffer, count, type, route, tag, comm, false);
  if (ordinary == NULL) return lfc_recv_by_ob1(buffer, count, type, route->peer, tag, comm, status);
  while (!REQUEST_COMPLETE(&ordinary->request)) {
    lfc_persistent_drive(&ordinary->request);
    if (!REQUEST_COMPLETE(&ordinary->request)) opal_progress();
  }
  const int result = ordinary->request.req_status.MPI_ERROR;
  if (status != MPI_STATUS_IGNORE) *status = ordinary->request.req_status;
  recycle(ordinary);
  return result;
}

/* --- The route of an ordinary message --- */

#define LFC_LIST(...) __VA_ARGS__

/* The end of both functions below: NAME_on() for a message that has a route, else `by_ob1`. */
#define LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments)                       \
  if (cached->route != NULL)                                                  \
    return name##_on(buffer, count, type, cached->route, LFC_LIST arguments); \
  note;                                                                       \
  return by_ob1(buffer, count, type, peer, LFC_LIST arguments)

/* Makes the PML's call call_NAME(), for a buffer of `memory`, by routes of the table `routes`. `parameters` and
 * `arguments` are in parentheses: those behind the peer. `note` is executed before `by_ob1`.
 *
 * Each function ends in a jump to another one with as many arguments, so that a message without a route costs a look
 * and a jump. That is why NAME_on() gets the route in the place of the peer, and search_NAME() is a function of its
 * own. */
#define LFC_CALL_BY_ROUTE(name, memory, routes, note, by_ob1, parameters, arguments)            \
  LFC_APART int search_##name(memory* buffer, size_t count, ompi_datatype_t* type, int peer,    \
                              LFC_LIST parameters) {                                            \
    const struct lfc_cached_route* const cached = lfc_search_route(&(routes), comm, peer, tag); \
    LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments);                                            \
  }                                                                                             \
  static int call_##name(memory* buffer, size_t count, ompi_datatype_t* type, int peer,         \
                         LFC_LIST parameters) {                                                 \
    const struct lfc_cached_route* const cached = lfc_cached_route(&(routes), comm, peer, tag); \
    if (!lfc_is_cached(cached, comm, peer, tag))                                                \
      return search_##name(buffer, count, type, peer, LFC_LIST arguments);                      \
    LFC_FOLLOW_ROUTE(name, note, by_ob1, arguments);                                            \
  }

/* Messages of a planned channel that was closed count in the report. */
#define LFC_COUNT_MATCHED lfc_sent.ordinary.matched += cached->closed

LFC_CALL_BY_ROUTE(isend, const void, lfc_send_routes, LFC_COUNT_MATCHED, lfc_ob1.pml_isend,
                  (int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                   ompi_request_t** request),
                  (tag, mode, comm, request))
LFC_CALL_BY_ROUTE(send, const void, lfc_send_routes, LFC_COUNT_MATCHED, lfc_ob1.pml_send,
                  (int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm),
                  (tag, mode, comm))
LFC_CALL_BY_ROUTE(irecv, void, lfc_receive_routes, (void)0, lfc_irecv_by_ob1,
                  (int tag, ompi_communicator_t* comm, ompi_request_t** request),
                  (tag, comm, request))
LFC_CALL_BY_ROUTE(recv, void, lfc_receive_routes, (void)0, lfc_recv_by_ob1,
                  (int tag, ompi_communicator_t* comm, ompi_status_public_t* status),
                  (tag, comm, status))

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
  mca_pml.pml_isend = call_isend;
  mca_pml.pml_send = call_send;
  mca_pml.pml_irecv = call_irecv;
  mca_pml.pml_recv = call_recv;
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
