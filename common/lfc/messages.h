/* Messages: the engine (lfc::Ni) as the C code of the BTL sees it, which opens it: peers, messages, remote memory.
 *
 *   lfc_adapter *adapter = lfc_adapter_open(&options, &host, text, sizeof text);
 *   if (adapter == NULL) complain(text);
 *   uint32_t peer = lfc_adapter_add_peer(adapter, address, size, why, sizeof why);
 *   lfc_adapter_set_endpoint(adapter, peer, endpoint);
 *   if (!lfc_adapter_try_send(adapter, peer, tag, slices, 2))
 *     lfc_adapter_post(adapter, peer, tag, slices, 2, &fragment->message);   // host.sent() later
 *   lfc_adapter_progress(adapter);
 */
#ifndef LFC_MESSAGES_H
#define LFC_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/numbers.h"
#include "lfc/parameters.h"
#include "lfc/short_path.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lfc_adapter lfc_adapter;

struct lfc_slice {
  const void* data;
  size_t size;
};

/* Room for an lfc::Message; lives in the fragment that is sent. */
typedef struct lfc_message {
  void* room[16];
} lfc_message;

/* Room for an lfc::Operation. `done` is called exactly once, possibly by the call that starts it.
 */
typedef struct lfc_operation {
  void (*done)(struct lfc_operation* operation, enum lfc_result result);
  void* room[3];
} lfc_operation;

/* A lfc::RegionHandle: raw bytes that travel to peers. */
typedef struct lfc_region {
  uint64_t bytes[27];
} lfc_region;

/* What the adapter calls, from inside lfc_adapter_progress() and the calls that say so. */
struct lfc_host {
  /* A message arrived; `endpoint` is NULL if it came before the peer was given one. */
  void (*receive)(void* endpoint, uint32_t peer, uint8_t tag, const void* data, size_t size);
  /* A posted message has been sent, or never will be. */
  void (*sent)(lfc_message* message, enum lfc_result result);
  /* The peer is lost. */
  void (*broken)(void* endpoint, const char* why);
  /* One line for the user. */
  void (*notice)(const char* line);
  /* Local peers do not reach each other by shared memory: what they use instead, and why. */
  void (*detour)(const char* link, const char* why);
};

struct lfc_options {
  struct lfc_btl_parameters parameters; /* by the user */
  uint32_t job, rank;
  bool threads; /* several threads call at the same time */
  unsigned local_processes,
      local_rank;   /* processes of the job on this node; which of them this is */
  bool other_nodes; /* the job has processes there */
};

/* Of messages, for ob1. */
struct lfc_message_limits {
  size_t eager, largest, pipeline;
};
struct lfc_message_limits lfc_adapter_message_limits(void);

/* Opens the NI. NULL: `text` is one line that says which option is wrong, and why. Otherwise `text`
 * describes what was opened, memory formula included. */
lfc_adapter* lfc_adapter_open(const struct lfc_options* options, const struct lfc_host* host,
                              char* text, size_t text_size);
/* Sends what is still on its way (for a bounded time) and frees everything. */
void lfc_adapter_close(lfc_adapter* adapter);

const void* lfc_adapter_address(const lfc_adapter* adapter, size_t* size);
/* Bytes of the largest message to any peer; and to any that is far. */
size_t lfc_adapter_max_message(const lfc_adapter* adapter);
size_t lfc_adapter_max_far_message(const lfc_adapter* adapter);

/* The peer whose whole address is known; LFC_NO_PEER: none of this name. */
uint32_t lfc_adapter_known_peer(lfc_adapter* adapter, uint32_t job, uint32_t rank);
/* LFC_NO_PEER: not reachable, `why` says so for each link. Else it says why not by shared memory; empty: it is, or
 * there is no such link, or it was known. */
uint32_t lfc_adapter_add_peer(lfc_adapter* adapter, const void* address, size_t size, char* why,
                              size_t why_size);
/* What host.receive() and host.broken() are given from now on. False: they are given another one already. */
bool lfc_adapter_set_endpoint(lfc_adapter* adapter, uint32_t peer, void* endpoint);
/* Whether a round trip to the peer costs more than a copy. The same answer at all times, whatever link carries its
 * frames in the end. */
bool lfc_adapter_is_far(lfc_adapter* adapter, uint32_t peer);
/* Lets what was posted to the peer leave (for a bounded time), then forgets it. */
void lfc_adapter_remove_peer(lfc_adapter* adapter, uint32_t peer);

/* At most two slices. True: sent, their bytes may be reused. */
LFC_SHORT_PATH bool lfc_adapter_try_send(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                                         const struct lfc_slice* slices, int count);
/* Likewise, when lfc_adapter_push() follows: they may leave together. */
bool lfc_adapter_try_rts(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                         const struct lfc_slice* slices, int count);
/* Sends as soon as possible; the bytes stay untouched until host.sent(), which is called from here only
 * if the peer is lost. */
void lfc_adapter_post(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                      const struct lfc_slice* slices, int count, lfc_message* message);

/* Whether a message of this size is there sooner when its receiver gets it from registered memory. */
bool lfc_adapter_fetch_is_faster(lfc_adapter* adapter, uint32_t peer, size_t size);
/* `access`: of enum lfc_access. */
bool lfc_adapter_register(lfc_adapter* adapter, void* data, size_t size, unsigned access,
                          lfc_region* region);
void lfc_adapter_deregister(lfc_adapter* adapter, lfc_region* region);

/* Pushed messages: common/services/push/push.hpp. */
uint64_t lfc_adapter_offer(lfc_adapter* adapter, uint32_t peer, const lfc_region* region);
void lfc_adapter_push(lfc_adapter* adapter, uint32_t peer, uint64_t number,
                      const lfc_region* region);
void lfc_adapter_release(lfc_adapter* adapter, uint32_t peer, uint64_t number);
/* `remote` is what was pushed; a part of it is not fetched. It need not be aligned. */
bool lfc_adapter_fetch(lfc_adapter* adapter, uint32_t peer, uint64_t number, void* destination,
                       const void* remote, size_t size, lfc_operation* operation);
/* Whether a link pins or maps memory to register it, so that a registration is worth keeping. */
bool lfc_adapter_registration_costs(const lfc_adapter* adapter);
/* `local` may be NULL. `remote` need not be aligned. `by_rts`: of a message, by whichever way is faster. */
void lfc_adapter_put(lfc_adapter* adapter, uint32_t peer, const void* source,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     lfc_operation* operation);
void lfc_adapter_get(lfc_adapter* adapter, uint32_t peer, void* destination,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     bool by_rts, lfc_operation* operation);
/* width is 4 or 8; the old value goes to `result` unless that is NULL. */
void lfc_adapter_atomic(lfc_adapter* adapter, uint32_t peer, enum lfc_atomic op, int width,
                        uint64_t operand, uint64_t compare, uint64_t address, const void* remote,
                        void* result, lfc_operation* operation);
/* The same on memory of this process, coherent with what peers do to it. Returns the old value. */
uint64_t lfc_adapter_atomic_here(enum lfc_atomic op, int width, uint64_t operand, uint64_t compare,
                                 void* target);
/* Operations under way to this peer, or to all (LFC_NO_PEER). */
size_t lfc_adapter_outstanding(lfc_adapter* adapter, uint32_t peer);

/* One bounded pass of the control program; the number of events. */
LFC_SHORT_PATH int lfc_adapter_progress(lfc_adapter* adapter);

/* Counts a message that nobody wants. */
void lfc_adapter_dropped(lfc_adapter* adapter);

/* Bytes of buffers and state that the NI and its links hold now. */
size_t lfc_adapter_memory(const lfc_adapter* adapter);

/* Counters: names and help are there without an adapter; without one every value is 0. */
size_t lfc_adapter_counter_count(void);
const char* lfc_adapter_counter_name(size_t which);
const char* lfc_adapter_counter_help(size_t which);
uint64_t lfc_adapter_counter(const lfc_adapter* adapter, size_t which);
/* Name of the link that carries frames to the peer. */
void lfc_adapter_link(const lfc_adapter* adapter, uint32_t peer, char* text, size_t text_size);
/* The links that peers talk over, each with the number of its peers: "loop:1,shm:3". */
void lfc_adapter_links(const lfc_adapter* adapter, char* text, size_t text_size);
/* Writes one line per peer: link, credits, what waits. For reports of hangs. */
void lfc_adapter_describe(const lfc_adapter* adapter, char* text, size_t text_size);

#ifdef __cplusplus
}
#endif

#endif
