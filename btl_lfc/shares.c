/* The way of a message of ob1, and of the shares of its peer:
 *
 *         lfc_share_take()                                   callback
 *    ob1 -------------------> fragments under way in the NI ----------> walk begins: the share comes back,
 *     |    a share            (`limit`, and those `beyond`)             - it ends one of `beyond`, if there are any;
 *     |                                                                 - else it is `left`, if others are left;
 *     | refused: `left` is 0                                            - else it is set `aside`
 *     v                                                                        |
 *    ob1's list, for all peers:   front [a2] [b1] [a3] ... end                 |
 *                                   |    <-------------------------------------+
 *                                   | ob1 takes a share for each message in turn, first from `aside`
 *                                   v
 *                 refused: the walk is stopped; the messages behind this one were not tried, and `aside` stays
 *                 end reached: no message refused before the walk is in the list; all of `aside` is left again
 *
 * A walk is a callback for a fragment (`walking`). Walks may nest: a message sent in one may complete at once.
 * A visit is any callback in which ob1 may go through its list, and has the module of its peer (`visited`).
 * Refusals of all peers are numbered. A walk that reached the end of the list has shown that no message refused up to
 * `seen_through` is in it: ob1 may keep messages only while `refusals` is larger.
 *
 * Several threads may call at a time, but then nothing is refused. The counts order nothing, so they are relaxed.
 */
#include "shares.h"

/* The last refusal of all peers: its number, and in the lowest bit the module of its peer. */
static uint64_t refusals;
static uint64_t seen_through; /* no message of a refusal up to this one is in ob1's list any more */
static __thread bool walking; /* this thread is in a walk, */
static __thread bool stopped; /* in which a message was refused */
static __thread unsigned visited; /* it is in a visit: 1 + the module of its peer; 0: in none */

#define load(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define add(place, value) ((void)__atomic_fetch_add(place, value, __ATOMIC_RELAXED))

static bool take_one(unsigned* count) {
  unsigned old = load(count);
  while (old != 0)
    if (__atomic_compare_exchange_n(count, &old, old - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return true;
  return false;
}

static void give_aside_back(lfc_shares* shares) {
  add(&shares->left, __atomic_exchange_n(&shares->aside, 0, __ATOMIC_RELAXED));
}

/* Where a share is left, ob1 keeps no message for the peer, so this one need not be set aside. */
static void put_back(lfc_shares* shares) {
  if (take_one(&shares->beyond)) return;
  add(lfc_shares_left(shares) ? &shares->left : &shares->aside, 1);
}

static enum lfc_module module_of(uint64_t refusal) { return (enum lfc_module)(refusal & 1); }

bool lfc_shares_hold(const lfc_shares* shares) {
  const uint64_t last = load(&refusals);
  if (last <= load(&seen_through)) return false;
  return module_of(last) != shares->module || (visited != 0 && visited != 1u + shares->module);
}

/* Notes a refusal. False: the message must not be refused (shares.h). */
static bool refuse(lfc_shares* shares, enum lfc_purpose purpose) {
  const uint64_t last = load(&refusals);
  const bool kept = last > load(&seen_through);
  if (purpose == LFC_THREADED || purpose == LFC_CONTROL) return false;
  if (kept && module_of(last) != shares->module) return false;
  if (kept && purpose == LFC_GO_ON && visited != 0 && visited != 1u + module_of(last)) return false;
  const uint64_t number = (((last >> 1) + 1) << 1) | shares->module;
  __atomic_store_n(&refusals, number, __ATOMIC_RELAXED);
  __atomic_store_n(&shares->refused, number, __ATOMIC_RELAXED);
  return true;
}

void lfc_shares_init(lfc_shares* shares, unsigned limit, enum lfc_module module) {
  *shares = (lfc_shares){.left = limit, .limit = limit, .module = module};
}

enum lfc_share lfc_share_take(lfc_shares* shares, enum lfc_purpose purpose) {
  if (walking && take_one(&shares->aside)) return LFC_SHARE;
  if (!lfc_shares_left(shares) && load(&shares->refused) <= load(&seen_through))
    give_aside_back(shares);
  if (take_one(&shares->left)) return LFC_SHARE;
  if (!refuse(shares, purpose)) {
    add(&shares->beyond, 1);
    return LFC_BEYOND_LIMIT;
  }
  stopped = true;
  return LFC_NO_SHARE;
}

/* Outside of walks the share was not set aside, and ob1 kept no message when it was taken. */
void lfc_share_give_back(lfc_shares* shares) {
  if (walking) {
    put_back(shares);
  } else if (!take_one(&shares->beyond)) {
    add(&shares->left, 1);
  }
}

unsigned* lfc_visited(void) { return &visited; }

struct lfc_walk lfc_walk_begin(lfc_shares* shares) {
  const struct lfc_walk walk = {load(&refusals), walking, stopped, lfc_visit_begin(shares->module)};
  walking = true;
  stopped = false;
  put_back(shares);
  return walk;
}

void lfc_walk_end(lfc_shares* shares, const struct lfc_walk* walk) {
  if (!stopped) {
    /* A walk has not tried the messages for the other module: ob1 moved them to the end of its list. */
    if (module_of(walk->refusals) == shares->module)
      __atomic_store_n(&seen_through, walk->refusals, __ATOMIC_RELAXED);
    give_aside_back(shares);
  }
  lfc_visit_end(walk->visit);
  walking = walk->outer;
  stopped = walk->outer_refused || (walk->outer && stopped);
}
