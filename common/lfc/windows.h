/* Windows: MPI's windows (lfc::WindowService) for the C code of `osc neon`.
 *
 * common/services/windows/window.hpp describes each call under the same name. Results: enum lfc_rma_status; memory that
 * runs out is LFC_RMA_NO_MEMORY. Functions wait only if their comment states it, and call host.progress() meanwhile.
 * They stop waiting with LFC_RMA_LOST if a member of the window is lost. Threads: any, if the engine has threads.
 *
 *   if (!lfc_rma_open(&host)) return;                            no NI is open
 *   struct lfc_rma_shape shape = {.flavor = LFC_RMA_ALLOCATE, .size = bytes,
 *                                 .rank = me, .ranks = n};
 *   lfc_rma_window *window = lfc_rma_window_create(&shape, why, sizeof why);
 *   allgather(lfc_rma_window_facts(window), lfc_rma_facts_size(), all);
 *   lfc_rma_window_connect(window, all, peers, local_peers, &mapped);
 *   lfc_rma_put(window, target, &origin, &there, NULL);
 */
#ifndef LFC_WINDOWS_H
#define LFC_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/elements.h"
#include "lfc/messages.h"
#include "lfc/numbers.h"
#include "lfc/short_path.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lfc_rma_window lfc_rma_window;
typedef struct lfc_rma_segment lfc_rma_segment;

struct lfc_rma_host {
  void (*progress)(void);
  void (*finished)(void* request, enum lfc_rma_status status);
};

/* One lfc::Run: `repeat` pieces of `length` bytes, `stride` bytes apart. */
struct lfc_rma_run {
  int64_t offset;
  uint64_t length;
  int64_t stride;
  uint64_t repeat;
};

/* One lfc::View: `count` elements of the given runs, `extent` bytes apart; `size` is the packed bytes of one element.
 * The caller keeps the runs. */
struct lfc_rma_view {
  void* base;
  int64_t offset;
  const struct lfc_rma_run* runs;
  size_t run_count;
  int64_t extent;
  uint64_t count;
  uint64_t size;
};

/* Collects the pieces of a datatype, in the order of packing. The functions return NULL or false if memory is short.
 * lfc_rma_runs_data() returns the runs and their number; they belong to `runs`. */
typedef struct lfc_rma_runs lfc_rma_runs;
lfc_rma_runs* lfc_rma_runs_new(void);
void lfc_rma_runs_free(lfc_rma_runs* runs);
bool lfc_rma_runs_add(lfc_rma_runs* runs, int64_t offset, uint64_t length);
const struct lfc_rma_run* lfc_rma_runs_data(const lfc_rma_runs* runs, size_t* count);

/* Opens the windows of the process; `host` is copied. Returns false if no engine is open or memory is short. */
bool lfc_rma_open(const struct lfc_rma_host* host);
/* Releases the component's hold on the windows service. No window may exist. */
void lfc_rma_close(void);
/* Makes a pass over deferred operations: calls host.finished() and starts the operations that the NI cannot start
 * alone. Returns the number of events. Call it regularly. */
int lfc_rma_serve(void);

/* A segment: one piece of memory that all local peers map, for shared windows. The process that creates it sends its
 * name, raw bytes, to the others, and they open it. NULL: the kernel refuses, or memory is short; `why`: the reason. */
lfc_rma_segment* lfc_rma_segment_create(size_t size, char* why, size_t why_size);
lfc_rma_segment* lfc_rma_segment_open(const void* name, char* why, size_t why_size);
const void* lfc_rma_segment_name(const lfc_rma_segment* segment);
size_t lfc_rma_segment_name_size(void);
void lfc_rma_segment_free(lfc_rma_segment* segment);
/* Returns the bytes that the engine needs in front of the memory of each rank. */
size_t lfc_rma_control_size(void);

/* The arguments of lfc_rma_window_create(); sizes and offsets in bytes. */
struct lfc_rma_shape {
  enum lfc_rma_flavor flavor;
  void* base;
  uint64_t size;
  uint32_t displacement_unit;
  uint32_t rank, ranks;
  lfc_rma_segment* segment; /* shared: its memory becomes the window's; the caller frees the rest */
  uint64_t control_offset, memory_offset;
};
/* Returns a new window, or NULL if memory is short. Stores the reason why local peers cannot map the memory that it has
 * allocated, and reach it through their links instead; empty: they can. */
lfc_rma_window* lfc_rma_window_create(const struct lfc_rma_shape* shape, char* why_unshared,
                                      size_t why_size);
/* Frees the window. No member may access its memory any more. */
void lfc_rma_window_free(lfc_rma_window* window);
/* Returns the window's memory in this process. */
void* lfc_rma_window_memory(lfc_rma_window* window);
/* The facts of a window are lfc_rma_facts_size() raw bytes that belong to the window. Each member needs those of all.
 * */
size_t lfc_rma_facts_size(void);
const void* lfc_rma_window_facts(lfc_rma_window* window);
/* Connects the window with its members: facts, peers and local peers in the order of ranks. Maps the memory of those
 * that are local peers, and sets `mapped` to whether that has succeeded. After LFC_RMA_NO_MEMORY the window can only be
 * freed. */
enum lfc_rma_status lfc_rma_window_connect(lfc_rma_window* window, const void* facts,
                                           const uint32_t* peers, const bool* local_peers,
                                           bool* mapped);
/* Closes the descriptor of the segment, when all members have connected. */
void lfc_rma_window_close_segment(lfc_rma_window* window);
/* Returns whether the memory of every member is mapped here. */
bool lfc_rma_window_all_mapped(lfc_rma_window* window);
/* Stores what MPI_Win_shared_query returns. Returns false if the memory of that rank is not mapped here. */
bool lfc_rma_window_query(lfc_rma_window* window, uint32_t rank, uint64_t* size, uint32_t* unit,
                          void** base);
/* Stores the offset in bytes of a displacement in the memory of that rank. Returns false if 64 bits cannot hold it. */
bool lfc_rma_window_offset(lfc_rma_window* window, uint32_t rank, int64_t displacement,
                           int64_t* offset);
/* Returns the address of the memory of that rank in its own process. */
uint64_t lfc_rma_window_address(lfc_rma_window* window, uint32_t rank);
/* Stores the registration of the memory of that rank. Returns false if it has none. */
bool lfc_rma_window_region(lfc_rma_window* window, uint32_t rank, lfc_region* region);
/* Waits until no operation or frame of this window is under way. */
enum lfc_rma_status lfc_rma_drain(lfc_rma_window* window);
/* Attach and detach memory of a dynamic window. */
enum lfc_rma_status lfc_rma_attach(lfc_rma_window* window, void* base, uint64_t size);
enum lfc_rma_status lfc_rma_detach(lfc_rma_window* window, const void* base);

/* Operations on bytes, or on elements, that are contiguous on both sides. Displacements are in the target's units. They
 * wait only if the target has not caught up with many before them. Buffers stay in use until the operation is locally
 * complete. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_put_plain(lfc_rma_window* window, uint32_t target,
                                                     const void* origin, uint64_t bytes,
                                                     int64_t displacement);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_get_plain(lfc_rma_window* window, uint32_t target,
                                                     void* result, uint64_t bytes,
                                                     int64_t displacement);
/* `result` receives the old values; NULL: they are not needed. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_accumulate_plain(
    lfc_rma_window* window, uint32_t target, enum lfc_op op, enum lfc_element element,
    const void* origin, void* result, size_t size, uint64_t count, int64_t displacement);
/* Combines pairs that lie `extent` bytes apart on both sides. Returns false, and does nothing, unless plain loads and
 * stores can do it now. */
LFC_SHORT_PATH bool lfc_rma_accumulate_pairs(lfc_rma_window* window, uint32_t target,
                                             enum lfc_op op, enum lfc_element element,
                                             const void* origin, size_t extent, uint64_t count,
                                             int64_t displacement);
/* Compares and swaps one element of `size` bytes, at most 8. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_compare_and_swap(lfc_rma_window* window, uint32_t target,
                                                            const void* compare, const void* value,
                                                            void* result, size_t size,
                                                            int64_t displacement);

/* Operations on all other layouts; offsets in bytes. They wait as those above. If `request` is not NULL,
 * host.finished(request) follows when origin and result are the caller's again, possibly inside the call. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_put(lfc_rma_window* window, uint32_t target,
                                               const struct lfc_rma_view* origin,
                                               const struct lfc_rma_view* there, void* request);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_get(lfc_rma_window* window, uint32_t target,
                                               const struct lfc_rma_view* result,
                                               const struct lfc_rma_view* there, void* request);
enum lfc_rma_status lfc_rma_accumulate(lfc_rma_window* window, uint32_t target, enum lfc_op op,
                                       enum lfc_element element, const struct lfc_rma_view* origin,
                                       const struct lfc_rma_view* there, void* request);
enum lfc_rma_status lfc_rma_fetch(lfc_rma_window* window, uint32_t target, enum lfc_op op,
                                  enum lfc_element element, const struct lfc_rma_view* origin,
                                  const struct lfc_rma_view* result,
                                  const struct lfc_rma_view* there, void* request);

/* Accumulates, or fetches if `result` is not NULL, and then adds 1 to a counter at the target, all in one frame.
 * Returns false, and does nothing, if one frame cannot carry both, the target is mapped here, or no passive epoch is
 * open. */
bool lfc_rma_combine_notified(lfc_rma_window* window, uint32_t target, enum lfc_op op,
                              enum lfc_element element, const struct lfc_rma_view* origin,
                              const struct lfc_rma_view* result, const struct lfc_rma_view* there,
                              uint32_t counter, enum lfc_rma_status* status);
/* Sets the function that adds `by`, perhaps 0, to a counter of this member. It returns false if there is no such
 * counter, and runs under the engine's lock. NULL: there are no counters. */
void lfc_rma_count_notifications(lfc_rma_window* window,
                                 bool (*count)(void* context, uint64_t counter, uint64_t by),
                                 void* context);

/* A fence: fence_allowed() checks the epoch. fence_leave() waits for local completion and stores how many fragments
 * were sent to each rank. fence_arrived() waits for `count` fragments. fence_enter() begins an epoch if `open`. */
enum lfc_rma_status lfc_rma_fence_allowed(lfc_rma_window* window);
enum lfc_rma_status lfc_rma_fence_leave(lfc_rma_window* window, uint32_t* sent);
enum lfc_rma_status lfc_rma_fence_arrived(lfc_rma_window* window, uint32_t count);
void lfc_rma_fence_enter(lfc_rma_window* window, bool open);
/* The other synchronisation calls of MPI. Complete, wait, unlock and flush wait. Lock and lock_all wait if the target
 * is mapped, or for an earlier request. `no_check` is MPI_MODE_NOCHECK. */
enum lfc_rma_status lfc_rma_start(lfc_rma_window* window, const uint32_t* group, size_t count,
                                  bool no_check);
enum lfc_rma_status lfc_rma_complete(lfc_rma_window* window);
enum lfc_rma_status lfc_rma_post(lfc_rma_window* window, const uint32_t* group, size_t count,
                                 bool no_check);
enum lfc_rma_status lfc_rma_wait(lfc_rma_window* window);
enum lfc_rma_status lfc_rma_test(lfc_rma_window* window, bool* flag);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_lock(lfc_rma_window* window, uint32_t target,
                                                bool exclusive, bool no_check);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_unlock(lfc_rma_window* window, uint32_t target);
enum lfc_rma_status lfc_rma_lock_all(lfc_rma_window* window, bool no_check);
enum lfc_rma_status lfc_rma_unlock_all(lfc_rma_window* window);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_flush(lfc_rma_window* window, uint32_t target);
enum lfc_rma_status lfc_rma_flush_all(lfc_rma_window* window);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_flush_local(lfc_rma_window* window, uint32_t target);
enum lfc_rma_status lfc_rma_flush_local_all(lfc_rma_window* window);

#ifdef __cplusplus
}
#endif

#endif
