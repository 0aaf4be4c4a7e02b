/* Persistent requests on channels: ob1's own requests, which ob1 does not see started while a channel serves them. */
#include "tailored.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/base/pml_base_request.h"

#if LFC_HAS_CHANNELS

/* Of longer messages the matching is no longer what costs. */
enum { kLongest = 4096 };

/* Requests by address: open addressing, at most half full. */
static struct {
  struct lfc_tailored** slots;
  size_t size, used; /* size: a power of two */
} table;

static size_t slot_of(const ompi_request_t* request) {
  return (size_t)(((uint64_t)(uintptr_t)request >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
         (table.size - 1);
}

static struct lfc_tailored* find(const ompi_request_t* request) {
  for (size_t at = slot_of(request);; at = (at + 1) & (table.size - 1)) {
    struct lfc_tailored* found = table.slots[at];
    if (found == NULL || found->request == request) return found;
  }
}

static void put(struct lfc_tailored* tailored) {
  size_t at = slot_of(tailored->request);
  while (table.slots[at] != NULL) at = (at + 1) & (table.size - 1);
  table.slots[at] = tailored;
}

static bool grow(void) {
  const size_t old_size = table.size;
  struct lfc_tailored** const old = table.slots;
  const size_t size = old_size == 0 ? 64 : 2 * old_size;
  struct lfc_tailored** const slots = calloc(size, sizeof *slots);
  if (slots == NULL) return false;
  table.slots = slots;
  table.size = size;
  for (size_t i = 0; i < old_size; ++i)
    if (old[i] != NULL) put(old[i]);
  free(old);
  return true;
}

static void take_out(struct lfc_tailored* tailored) {
  size_t at = slot_of(tailored->request);
  while (table.slots[at] != tailored) at = (at + 1) & (table.size - 1);
  table.slots[at] = NULL;
  --table.used;
  /* Those behind it may have been put there because it stood in their way. */
  for (at = (at + 1) & (table.size - 1); table.slots[at] != NULL;
       at = (at + 1) & (table.size - 1)) {
    struct lfc_tailored* next = table.slots[at];
    table.slots[at] = NULL;
    put(next);
  }
}

bool lfc_tailored_requests_open(void) { return table.slots != NULL || grow(); }

void lfc_tailored_requests_close(void) {
  for (size_t i = 0; i < table.size; ++i) free(table.slots[i]);
  free(table.slots);
  table.slots = NULL;
  table.size = table.used = 0;
}

/* --- What ob1 is asked --- */

static int release(ompi_request_t** request);
static int cancel(ompi_request_t* request, int flag);

static void take_over(struct lfc_tailored* tailored, ompi_request_t* request) {
  tailored->request = request;
  tailored->start = request->req_start;
  tailored->release = request->req_free;
  tailored->cancel = request->req_cancel;
  request->req_start = lfc_tailored_start;
  request->req_free = release;
  request->req_cancel = cancel;
  put(tailored);
  ++table.used;
}

/* ob1 uses its requests again. */
static void give_back(struct lfc_tailored* tailored) {
  tailored->request->req_start = tailored->start;
  tailored->request->req_free = tailored->release;
  tailored->request->req_cancel = tailored->cancel;
  take_out(tailored);
}

/* ob1 takes another request where it is not done with the last message of this one. */
static int start_below(struct lfc_tailored* tailored, ompi_request_t** request) {
  ompi_request_t* const before = *request;
  const int status = tailored->start(1, request);
  if (*request != before) {
    give_back(tailored);
    take_over(tailored, *request);
  }
  return status;
}

/* Whoever waits for it waits on. */
void lfc_tailored_post(void* request) {
  struct lfc_tailored* tailored = request;
  ompi_request_t* own = tailored->request;
  volatile void* const waiting = own->req_complete;
  const bool active = own->req_state == OMPI_REQUEST_ACTIVE;
  own->req_state = OMPI_REQUEST_INACTIVE;
  (void)start_below(tailored, &own);
  if (!active || waiting == REQUEST_PENDING || waiting == REQUEST_COMPLETED) return;
  const bool complete = REQUEST_COMPLETE(own);
  own->req_complete = waiting;
  if (complete) (void)ompi_request_complete(own, true);
}

enum lfc_channel_outcome lfc_tailored_outcome(void* request) {
  const ompi_request_t* own = ((const struct lfc_tailored*)request)->request;
  if (!REQUEST_COMPLETE(own)) return LFC_CHANNEL_PENDING;
  return own->req_status._cancelled ? LFC_CHANNEL_CANCELLED : LFC_CHANNEL_MATCHED;
}

/* --- What the program asks --- */

static void complete(ompi_request_t* request, int source, int tag, size_t bytes) {
  request->req_status.MPI_SOURCE = source;
  request->req_status.MPI_TAG = tag;
  request->req_status.MPI_ERROR = MPI_SUCCESS;
  request->req_status._ucount = bytes;
  request->req_status._cancelled = false;
  (void)ompi_request_complete(request, true);
}

void lfc_tailored_done(void* request, const void* bytes, size_t size) {
  const struct lfc_tailored* tailored = request;
  if (size != 0) memcpy(tailored->address, bytes, size);
  complete(tailored->request, tailored->peer, tailored->tag, size);
}

static void activate(ompi_request_t* request) {
  request->req_state = OMPI_REQUEST_ACTIVE;
  request->req_complete = REQUEST_PENDING;
  request->req_status._cancelled = false;
}

static int start_one(ompi_request_t** request) {
  struct lfc_tailored* const tailored = find(*request);
  ompi_request_t* const own = *request;
  const bool idle = own->req_state == OMPI_REQUEST_INACTIVE &&
                    ((const mca_pml_base_request_t*)own)->req_pml_complete;
  if (tailored == NULL) return lfc_tailored_below.pml_start(1, request);
  if (tailored->kind == LFC_TAILORED_SEND) {
    if (!idle || tailored->sender->channel == 0 ||
        !lfc_tailored_send(tailored->sender, tailored->address, tailored->bytes))
      return start_below(tailored, request);
    activate(own);
    complete(own, ompi_comm_rank(tailored->comm), tailored->tag, tailored->bytes);
    return OMPI_SUCCESS;
  }
  if (tailored->kind == LFC_TAILORED_OTHER || !idle) {
    lfc_channels_other(lfc_communicator_index(tailored->comm), tailored->peer, tailored->tag);
    return start_below(tailored, request);
  }
  if (lfc_channel_start(tailored->receive)) activate(own);
  return OMPI_SUCCESS;
}

int lfc_tailored_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == NULL || requests[i]->req_type != OMPI_REQUEST_PML) continue;
    const int status = start_one(&requests[i]);
    if (status != OMPI_SUCCESS) return status;
  }
  return OMPI_SUCCESS;
}

static int release(ompi_request_t** request) {
  struct lfc_tailored* const tailored = find(*request);
  if (tailored->receive != NULL) {
    lfc_channel_yield(tailored->receive);
    lfc_channel_drop(tailored->receive);
  }
  const ompi_request_free_fn_t below = tailored->release;
  give_back(tailored);
  free(tailored);
  return below(request);
}

static int cancel(ompi_request_t* request, int flag) {
  const struct lfc_tailored* const tailored = find(request);
  if (tailored->receive != NULL) lfc_channel_yield(tailored->receive);
  return tailored->cancel == NULL ? OMPI_SUCCESS : tailored->cancel(request, flag);
}

/* NULL: no memory; ob1 keeps the request. */
static struct lfc_tailored* made(enum lfc_tailored_kind kind, ompi_communicator_t* comm, int peer,
                                 int tag) {
  if (2 * (table.used + 1) > table.size && !grow()) return NULL;
  struct lfc_tailored* tailored = calloc(1, sizeof *tailored);
  if (tailored == NULL) return NULL;
  tailored->kind = kind;
  tailored->comm = comm;
  tailored->peer = peer;
  tailored->tag = tag;
  tailored->lfc_peer = LFC_NO_PEER;
  return tailored;
}

/* Whether it lies in one piece; where, and how long it is. */
static bool in_one_piece(const void* buffer, size_t count, const ompi_datatype_t* type,
                         struct lfc_tailored* tailored) {
  tailored->address = (char*)(uintptr_t)buffer + type->super.true_lb;
  if (!opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)count)) return false;
  size_t each = 0;
  if (opal_datatype_type_size(&type->super, &each) != OPAL_SUCCESS) return false;
  tailored->bytes = count * each;
  return true;
}

int lfc_tailored_isend_init(const void* buffer, size_t count, ompi_datatype_t* type,
                            int destination, int tag, mca_pml_base_send_mode_t mode,
                            ompi_communicator_t* comm, ompi_request_t** request) {
  const int status =
      lfc_tailored_below.pml_isend_init(buffer, count, type, destination, tag, mode, comm, request);
  if (status != OMPI_SUCCESS || tag < 0 ||
      (mode != MCA_PML_BASE_SEND_STANDARD && mode != MCA_PML_BASE_SEND_READY) ||
      lfc_tailored_peer(comm, destination) == LFC_NO_PEER)
    return status;
  struct lfc_tailored* tailored = made(LFC_TAILORED_SEND, comm, destination, tag);
  if (tailored == NULL) return status;
  if (!in_one_piece(buffer, count, type, tailored) || tailored->bytes > kLongest ||
      (tailored->sender = lfc_tailored_sender_of(comm, destination, tag)) == NULL)
    free(tailored);
  else
    take_over(tailored, *request);
  return status;
}

int lfc_tailored_irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                            ompi_communicator_t* comm, ompi_request_t** request) {
  const int status =
      lfc_tailored_below.pml_irecv_init(buffer, count, type, source, tag, comm, request);
  if (status != OMPI_SUCCESS || tag < MPI_ANY_TAG || source < MPI_ANY_SOURCE) return status;
  const uint32_t peer = source >= 0 && tag >= 0 ? lfc_tailored_peer(comm, source) : LFC_NO_PEER;
  const bool exact = peer != LFC_NO_PEER && lfc_tailored_watch();
  struct lfc_tailored* tailored =
      made(exact ? LFC_TAILORED_RECEIVE : LFC_TAILORED_OTHER, comm, source, tag);
  if (tailored == NULL) return OMPI_ERR_OUT_OF_RESOURCE; /* nobody would see it started */
  tailored->lfc_peer = peer;
  if (exact) {
    const struct lfc_channel_name name = {lfc_communicator_index(comm), source, tag};
    const bool direct = in_one_piece(buffer, count, type, tailored);
    tailored->receive = lfc_channel_expect(&name, tailored->bytes, direct, tailored);
    if (tailored->receive == NULL) {
      free(tailored);
      return OMPI_ERR_OUT_OF_RESOURCE;
    }
  }
  take_over(tailored, *request);
  return status;
}

#endif
