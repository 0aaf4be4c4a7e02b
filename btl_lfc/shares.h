/* Shares: permissions to have fragments of ob1 under way, a limited number for each peer.
 *
 * ob1 keeps a message for which the peer has no share in a list of its own. In every callback for a fragment it goes
 * through that list from the front, until a message is refused again. Later messages may overtake those in the list,
 * but ob1 numbers messages with 16 bits: a message that is overtaken by 65,536 others is taken for a later one. So
 * nothing may go to a peer while ob1 keeps a message for it:
 *
 *   if (lfc_shares_left(&shares)) send at once;
 *   else if (lfc_share_take(&shares, purpose) == LFC_NO_SHARE) ob1 keeps it;
 *   ...
 *   const struct lfc_walk walk = lfc_walk_begin(&shares);    the fragment has been sent
 *   callback();                                              from there ob1 takes shares for its list
 *   lfc_walk_end(&shares, &walk);
 *
 * Invariant: while ob1's list has a message for a peer, none of its shares is left (`left` is 0).
 *  - A message is refused only when no share is left.
 *  - A share that comes back meanwhile is set aside for ob1's list. No other caller gets it.
 *  - It stays aside until ob1 has reached the end of its list: a message for another peer may have stopped it before.
 * Held by tests/unit/btl_lfc/shares_test.cpp.
 *
 * There is one list for the peers of both modules (btl_lfc.h). In a callback for a peer of one module ob1 moves the
 * messages for the other module's peers to the end of the list. If it were stopped meanwhile, or went through the list
 * once more, later messages would stand before earlier ones. Therefore:
 *  - Only one module at a time refuses messages, until its callbacks have reached the end of the list.
 *  - In a callback for a peer of the other module no part of a message that has begun is refused.
 *  - A fragment that is sent from such a callback, or to the other module's peers, is reported as sent only in the next
 *    progress (lfc_shares_hold()).
 *  - A share that may not be refused is given beyond the limit.
 *
 * Where several threads call MPI at a time nothing is refused. A refused thread may still wait for the lock of ob1's
 * list while a callback goes through the list and does not find its message. The message would then stay in the list,
 * without a callback, and later ones would overtake it. No call of ob1 shows whether a message is in its list.
 */
#ifndef LFC_BTL_SHARES_H
#define LFC_BTL_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The module by which a peer is reached. */
enum lfc_module { LFC_NEAR, LFC_FAR };

typedef struct lfc_shares {
  unsigned left;   /* for every caller */
  unsigned aside;  /* for messages in ob1's list */
  unsigned beyond; /* given beyond the limit; the next shares that come back end these */
  unsigned limit;
  enum lfc_module module;
  uint64_t refused; /* number of its last refusal; those of all peers are counted together */
} lfc_shares;

/* Why ob1 takes a share: to begin a message (or for a control message of its own), or to go on with one. LFC_THREADED:
 * for either, where several threads may call at a time. LFC_CONTROL: for a control message that must not be refused
 * (send.c). */
enum lfc_purpose { LFC_BEGIN, LFC_GO_ON, LFC_THREADED, LFC_CONTROL };

enum lfc_share { LFC_NO_SHARE, LFC_SHARE, LFC_BEYOND_LIMIT };

/* The place where this thread notes that it is in a callback of ob1: 1 + the module of the peer; 0: it is in none.
 * Finding the place costs more than writing to it, so callers find it once for each visit. */
unsigned* lfc_visited(void);
struct lfc_visit {
  unsigned* place;
  unsigned outer; /* the value before */
};

/* A walk: one callback of ob1 for a fragment, in which ob1 goes through its list. */
struct lfc_walk {
  uint64_t refusals; /* of all peers, when it began */
  bool outer, outer_refused;
  struct lfc_visit visit;
};

static inline bool lfc_shares_left(const lfc_shares* shares) {
  return __atomic_load_n(&shares->left, __ATOMIC_RELAXED) != 0;
}

void lfc_shares_init(lfc_shares* shares, unsigned limit, enum lfc_module module);
/* Takes a share. LFC_NO_SHARE: ob1 has to keep the message; never for LFC_THREADED and LFC_CONTROL. */
enum lfc_share lfc_share_take(lfc_shares* shares, enum lfc_purpose purpose);
/* Returns a share that was not used, or that of a fragment without a callback. */
void lfc_share_give_back(lfc_shares* shares);
/* Begins a walk, with the share of the fragment that has been sent. */
struct lfc_walk lfc_walk_begin(lfc_shares* shares);
void lfc_walk_end(lfc_shares* shares, const struct lfc_walk* walk);
/* Begins a visit: any other callback of ob1 in which it may go through its list, for a peer of `module`. Needed only
 * where both modules have peers. */
static inline struct lfc_visit lfc_visit_begin(enum lfc_module module) {
  unsigned* const place = lfc_visited();
  const struct lfc_visit visit = {place, *place};
  *place = 1u + module;
  return visit;
}
static inline void lfc_visit_end(struct lfc_visit visit) { *visit.place = visit.outer; }
/* Whether ob1 must not be called back for this peer before the call that it makes now has returned. */
bool lfc_shares_hold(const lfc_shares* shares);

#ifdef __cplusplus
}
#endif

#endif
