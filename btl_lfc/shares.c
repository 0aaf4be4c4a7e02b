/* Several threads may call at a time, but then nothing is refused. The counts order nothing, so they are relaxed. */
#include "shares.h"

/* The last refusal of all peers: its number, and in the lowest bit the module of its peer. */
static uint64_t refusals;
static uint64_t seen_through; /* none up to this one is in ob1's list any more */
static __thread bool walking; /* this thread is in a callback of ob1's for a fragment, */
static __thread bool stopped; /* which has been refused something */
static __thread unsigned
    visited; /* it is in any callback: 1 + the module of its peer; 0: in none */

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

/* While one is left ob1 keeps nothing for the peer. */
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

/* False: it must not be refused. */
static bool refuse(lfc_shares* shares, enum lfc_purpose purpose) {
  const uint64_t last = load(&refusals);
  const bool kept = last > load(&seen_through);
  if (purpose == LFC_THREADED) return false;
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

/* Taken from those set aside, or while ob1 kept nothing. */
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
    /* This walk has seen nothing of what ob1 keeps for the other module. */
    if (module_of(walk->refusals) == shares->module)
      __atomic_store_n(&seen_through, walk->refusals, __ATOMIC_RELAXED);
    give_aside_back(shares);
  }
  lfc_visit_end(walk->visit);
  walking = walk->outer;
  stopped = walk->outer_refused || (walk->outer && stopped);
}
