#include "routes.h"

#include <stdlib.h>
#include <string.h>

#include "channel_ends.h"
#include "communicator_key.h"
#include "communicator_names.h"
#include "observer.h"

enum { kMostRoutes = 4096 };
enum { kNumbers = 65536 }; /* of communicators, in ob1 */

struct lfc_routes lfc_send_routes, lfc_receive_routes;

static unsigned route_count;           /* in both */
static bool may_have_routes[kNumbers]; /* by communicator; most have none, and end at once */

/* Whether the plan has it, and the two processes can have a channel. The first route of a receive starts the
 * observer. */
static bool make_route(const struct lfc_routes* routes, ompi_communicator_t* comm, int peer,
                       int tag, struct lfc_route* route) {
  struct lfc_channel_end end;
  const bool sends = routes == &lfc_send_routes;
  const int self = ompi_comm_rank(comm);
  if (!lfc_channel_end_of(comm, peer, tag, &end) ||
      !lfc_plan_names(lfc_name_of(comm), lfc_world_rank(comm, sends ? self : peer),
                      lfc_world_rank(comm, sends ? peer : self), tag) ||
      (!sends && !lfc_observer_start()))
    return false;
  *route = (struct lfc_route){.comm = comm, .peer = peer, .tag = tag};
  if (sends)
    route->sender = lfc_channel_sender_of(&end);
  else
    route->key = lfc_channel_pin(&end, lfc_channel_gain_us(comm, peer, tag));
  return route->sender != NULL || route->key != NULL;
}

static struct lfc_route* find_or_make(struct lfc_routes* routes, ompi_communicator_t* comm,
                                      int peer, int tag) {
  struct lfc_route** const bucket =
      &routes->buckets[lfc_route_hash(comm, peer, tag) % LFC_ROUTE_BUCKETS];
  for (struct lfc_route* each = *bucket; each != NULL; each = each->next)
    if (each->comm == comm && each->peer == peer && each->tag == tag) return each;
  struct lfc_route route;
  if (route_count == kMostRoutes || !make_route(routes, comm, peer, tag, &route)) return NULL;
  struct lfc_route* const made = malloc(sizeof *made);
  if (made == NULL) return NULL; /* its end stays, unused, until the communicator is freed */
  ++route_count;
  *made = route;
  made->next = *bucket;
  *bucket = made;
  return made;
}

bool lfc_route_is_closed(const struct lfc_route* route) {
  return route->key != NULL ? lfc_channel_is_closed(route->key)
                            : lfc_channel_is_refused(route->sender);
}

const struct lfc_cached_route* lfc_search_route(struct lfc_routes* routes,
                                                ompi_communicator_t* comm, int peer, int tag) {
  static const struct lfc_cached_route no_route;
  if (peer < 0 || tag < 0) return &no_route;
  may_have_routes[lfc_communicator_index(comm) % kNumbers] = true;
  struct lfc_route* const found = find_or_make(routes, comm, peer, tag);
  const bool closed = found != NULL && lfc_route_is_closed(found);
  struct lfc_cached_route* const cached =
      &routes->cached[lfc_route_hash(comm, peer, tag) % LFC_CACHED_ROUTES];
  *cached = (struct lfc_cached_route){comm, peer, tag, closed ? NULL : found, closed};
  return cached;
}

/* --- End --- */

/* `comm` NULL: the routes of all communicators. */
static bool concerns(const ompi_communicator_t* comm, const ompi_communicator_t* its_comm) {
  return comm == NULL || comm == its_comm;
}

void lfc_routes_uncache(struct lfc_routes* routes, const ompi_communicator_t* comm) {
  for (unsigned i = 0; i < LFC_CACHED_ROUTES; ++i)
    if (concerns(comm, routes->cached[i].comm)) routes->cached[i].comm = NULL;
}

/* The channels of all communicators end otherwise. */
static void drop(struct lfc_routes* routes, const ompi_communicator_t* comm) {
  lfc_routes_uncache(routes, comm);
  for (unsigned i = 0; i < LFC_ROUTE_BUCKETS; ++i)
    for (struct lfc_route** at = &routes->buckets[i]; *at != NULL;) {
      struct lfc_route* const each = *at;
      if (!concerns(comm, each->comm)) {
        at = &each->next;
        continue;
      }
      if (comm != NULL && each->sender != NULL) lfc_channel_leave(each->sender);
      *at = each->next;
      free(each);
      --route_count;
    }
}

void lfc_routes_forget(const ompi_communicator_t* comm) {
  bool* const may_have = &may_have_routes[lfc_communicator_index(comm) % kNumbers];
  if (!*may_have) return;
  *may_have = false;
  drop(&lfc_send_routes, comm);
  drop(&lfc_receive_routes, comm);
}

void lfc_routes_clear(void) {
  drop(&lfc_send_routes, NULL);
  drop(&lfc_receive_routes, NULL);
  memset(may_have_routes, 0, sizeof may_have_routes);
}
