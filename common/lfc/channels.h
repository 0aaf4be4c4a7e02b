/* Channels: messages that need no matching (common/services/channels/), for the C code of
 * `coll lfc`.
 *
 *   if (!lfc_channels_open(&host)) return;                          no NI is open
 *   struct lfc_channel_end end = {.name = {.comm = index, .rank = 3, .tag = 7}, .peer = peer, .self = 1};
 *   lfc_channel_receive *receive = lfc_channel_expect(&end, 0, capacity, true, request);
 *   if (lfc_channel_start(receive)) note_that_it_waits(request);    else its done() or post() was called
 *   lfc_channels_progress();                                        its done(), or host.give(...)
 *   lfc_channel_sender *sender = lfc_channel_sender_of(&end);
 *   if (!lfc_channel_send(sender, data, size)) send_otherwise();
 *   lfc_channel_key* key = lfc_channel_pin(&end, 0);                // for ordinary receives
 *   lfc_channel_receive* other = lfc_channel_make(request);
 *   if (lfc_channel_start_on(other, key, capacity, true)) note_that_it_waits(request);
 *
 * Threads: one; lfc_channels_stop() may be called by any.
 */
#ifndef LFC_CHANNELS_H
#define LFC_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/messages.h"
#include "lfc/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lfc_channel_receive lfc_channel_receive;
typedef struct lfc_channel_sender lfc_channel_sender;
typedef struct lfc_channel_key lfc_channel_key;

enum {
  LFC_CHANNEL_HEAD = 14
}; /* bytes of a frame before the message: as many as ob1's header has */

struct lfc_channel_name {
  uint32_t comm; /* ob1's index of it, the same at both processes */
  int32_t rank;  /* of the other process */
  int32_t tag;
};

/* This process's end of a channel. */
struct lfc_channel_end {
  struct lfc_channel_name name;
  uint32_t peer; /* the other process, as lfc_find_peer() numbers it */
  int32_t self;  /* this process's rank in the communicator */
};

/* The first member of each request that a channel may complete. */
struct lfc_channel_request {
  const struct lfc_channel_request_calls* calls;
};
struct lfc_channel_request_calls {
  void (*post)(struct lfc_channel_request* request); /* to the matching below */
  enum lfc_channel_outcome (*outcome)(const struct lfc_channel_request* request); /* there */
  void (*done)(struct lfc_channel_request* request, const void* bytes, size_t size);
};

/* The matching below (ob1). */
struct lfc_channel_host {
  uint8_t tag; /* of frames */
  void (*give)(const struct lfc_channel_name* name, uint32_t peer, uint16_t number, void* frame,
               size_t size);
  bool (*empty)(const struct lfc_channel_name* name); /* no message of this name waits below */
};

/* Opens the channels of the process; `host` is copied. Returns false if no engine is open or memory is short. */
bool lfc_channels_open(const struct lfc_channel_host* host);
void lfc_channels_close(void);

/* Returns whether channels with this peer are possible: a message must be in the receiver's memory when
 * lfc_channel_send() returns. */
bool lfc_channels_reach(uint32_t peer);
/* Returns the sender of this channel, for one more user. NULL: memory is short. */
lfc_channel_sender* lfc_channel_sender_of(const struct lfc_channel_end* end);
/* Whether the receiver has closed the channel. */
bool lfc_channel_is_refused(const lfc_channel_sender* sender);
/* Frees the sender if it has no other user. */
void lfc_channel_leave(lfc_channel_sender* sender);
/* Sends a message now, in the order of all messages to the peer. Returns false, and sends nothing, if that fails or the
 * channel is not open. */
LFC_SHORT_PATH bool lfc_channel_send(const lfc_channel_sender* sender, const void* data,
                                     size_t size);
/* Makes one pass of the engine, as the BTL's progress does. */
LFC_SHORT_PATH void lfc_channels_progress(void);
/* Ends sending on channels, because ob1 now keeps a message that channels could overtake. */
void lfc_channels_stop(void);

/* Makes a persistent receive of `capacity` bytes; `direct`: contiguous and short. `gain_us`: time that a message saves
 * on this channel, for lfc_channels_total(). NULL: memory is short. */
lfc_channel_receive* lfc_channel_expect(const struct lfc_channel_end* end, double gain_us,
                                        size_t capacity, bool direct,
                                        struct lfc_channel_request* request);
/* Frees the receive. It must not wait on its channel. */
void lfc_channel_drop(lfc_channel_receive* receive);
/* Starts the receive. Returns true if it waits for its channel; otherwise done() or post() of its request was
 * called. */
LFC_SHORT_PATH bool lfc_channel_start(lfc_channel_receive* receive);

/* --- Ordinary receives --- */

/* Returns the receiving end of this channel, which stays until its communicator is forgotten. `gain_us`: as above.
 * NULL: memory is short. */
lfc_channel_key* lfc_channel_pin(const struct lfc_channel_end* end, double gain_us);
/* Whether too few messages used the channel, so that receives should go below without it. */
bool lfc_channel_is_closed(const lfc_channel_key* key);
/* Makes a receive for one ordinary message after another. NULL: memory is short. */
lfc_channel_receive* lfc_channel_make(struct lfc_channel_request* request);
void lfc_channel_unmake(lfc_channel_receive* receive);
/* Starts it; the last one has ended. Returns as lfc_channel_start(). */
LFC_SHORT_PATH bool lfc_channel_start_on(lfc_channel_receive* receive, lfc_channel_key* key,
                                         size_t capacity, bool direct);
/* Call it when such a receive that was posted has ended below. */
void lfc_channel_ended(lfc_channel_receive* receive);

/* --- All receives --- */

/* Posts all receives of this channel that wait on it to the matching below. */
void lfc_channel_yield(lfc_channel_receive* receive);
/* Prepares for another receive, which will be posted below. Source and tag may be -1 for any. */
void lfc_channels_other(uint32_t comm, int32_t source, int32_t tag);
/* The place of a name, of which many names share one; consecutive tags have different places. */
enum { LFC_CHANNEL_PLACES = 4096 };
static inline uint32_t lfc_channel_place(uint32_t comm, int32_t rank, int32_t tag) {
  return (comm * 4001U + (uint32_t)rank * 101U + (uint32_t)tag) % LFC_CHANNEL_PLACES;
}
/* Returns how many keys have names of each place. A receive or message whose place has none needs
 * no lfc_channels_other(). Valid until lfc_channels_close(). */
const uint16_t* lfc_channels_names(void);
/* Prepares for a probe of messages below. Source and tag may be -1 for any. */
void lfc_channels_reveal(uint32_t comm, int32_t source, int32_t tag);
/* Accepts a message that came outside channels. Returns its number for the matching below. */
LFC_SHORT_PATH uint16_t lfc_channels_frame(uint32_t comm, int32_t source, int32_t tag,
                                           uint16_t number);
/* Forgets a communicator that was freed. */
void lfc_channels_forget(uint32_t comm);

/* Writes one line of counters, key=value; empty: no channels are open. `sent`: messages that lfc_channel_send() has
 * sent, which the caller counts. */
void lfc_channels_describe(uint64_t sent, char* text, size_t size);

struct lfc_channel_totals {
  uint64_t opened; /* channels of senders */
  uint64_t closed; /* keys of receivers, because too few messages used the channel */
  uint64_t given;  /* messages of channels that the matching below got */
  double won_us;   /* gains of the messages that receives took from their channels */
};
/* Sums up this process's channels, which must be open. */
void lfc_channels_total(struct lfc_channel_totals* totals);

#ifdef __cplusplus
}
#endif

#endif
