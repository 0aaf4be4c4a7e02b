/* Ordinary messages on channels. */
#include "ordinary_messages.h"

#include <stdlib.h>
#include <string.h>

#include "communicator_names.h"
#include "lfc/lfc.h"
#include "ob1.h"
#include "report.h"

/* Routes that are found at once; buckets of all; most routes of a process. */
enum { kCachedRoutes = 256, kBuckets = 1024, kMostRoutes = 4096 };
enum { kNumbers = 65536 }; /* of communicators, in ob1 */

/* The way of all messages of one communicator, peer and tag in one direction. */
struct route {
  struct route* next; /* in its bucket */
  const ompi_communicator_t* comm;
  int peer, tag;
  lfc_channel_sender* sender; /* one of the two */
  lfc_channel_key* key;
};
/* `route` NULL: such messages go below. */
struct cached_route {
  const ompi_communicator_t* comm;
  int peer, tag;
  struct route* route;
  bool closed; /* there is a route, which is closed */
};
struct routes {
  struct cached_route cached[kCachedRoutes];
  struct route* buckets[kBuckets];
};

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

static struct {
  struct routes sends, receives;
  unsigned routes;     /* in both */
  bool seen[kNumbers]; /* communicators that may have some; most have none, and end at once */
  struct ordinary *spare, *all;
} ordinary_state;

static struct ordinary* ordinary_of(ompi_request_t* request) {
  return (struct ordinary*)((char*)request - offsetof(struct ordinary, request));
}

/* --- Routes --- */

static unsigned mixed(const ompi_communicator_t* comm, int peer, int tag) {
  return (unsigned)((uintptr_t)comm >> 6) + (unsigned)peer * 7u + (unsigned)tag;
}

/* Whether the plan has it, and the two processes can have a channel. The first route of a receive begins to observe the
 * arrivals for ob1. */
static bool make_route(const struct routes* routes, ompi_communicator_t* comm, int peer, int tag,
                       struct route* route) {
  struct lfc_channel_end end;
  const bool sends = routes == &ordinary_state.sends;
  const int self = ompi_comm_rank(comm);
  if (!lfc_persistent_end(comm, peer, tag, &end) ||
      !lfc_plan_names(lfc_name_of(comm), lfc_world_rank(comm, sends ? self : peer),
                      lfc_world_rank(comm, sends ? peer : self), tag) ||
      (!sends && !lfc_persistent_watch()))
    return false;
  *route = (struct route){.comm = comm, .peer = peer, .tag = tag};
  if (sends)
    route->sender = lfc_channel_sender_of(&end);
  else
    route->key = lfc_channel_pin(&end, lfc_persistent_gain_us(comm, peer, tag));
  return route->sender != NULL || route->key != NULL;
}

/* Whether its messages go below for good. */
static bool is_closed(const struct route* route) {
  return route->key != NULL ? lfc_channel_is_closed(route->key)
                            : lfc_channel_is_refused(route->sender);
}

static struct route* look_up(struct routes* routes, ompi_communicator_t* comm, int peer, int tag) {
  struct route** const bucket = &routes->buckets[mixed(comm, peer, tag) % kBuckets];
  for (struct route* each = *bucket; each != NULL; each = each->next)
    if (each->comm == comm && each->peer == peer && each->tag == tag) return each;
  struct route route;
  if (ordinary_state.routes == kMostRoutes || !make_route(routes, comm, peer, tag, &route))
    return NULL;
  struct route* const made = malloc(sizeof *made);
  if (made == NULL) return NULL; /* its end stays, unused, until the communicator is freed */
  ++ordinary_state.routes;
  *made = route;
  made->next = *bucket;
  *bucket = made;
  return made;
}

static inline const struct cached_route* cached_route_of(const struct routes* routes,
                                                         const ompi_communicator_t* comm, int peer,
                                                         int tag) {
  return &routes->cached[mixed(comm, peer, tag) % kCachedRoutes];
}

static inline bool is_known(const struct cached_route* cached, const ompi_communicator_t* comm,
                            int peer, int tag) {
  return cached->comm == comm && cached->peer == peer && cached->tag == tag;
}

/* Its `route` NULL: ob1's way. */
LFC_APART const struct cached_route* cache_route(struct routes* routes, ompi_communicator_t* comm,
                                                 int peer, int tag) {
  static const struct cached_route no_route;
  if (peer < 0 || tag < 0) return &no_route;
  ordinary_state.seen[lfc_communicator_index(comm) % kNumbers] = true;
  struct route* const found = look_up(routes, comm, peer, tag);
  const bool closed = found != NULL && is_closed(found);
  struct cached_route* const cached = &routes->cached[mixed(comm, peer, tag) % kCachedRoutes];
  *cached = (struct cached_route){comm, peer, tag, closed ? NULL : found, closed};
  return cached;
}

static void drop_cached_routes(struct routes* routes, const ompi_communicator_t* comm) {
  for (unsigned i = 0; i < kCachedRoutes; ++i)
    if (comm == NULL || routes->cached[i].comm == comm) routes->cached[i].comm = NULL;
}

/* `comm` NULL: of all communicators. Their channels end otherwise. */
static void drop_routes(struct routes* routes, const ompi_communicator_t* comm) {
  drop_cached_routes(routes, comm);
  for (unsigned i = 0; i < kBuckets; ++i)
    for (struct route** at = &routes->buckets[i]; *at != NULL;) {
      struct route* const each = *at;
      if (comm != NULL && each->comm != comm) {
        at = &each->next;
        continue;
      }
      if (comm != NULL && each->sender != NULL) lfc_channel_leave(each->sender);
      *at = each->next;
      free(each);
      --ordinary_state.routes;
    }
}

void lfc_ordinary_forget(const ompi_communicator_t* comm) {
  bool* const seen = &ordinary_state.seen[lfc_communicator_index(comm) % kNumbers];
  if (!*seen) return;
  *seen = false;
  drop_routes(&ordinary_state.sends, comm);
  drop_routes(&ordinary_state.receives, comm);
}

/* --- Sends --- */

static inline bool send_now(const void* buffer, size_t count, const ompi_datatype_t* type,
                            const struct route* route, mca_pml_base_send_mode_t mode) {
  const size_t bytes = count * type->super.size;
  const bool able = bytes <= LFC_LONGEST_ON_CHANNEL && lfc_is_one_piece(type, count) &&
                    (mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY);
  if (able && lfc_channel_send(route->sender, (const char*)buffer + type->super.true_lb, bytes)) {
    ++lfc_sent.ordinary.by_channel;
    return true;
  }
  ++lfc_sent.ordinary.matched;
  if (able && is_closed(route)) drop_cached_routes(&ordinary_state.sends, route->comm);
  return false;
}

/* Each call ends in a jump to another with as many arguments, so that a message without a route costs a look and a
 * jump. Where the route is known it takes the place of the peer. */

LFC_APART int isend_on(const void* buffer, size_t count, ompi_datatype_t* type,
                       const struct route* route, int tag, mca_pml_base_send_mode_t mode,
                       ompi_communicator_t* comm, ompi_request_t** request) {
  if (!send_now(buffer, count, type, route, mode))
    return lfc_ob1.pml_isend(buffer, count, type, route->peer, tag, mode, comm, request);
  *request = &ompi_request_empty;
  return OMPI_SUCCESS;
}

LFC_APART int isend_first(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                          ompi_request_t** request) {
  const struct cached_route* const cached = cache_route(&ordinary_state.sends, comm, peer, tag);
  if (cached->route != NULL)
    return isend_on(buffer, count, type, cached->route, tag, mode, comm, request);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

static int ordinary_isend(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                          ompi_request_t** request) {
  const struct cached_route* const cached = cached_route_of(&ordinary_state.sends, comm, peer, tag);
  if (!is_known(cached, comm, peer, tag))
    return isend_first(buffer, count, type, peer, tag, mode, comm, request);
  if (cached->route != NULL)
    return isend_on(buffer, count, type, cached->route, tag, mode, comm, request);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

LFC_APART int send_on(const void* buffer, size_t count, ompi_datatype_t* type,
                      const struct route* route, int tag, mca_pml_base_send_mode_t mode,
                      ompi_communicator_t* comm) {
  if (send_now(buffer, count, type, route, mode)) return OMPI_SUCCESS;
  return lfc_ob1.pml_send(buffer, count, type, route->peer, tag, mode, comm);
}

LFC_APART int send_first(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  const struct cached_route* const cached = cache_route(&ordinary_state.sends, comm, peer, tag);
  if (cached->route != NULL) return send_on(buffer, count, type, cached->route, tag, mode, comm);
  lfc_sent.ordinary.matched += cached->closed;
  return lfc_ob1.pml_send(buffer, count, type, peer, tag, mode, comm);
}

static int ordinary_send(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                         mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  const struct cached_route* const cached = cached_route_of(&ordinary_state.sends, comm, peer, tag);
  if (!is_known(cached, comm, peer, tag))
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
  made->next = ordinary_state.all;
  return ordinary_state.all = made;
}

/* Frees what the program's request holds. The communicator may go with it. */
static void recycle(struct ordinary* ordinary) {
  ompi_communicator_t* retained = ordinary->retained;
  OMPI_REQUEST_FINI(&ordinary->request);
  ordinary->next_spare = ordinary_state.spare;
  ordinary_state.spare = ordinary;
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
    void* buffer, size_t count, ompi_datatype_t* type, const struct route* route, int tag,
    ompi_communicator_t* comm, bool outlives_call) {
  struct ordinary* ordinary = ordinary_state.spare;
  if (ordinary != NULL)
    ordinary_state.spare = ordinary->next_spare;
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
    drop_cached_routes(&ordinary_state.receives, comm);
  return ordinary;
}

LFC_APART int irecv_on(void* buffer, size_t count, ompi_datatype_t* type, const struct route* route,
                       int tag, ompi_communicator_t* comm, ompi_request_t** request) {
  struct ordinary* const ordinary = start(buffer, count, type, route, tag, comm, true);
  if (ordinary == NULL)
    return lfc_persistent_other_irecv(buffer, count, type, route->peer, tag, comm, request);
  *request = &ordinary->request;
  return OMPI_SUCCESS;
}

LFC_APART int irecv_first(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  const struct route* const route = cache_route(&ordinary_state.receives, comm, source, tag)->route;
  if (route != NULL) return irecv_on(buffer, count, type, route, tag, comm, request);
  return lfc_persistent_other_irecv(buffer, count, type, source, tag, comm, request);
}

static int ordinary_irecv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  const struct cached_route* const cached =
      cached_route_of(&ordinary_state.receives, comm, source, tag);
  if (!is_known(cached, comm, source, tag))
    return irecv_first(buffer, count, type, source, tag, comm, request);
  if (cached->route != NULL)
    return irecv_on(buffer, count, type, cached->route, tag, comm, request);
  return lfc_persistent_other_irecv(buffer, count, type, source, tag, comm, request);
}

LFC_APART int recv_on(void* buffer, size_t count, ompi_datatype_t* type, const struct route* route,
                      int tag, ompi_communicator_t* comm, ompi_status_public_t* status) {
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
  const struct route* const route = cache_route(&ordinary_state.receives, comm, source, tag)->route;
  if (route != NULL) return recv_on(buffer, count, type, route, tag, comm, status);
  return lfc_persistent_other_recv(buffer, count, type, source, tag, comm, status);
}

static int ordinary_recv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_status_public_t* status) {
  const struct cached_route* const cached =
      cached_route_of(&ordinary_state.receives, comm, source, tag);
  if (!is_known(cached, comm, source, tag))
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
  drop_routes(&ordinary_state.sends, NULL);
  drop_routes(&ordinary_state.receives, NULL);
  while (ordinary_state.all != NULL) {
    struct ordinary* const next = ordinary_state.all->next;
    if (ordinary_state.all->shadow != NULL) ordinary_state.all->shadow->req_complete_cb = NULL;
    lfc_channel_unmake(ordinary_state.all->receive);
    OBJ_DESTRUCT(&ordinary_state.all->request);
    free(ordinary_state.all);
    ordinary_state.all = next;
  }
  memset(&ordinary_state, 0, sizeof ordinary_state);
}
