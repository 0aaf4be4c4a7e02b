/* Shares: how many fragments ob1 may hold for one peer, and who gets those that come back.
 *
 * What a peer has no share for ob1 keeps in a list of its own, which it goes through in every callback
 * for a fragment, from the front until something is refused. It allows later messages to overtake
 * those in the list, but numbers messages with 16 bits: 65,536 later, one is taken for another. So
 * nothing may go to a peer while ob1 keeps something for it:
 *
 *   if (lfc_shares_left(&shares)) send at once;
 *   else if (lfc_share_take(&shares, purpose) == LFC_NO_SHARE) ob1 keeps it;
 *   ...
 *   const struct lfc_walk walk = lfc_walk_begin(&shares);    the fragment has been sent
 *   callback();                                              from there ob1 takes shares for its list
 *   lfc_walk_end(&shares, &walk);
 *
 * Invariant: while ob1's list has something for a peer, none of its shares is left. It is refused only
 * then; and what comes back meanwhile is set aside for the callback, whoever else wants it, and stays
 * aside until ob1 has been seen to get through its list: an entry for another peer may have stopped it.
 * Held by tests/unit/btl_lfc/shares_test.cpp.
 *
 * There is one list for the peers of both modules (btl_lfc.h). In a callback for a peer of one ob1 takes what it keeps
 * for the other to the list's end, and if it were stopped on the way, or went through the list once more, later
 * messages would stand before earlier ones. So only one module at a time refuses anything, until its callbacks have
 * been seen to get through the list; in a callback for a peer of the other no part of a message that has begun is
 * refused; and what is sent there, or to the other's peers, is not told to be sent before the next progress. What is
 * given instead of refused goes beyond the limit.
 *
 * Where several threads call MPI at a time nothing is refused. A refused thread may still wait for the lock of ob1's
 * list while a callback goes through the list and finds nothing. Its message would then stay in the list, without a
 * callback, and later ones would pass it. ob1 has no call that tells whether a message is in its list.
 */
#ifndef LFC_BTL_SHARES_H
#define LFC_BTL_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which module a peer is reached by. */
enum lfc_module { LFC_NEAR, LFC_FAR };

typedef struct lfc_shares {
  unsigned left;   /* for anybody */
  unsigned aside;  /* for what ob1 keeps */
  unsigned beyond; /* given beyond the limit; they come back first */
  unsigned limit;
  enum lfc_module module;
  uint64_t refused; /* the last refusal, among those of all peers */
} lfc_shares;

/* What ob1 wants a share for: to begin with a message (or for a word of its own), or to go on with one. LFC_THREADED:
 * for either, where several threads may call at a time. */
enum lfc_purpose { LFC_BEGIN, LFC_GO_ON, LFC_THREADED };

enum lfc_share { LFC_NO_SHARE, LFC_SHARE, LFC_BEYOND_LIMIT };

/* For a peer of which module this thread is in a callback of ob1's: 1 + the module; 0: in none. It is asked for the
 * place once, which costs more than to write to it. */
unsigned* lfc_visited(void);
struct lfc_visit {
  unsigned* place;
  unsigned outer; /* what has been there */
};

/* One callback of ob1's. */
struct lfc_walk {
  uint64_t refusals; /* of all peers, at its begin */
  bool outer, outer_refused;
  struct lfc_visit visit;
};

static inline bool lfc_shares_left(const lfc_shares* shares) {
  return __atomic_load_n(&shares->left, __ATOMIC_RELAXED) != 0;
}

void lfc_shares_init(lfc_shares* shares, unsigned limit, enum lfc_module module);
/* LFC_NO_SHARE: ob1 has to keep the message. LFC_THREADED is never answered so. */
enum lfc_share lfc_share_take(lfc_shares* shares, enum lfc_purpose purpose);
/* One that was not used, or for which ob1 is not called back. */
void lfc_share_give_back(lfc_shares* shares);
struct lfc_walk lfc_walk_begin(lfc_shares* shares);
void lfc_walk_end(lfc_shares* shares, const struct lfc_walk* walk);
/* Around every other callback of ob1's in which it may go through its list, where both modules have peers: for a peer
 * of which module it is. */
static inline struct lfc_visit lfc_visit_begin(enum lfc_module module) {
  unsigned* const place = lfc_visited();
  const struct lfc_visit visit = {place, *place};
  *place = 1u + module;
  return visit;
}
static inline void lfc_visit_end(struct lfc_visit visit) { *visit.place = visit.outer; }
/* Whether ob1 must not be called back for this peer from inside the call that it makes now. */
bool lfc_shares_hold(const lfc_shares* shares);

#ifdef __cplusplus
}
#endif

#endif
