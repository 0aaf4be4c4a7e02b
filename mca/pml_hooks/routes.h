/* Routes: which channel carries the ordinary messages of a communicator, peer and tag, in one direction.
 *
 *   const struct lfc_cached_route* cached = lfc_cached_route(&lfc_send_routes, comm, peer, tag);
 *   if (!lfc_is_cached(cached, comm, peer, tag)) cached = lfc_search_route(&lfc_send_routes, comm, peer, tag);
 *   if (cached->route != NULL) send_on_channel(cached->route->sender);
 *   lfc_routes_forget(comm);                                   // before the channels of `comm` are forgotten
 *
 * A route is made when the first message of its communicator, peer and tag is sent or received, if the plan names them.
 * It stays until its communicator is freed. A process has at most 4096; other messages take ob1's way. Each table has a
 * cache of 256 places, by a hash of the three, which also knows that messages have no route.
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_ROUTES_H
#define LFC_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

enum { LFC_CACHED_ROUTES = 256, LFC_ROUTE_BUCKETS = 1024 };

struct lfc_route {
  struct lfc_route* next; /* in its bucket */
  const ompi_communicator_t* comm;
  int peer, tag;
  lfc_channel_sender* sender; /* of a route for sends */
  lfc_channel_key* key;       /* of a route for receives */
};

struct lfc_cached_route {
  const ompi_communicator_t* comm;
  int peer, tag;
  struct lfc_route* route; /* NULL: such messages take ob1's way */
  bool closed;             /* they have a route, whose channel is closed */
};

/* The routes of one direction. */
struct lfc_routes {
  struct lfc_cached_route cached[LFC_CACHED_ROUTES];
  struct lfc_route* buckets[LFC_ROUTE_BUCKETS];
};
#pragma GCC visibility push(hidden)
extern struct lfc_routes lfc_send_routes, lfc_receive_routes;
#pragma GCC visibility pop

static inline unsigned lfc_route_hash(const ompi_communicator_t* comm, int peer, int tag) {
  return (unsigned)((uintptr_t)comm >> 6) + (unsigned)peer * 7u + (unsigned)tag;
}

/* Returns the place in the cache for such messages. */
static inline const struct lfc_cached_route* lfc_cached_route(const struct lfc_routes* routes,
                                                              const ompi_communicator_t* comm,
                                                              int peer, int tag) {
  return &routes->cached[lfc_route_hash(comm, peer, tag) % LFC_CACHED_ROUTES];
}
/* Whether that place is theirs. */
static inline bool lfc_is_cached(const struct lfc_cached_route* cached,
                                 const ompi_communicator_t* comm, int peer, int tag) {
  return cached->comm == comm && cached->peer == peer && cached->tag == tag;
}

/* Finds or makes the route of such messages, and puts it into the cache. Returns its place there, or one without a
 * route for messages that can have none. */
const struct lfc_cached_route* lfc_search_route(struct lfc_routes* routes,
                                                ompi_communicator_t* comm, int peer, int tag);
/* Empties the cache of a communicator's routes, because one of them has been closed. */
void lfc_routes_uncache(struct lfc_routes* routes, const ompi_communicator_t* comm);
/* Whether its channel is closed for good. */
bool lfc_route_is_closed(const struct lfc_route* route);

/* Forgets the routes of a communicator that is freed. Takes a look, if it has none. */
void lfc_routes_forget(const ompi_communicator_t* comm);
/* Forgets all routes, when the channels end. */
void lfc_routes_clear(void);

#endif
