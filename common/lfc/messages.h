/* Messages: the engine (lfc::Ni) for the C code of the BTL, which opens it: peers, messages, remote memory.
 *
 * Ownership: the caller keeps all buffers and texts that it passes. Functions that fill `text` or `why` write at most
 * `text_size` or `why_size` bytes, with a zero at the end. No function waits unless its comment states it.
 * Threads: any if lfc_options.threads is set, otherwise one; open and close are called alone.
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

/* Room for an lfc::Message. It is a member of the fragment that is sent. */
typedef struct lfc_message {
  void* room[16];
} lfc_message;

/* Room for an lfc::Operation. `done` is called exactly once, possibly by the call that starts the operation. */
typedef struct lfc_operation {
  void (*done)(struct lfc_operation* operation, enum lfc_result result);
  void* room[3];
} lfc_operation;

/* An lfc::RegionHandle: raw bytes that travel to peers. */
typedef struct lfc_region {
  uint64_t bytes[24];
} lfc_region;

/* Functions of the caller. lfc_adapter_progress() calls them, and so do the functions whose comment states it. */
struct lfc_host {
  /* A message arrived. `endpoint` is NULL if lfc_adapter_set_endpoint() has not been called for the peer. */
  void (*receive)(void* endpoint, uint32_t peer, uint8_t tag, const void* data, size_t size);
  /* A posted message was sent, or its peer is lost. */
  void (*sent)(lfc_message* message, enum lfc_result result);
  /* The peer is lost. */
  void (*broken)(void* endpoint, const char* why);
  /* Prints one line for the user. */
  void (*notice)(const char* line);
  /* Local peers cannot use shared memory: `link` is used instead, for the reason `why`. */
  void (*detour)(const char* link, const char* why);
};

struct lfc_options {
  struct lfc_btl_parameters parameters; /* of the component, set by the user */
  uint32_t job, rank;
  bool threads; /* several threads call at the same time */
  unsigned local_processes,
      local_rank;   /* processes of the job on this node; this one's number among them, from 0 */
  bool other_nodes; /* the job has processes on other nodes */
};

/* Opens the engine and makes it that of the process. `host` is copied, and its notice() may be called. On success
 * `text` describes the links and the memory formula. Returns NULL on error; `text` is then one line with the wrong
 * option and the reason. */
lfc_adapter* lfc_adapter_open(const struct lfc_options* options, const struct lfc_host* host,
                              char* text, size_t text_size);
/* Waits up to 5 s until all posted messages have been sent, then frees the adapter. The engine
 * closes with its last user. */
void lfc_adapter_close(lfc_adapter* adapter);

/* Returns the address of this process for its peers, and its size in bytes. It belongs to the adapter. */
const void* lfc_adapter_address(const lfc_adapter* adapter, size_t* size);
/* Return the bytes of the largest message that each peer can receive; the second function regards far peers only. */
size_t lfc_adapter_max_message(const lfc_adapter* adapter);
size_t lfc_adapter_max_far_message(const lfc_adapter* adapter);

/* Returns the peer of this name, or LFC_NO_PEER if none has been added with its whole address. */
uint32_t lfc_adapter_known_peer(lfc_adapter* adapter, uint32_t job, uint32_t rank);
/* Adds the process with this address and returns its number. Returns LFC_NO_PEER if no link reaches it or memory is
 * short; `why` then has the reason of each link. Otherwise `why` is the reason why the link shm is not used. It is
 * empty if shm is used, does not exist, or the peer had been added before. */
uint32_t lfc_adapter_add_peer(lfc_adapter* adapter, const void* address, size_t size, char* why,
                              size_t why_size);
/* Sets the endpoint that is passed to host.receive() and host.broken() from now on. Returns false, and changes nothing,
 * if the peer has one. */
bool lfc_adapter_set_endpoint(lfc_adapter* adapter, uint32_t peer, void* endpoint);
/* Returns whether a round trip to the peer costs more than a copy. The result for a peer never changes, whichever link
 * carries its frames later. */
bool lfc_adapter_is_far(lfc_adapter* adapter, uint32_t peer);
/* Waits up to 5 s until all messages posted to the peer have been sent, then forgets the peer. */
void lfc_adapter_remove_peer(lfc_adapter* adapter, uint32_t peer);

/* Sends a message of at most two slices now. Returns true if it was sent; the bytes may then be reused. Returns false,
 * and sends nothing, if credits or room are missing or earlier messages wait. */
LFC_SHORT_PATH bool lfc_adapter_try_send(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                                         const struct lfc_slice* slices, int count);
/* Sends an RTS like lfc_adapter_try_send(), but may batch it with the bytes of the lfc_adapter_push() that must follow.
 * Needs options.parameters.push_limit > 0. */
bool lfc_adapter_try_rts(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                         const struct lfc_slice* slices, int count);
/* Sends the message as soon as possible. `message` and the bytes must stay valid until host.sent(message). This call
 * itself calls host.sent() only if the peer is lost. */
void lfc_adapter_post(lfc_adapter* adapter, uint32_t peer, uint8_t tag,
                      const struct lfc_slice* slices, int count, lfc_message* message);

/* Returns whether a message of `size` bytes arrives earlier if its receiver reads it from registered memory. */
bool lfc_adapter_fetch_is_faster(lfc_adapter* adapter, uint32_t peer, size_t size);
/* Registers memory for remote access; `access` combines enum lfc_access. Fills `region`, whose bytes peers need for
 * put, get and atomics. Returns false if the memory cannot be registered. */
bool lfc_adapter_register(lfc_adapter* adapter, void* data, size_t size, unsigned access,
                          lfc_region* region);
/* Ends the registration. Operations of peers on the region fail from now on. */
void lfc_adapter_deregister(lfc_adapter* adapter, lfc_region* region);
/* Functions of the caller that keep registrations (lfc::RegistrationCache): take() returns the region of a registration
 * that contains the memory, or NULL; give_back() follows for each. Any thread calls them. */
struct lfc_registration_cache {
  const lfc_region* (*take)(void* data, size_t size, unsigned access);
  void (*give_back)(const lfc_region* region);
};
/* Makes the engine's services use that cache, which must exist until another call with NULL. */
void lfc_adapter_use_cache(lfc_adapter* adapter, const struct lfc_registration_cache* cache);

/* Pushed messages (common/services/push/push.hpp): their bytes follow the RTS before the receiver fetches them.
 *
 * Returns the number under which the message in `region` may be pushed, or 0 if it is not to be pushed. */
uint64_t lfc_adapter_offer(lfc_adapter* adapter, uint32_t peer, const lfc_region* region);
/* Sends the bytes of the offered message, as far as credits permit; the rest follows later. Does nothing if the message
 * has been released. */
void lfc_adapter_push(lfc_adapter* adapter, uint32_t peer, uint64_t number,
                      const lfc_region* region);
/* Ends the offer, because the receiver has the message. Its bytes are not read any more. */
void lfc_adapter_release(lfc_adapter* adapter, uint32_t peer, uint64_t number);
/* Receives the pushed message `number` into `destination`, now or as it arrives; operation->done() follows. Returns
 * false, and does nothing, if it is not available, or if `size` is not that of the whole region `remote`.
 * `remote` need not be aligned. */
bool lfc_adapter_fetch(lfc_adapter* adapter, uint32_t peer, uint64_t number, void* destination,
                       const void* remote, size_t size, lfc_operation* operation);
/* Returns whether a link pins or maps memory to register it, so that a registration is worth keeping. */
bool lfc_adapter_registration_costs(const lfc_adapter* adapter);
/* Write and read `size` bytes of remote memory at `address` in the region `remote`, which need not be aligned. `local`
 * may be NULL. operation->done() follows; the local bytes stay in use until then. `by_rts`: the bytes are those of a
 * message, and the engine may choose the faster path. */
void lfc_adapter_put(lfc_adapter* adapter, uint32_t peer, const void* source,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     lfc_operation* operation);
void lfc_adapter_get(lfc_adapter* adapter, uint32_t peer, void* destination,
                     const lfc_region* local, uint64_t address, const void* remote, size_t size,
                     bool by_rts, lfc_operation* operation);
/* Changes one integer of `width` (4 or 8) bytes of remote memory. operation->done() follows; before it the old value
 * is stored in `result`, unless that is NULL. */
void lfc_adapter_atomic(lfc_adapter* adapter, uint32_t peer, enum lfc_atomic op, int width,
                        uint64_t operand, uint64_t compare, uint64_t address, const void* remote,
                        void* result, lfc_operation* operation);
/* Changes an integer of this process at once, atomically with the atomics of peers. Returns the old value. */
uint64_t lfc_adapter_atomic_here(enum lfc_atomic op, int width, uint64_t operand, uint64_t compare,
                                 void* target);
/* Returns the number of remote memory operations under way to this peer, or to all peers (LFC_NO_PEER). */
size_t lfc_adapter_outstanding(lfc_adapter* adapter, uint32_t peer);

/* Makes one bounded pass of the engine, which calls the functions of lfc_host. Returns the number of events. */
LFC_SHORT_PATH int lfc_adapter_progress(lfc_adapter* adapter);

/* Hands a message to lfc_host.receive, as if it had come from this peer. The engine must be open. */
void lfc_messages_hand_over(uint32_t peer, uint8_t tag, const void* data, size_t size);

/* Counts a received message that no module accepted. */
void lfc_adapter_dropped(lfc_adapter* adapter);

/* Returns the bytes of buffers and state that the engine and its links hold now. */
size_t lfc_adapter_memory(const lfc_adapter* adapter);

/* Return the number of counters, and the name, help and value of each. `adapter` may be NULL; each value is 0 then. The
 * texts are constants. */
size_t lfc_adapter_counter_count(void);
const char* lfc_adapter_counter_name(size_t which);
const char* lfc_adapter_counter_help(size_t which);
uint64_t lfc_adapter_counter(const lfc_adapter* adapter, size_t which);
/* Writes the name of the link that carries frames to the peer. */
void lfc_adapter_link(const lfc_adapter* adapter, uint32_t peer, char* text, size_t text_size);
/* Writes the links in use, each with the number of its peers: "loop:1,shm:3". */
void lfc_adapter_links(const lfc_adapter* adapter, char* text, size_t text_size);
/* Writes one line for each peer: link, credits, waiting messages. Meant for reports of hangs. */
void lfc_adapter_describe(const lfc_adapter* adapter, char* text, size_t text_size);

#ifdef __cplusplus
}
#endif

#endif
