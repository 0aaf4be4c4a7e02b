/* Partitioned: partitioned communication for the C code of `part lfc`.
 *
 *   if (!lfc_part_open(&host)) return;                          no NI is open
 *   uint32_t peer = lfc_find_peer(job, rank);                   lfc/peers.h
 *   struct lfc_part_shape shape = {.peer = peer, .comm = key, .tag = tag, .partitions = n, .bytes = each};
 *   lfc_part_request *request = lfc_part_send(&shape, data, owner);
 *   lfc_part_start(request);
 *   lfc_part_ready(request, 3, 3);                              host.done(owner, ...) follows
 *
 * No function waits. Threads: any, except that open and close are called alone. host.done() and host.dropped() are
 * called without a lock, possibly from inside these functions.
 */
#ifndef LFC_PARTITIONED_H
#define LFC_PARTITIONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/numbers.h"
#include "lfc/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lfc_part_request lfc_part_request;

struct lfc_part_host {
  void (*done)(void* owner, enum lfc_part_status status, uint64_t bytes); /* an epoch has ended */
  void (*dropped)(void* owner); /* a request that was released while active has ended */
};

struct lfc_part_shape {
  uint32_t peer;
  uint64_t comm; /* the communicator's key, the same at both ends */
  int32_t tag;
  uint64_t partitions, bytes; /* bytes of each partition */
};

/* Opens the service; `host` is copied. Frames of peers are accepted from now on. False: no engine is open. */
bool lfc_part_open(const struct lfc_part_host* host);
void lfc_part_close(void);

/* Make an inactive request. The buffer stays the caller's and is used while the request is active. NULL: no memory. */
lfc_part_request* lfc_part_send(const struct lfc_part_shape* shape, const void* data, void* owner);
lfc_part_request* lfc_part_receive(const struct lfc_part_shape* shape, void* place, void* owner);
/* Starts a request that is not active; host.done() follows once. Returns false if memory is short. */
bool lfc_part_start(lfc_part_request* request);
/* Marks partitions `first` to `last` as ready. Returns false if they do not exist or were ready, or the send is not
 * active. */
bool lfc_part_ready(lfc_part_request* request, uint64_t first, uint64_t last);
/* Returns whether these partitions have arrived in an epoch that has not ended. */
bool lfc_part_arrived(lfc_part_request* request, uint64_t first, uint64_t last);
/* Sends partitions that became ready while another thread used the engine. Call it regularly. Returns the number of
 * events. */
int lfc_part_progress(void);
/* Frees the request and returns true. If it is active, returns false, and host.dropped(owner) follows. */
bool lfc_part_release(lfc_part_request* request);

/* Return the number of counters, and the name, help and value of each. The texts are constants. */
size_t lfc_part_counter_count(void);
const char* lfc_part_counter_name(size_t which);
const char* lfc_part_counter_help(size_t which);
uint64_t lfc_part_counter(size_t which);

#ifdef __cplusplus
}
#endif

#endif
