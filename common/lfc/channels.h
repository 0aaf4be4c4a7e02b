/* Channels: messages of persistent requests that need no matching (common/services/channels/), as the C code of
 * `coll lfc` sees them.
 *
 *   if (!lfc_channels_open(&host)) return;                          no NI is open
 *   struct lfc_channel_name name = {.comm = index, .source = 3, .tag = 7};
 *   lfc_channel_receive *receive = lfc_channel_expect(&name, capacity, true, request);
 *   if (lfc_channel_start(receive)) note_that_it_waits(request);    else host.done() or host.post() was called
 *   lfc_channel_arrived(id, frame, size);                           host.done(request, ...), or host.give(...)
 *   if (!lfc_channel_send(peer, tag, slices, 2)) send_otherwise();
 *
 * Threads: one, but for lfc_channels_stop().
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

enum {
  LFC_CHANNEL_HEAD = 14
}; /* bytes of a frame before the message: as many as ob1's header has */

struct lfc_channel_name {
  uint32_t comm; /* as the receiver's ob1 calls it */
  int32_t source, tag;
};

/* The matching below. `request` is what lfc_channel_expect() was told. */
struct lfc_channel_host {
  void (*post)(void* request);
  enum lfc_channel_outcome (*outcome)(void* request);
  void (*give)(const struct lfc_channel_name* name, uint16_t number, void* frame, size_t size);
  bool (*empty)(const struct lfc_channel_name* name, void* request); /* one of that name */
  void (*done)(void* request, const void* bytes, size_t size);
  void (*offer)(void* request, uint32_t id); /* its sender may use the channel of this number */
};

/* False: this process has no NI. */
bool lfc_channels_open(const struct lfc_channel_host* host);
void lfc_channels_close(void);

/* Whether a channel from or to the peer may be had: its link must have put a message into the receiver's memory when
 * lfc_channel_send() returns. */
bool lfc_channels_reach(uint32_t peer);
/* Sends in the order of all messages to the peer, now or not at all. */
LFC_SHORT_PATH bool lfc_channel_send(uint32_t peer, uint8_t tag, const struct lfc_slice* slices,
                                     int count);
/* The same, of what is no message. */
bool lfc_channel_note(uint32_t peer, uint8_t tag, const struct lfc_slice* slices, int count);
/* Does what there is to do, as the BTL's progress does. */
LFC_SHORT_PATH void lfc_channels_progress(void);
/* From now on nothing is sent on channels: ob1 keeps a message that could be overtaken. */
void lfc_channels_stop(void);

/* NULL: no memory. */
lfc_channel_receive* lfc_channel_expect(const struct lfc_channel_name* name, size_t capacity,
                                        bool direct, void* request);
void lfc_channel_drop(lfc_channel_receive* receive);
/* True: it waits for its channel. Else host.done() or host.post() was called. */
LFC_SHORT_PATH bool lfc_channel_start(lfc_channel_receive* receive);
/* Nothing waits for this channel any more. */
void lfc_channel_yield(lfc_channel_receive* receive);
/* Before any other receive is posted below; -1 is any. */
void lfc_channels_other(uint32_t comm, int32_t source, int32_t tag);
/* Before somebody looks for messages below, likewise. */
void lfc_channels_reveal(uint32_t comm, int32_t source, int32_t tag);
/* A message outside channels: its number below. */
LFC_SHORT_PATH uint16_t lfc_channels_frame(const struct lfc_channel_name* name, uint16_t number);
/* False: there is no such channel (any more). The head may be overwritten. */
LFC_SHORT_PATH bool lfc_channel_arrived(uint32_t id, void* frame, size_t size);
/* One of the requests of this channel; NULL: none, or no such channel. */
void* lfc_channel_request(uint32_t id);
void lfc_channels_forget(uint32_t comm);

/* One line of counters, key=value; empty: nothing was counted. */
void lfc_channels_describe(char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
