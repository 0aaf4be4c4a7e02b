/* Several threads may call. The counts order nothing, so they are relaxed. */
#include "shares.h"

static uint64_t refusals;     /* of all peers */
static uint64_t seen_through; /* none up to this one is in ob1's list any more */
static __thread bool walking; /* this thread is in a callback of ob1's, */
static __thread bool stopped; /* which has been refused something */

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
  add(lfc_shares_left(shares) ? &shares->left : &shares->aside, 1);
}

void lfc_shares_init(lfc_shares* shares, unsigned limit) {
  *shares = (lfc_shares){.left = limit, .limit = limit};
}

bool lfc_share_take(lfc_shares* shares) {
  if (walking && take_one(&shares->aside)) return true;
  if (!lfc_shares_left(shares) && load(&shares->refused) <= load(&seen_through))
    give_aside_back(shares);
  if (take_one(&shares->left)) return true;
  const uint64_t number = __atomic_add_fetch(&refusals, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&shares->refused, number, __ATOMIC_RELAXED);
  stopped = true;
  return false;
}

/* Taken from those set aside, or while ob1 kept nothing. */
void lfc_share_give_back(lfc_shares* shares) {
  if (walking) {
    put_back(shares);
  } else {
    add(&shares->left, 1);
  }
}

struct lfc_walk lfc_walk_begin(lfc_shares* shares) {
  const struct lfc_walk walk = {load(&refusals), walking, stopped};
  walking = true;
  stopped = false;
  put_back(shares);
  return walk;
}

void lfc_walk_end(lfc_shares* shares, const struct lfc_walk* walk) {
  if (!stopped) {
    /* What another thread was refused meanwhile may not be in the list yet: a later callback finds it,
     * if there is to be one. */
    const bool others = load(&refusals) != walk->refusals;
    const bool last = load(&shares->left) + load(&shares->aside) == shares->limit;
    if (!others) __atomic_store_n(&seen_through, walk->refusals, __ATOMIC_RELAXED);
    if (!others || last) give_aside_back(shares);
  }
  walking = walk->outer;
  stopped = walk->outer_refused || (walk->outer && stopped);
}
