#include "waits.h"

#include <stdbool.h>
#include <string.h>

#include "ob1.h"
#include "requests.h"

/* kLooks: how often a wait drives LFC alone before all of Open MPI, which may give up the processor. One of kUsual
 * waits for requests that are not complete drives all of Open MPI at once, so that its other parts make progress. */
enum { kLooks = 32, kUsual = 16 };

static struct {
  ompi_request_fns_t original; /* Open MPI's own waits; empty: not replaced */
  unsigned count;
} waits;

static int looks_of_a_wait(void) { return ++waits.count % kUsual == 0 ? 0 : kLooks; }

static inline void drive(const ompi_request_t* request, int* looks) {
  while (!REQUEST_COMPLETE(request) && (*looks)-- > 0) lfc_channels_progress();
}

void lfc_wait_briefly(const ompi_request_t* request) {
  int looks = looks_of_a_wait();
  drive(request, &looks);
}

/* Whether a channel may end the wait for it. None serves a persistent request with a callback. */
static inline bool is_persistent(const ompi_request_t* request) {
  return request->req_free == lfc_persistent_free;
}
static inline bool is_awaited(const ompi_request_t* request) {
  return is_persistent(request) || lfc_is_ordinary_receive(request);
}

/* Whether it is complete without an error that the caller must get. */
static inline bool is_done(const ompi_request_t* request) {
  return REQUEST_COMPLETE(request) && request->req_state == OMPI_REQUEST_ACTIVE &&
         request->req_status.MPI_ERROR == MPI_SUCCESS;
}

/* Ends the wait for a request that is done, or for ompi_request_empty. */
static inline int end(ompi_request_t** request) {
  if (!is_persistent(*request)) return (*request)->req_free(request);
  (*request)->req_state = OMPI_REQUEST_INACTIVE;
  return OMPI_SUCCESS;
}

LFC_APART int drive_for_one(ompi_request_t** request, ompi_status_public_t* status) {
  if (!REQUEST_COMPLETE(*request)) lfc_wait_briefly(*request);
  if (status == MPI_STATUS_IGNORE && is_done(*request)) return end(request);
  return waits.original.req_wait(request, status);
}

static int wait_for_one(ompi_request_t** request, ompi_status_public_t* status) {
  if (is_awaited(*request)) return drive_for_one(request, status);
  return waits.original.req_wait(request, status);
}

static int wait_for_all(size_t count, ompi_request_t** requests, ompi_status_public_t* statuses) {
  bool all_done = statuses == MPI_STATUSES_IGNORE;
  int looks = looks_of_a_wait();
  for (size_t i = 0; all_done && i < count; ++i) {
    all_done = is_awaited(requests[i]) || requests[i] == &ompi_request_empty;
    if (all_done) drive(requests[i], &looks);
    all_done = all_done && is_done(requests[i]);
  }
  if (!all_done) return waits.original.req_wait_all(count, requests, statuses);
  for (size_t i = 0; i < count; ++i) (void)end(&requests[i]);
  return OMPI_SUCCESS;
}

void lfc_waits_install(void) {
  waits.original = ompi_request_functions;
  ompi_request_functions.req_wait = wait_for_one;
  ompi_request_functions.req_wait_all = wait_for_all;
}

void lfc_waits_remove(void) {
  if (waits.original.req_wait != NULL) ompi_request_functions = waits.original;
  memset(&waits, 0, sizeof waits);
}
