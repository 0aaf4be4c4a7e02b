/* Windows: MPI's windows (lfc::WindowService) as the C code of `osc neon` sees them.
 *
 * The meaning of each call is that of its namesake in common/services/windows/window_service.hpp.
 *
 *   if (!lfc_rma_open(&host)) return;                            no NI is open
 *   struct lfc_rma_shape shape = {.flavor = LFC_RMA_ALLOCATE, .size = bytes,
 *                                 .rank = me, .ranks = n};
 *   lfc_rma_window *window = lfc_rma_window_create(&shape);
 *   allgather(lfc_rma_window_facts(window), lfc_rma_facts_size(), all);
 *   lfc_rma_window_connect(window, all, peers, local_peers);
 *   lfc_rma_put(window, target, &origin, &there, NULL);
 */
#ifndef LFC_WINDOWS_H
#define LFC_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/elements.h"
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

/* lfc::Run */
struct lfc_rma_run {
  int64_t offset;
  uint64_t length;
  int64_t stride;
  uint64_t repeat;
};

/* lfc::View */
struct lfc_rma_view {
  void* base;
  int64_t offset;
  const struct lfc_rma_run* runs;
  size_t run_count;
  int64_t extent;
  uint64_t count;
  uint64_t size;
};

/* Collects the pieces of a datatype, in the order of packing. */
typedef struct lfc_rma_runs lfc_rma_runs;
lfc_rma_runs* lfc_rma_runs_new(void);
void lfc_rma_runs_free(lfc_rma_runs* runs);
bool lfc_rma_runs_add(lfc_rma_runs* runs, int64_t offset, uint64_t length);
const struct lfc_rma_run* lfc_rma_runs_data(const lfc_rma_runs* runs, size_t* count);

/* The process's windows; false when no engine is open. */
bool lfc_rma_open(const struct lfc_rma_host* host);
void lfc_rma_close(void);
int lfc_rma_serve(void);

/* One piece of memory that all local peers map, for shared windows. NULL: the kernel refuses. */
lfc_rma_segment* lfc_rma_segment_create(size_t size);
lfc_rma_segment* lfc_rma_segment_open(const void* name);
const void* lfc_rma_segment_name(const lfc_rma_segment* segment);
size_t lfc_rma_segment_name_size(void);
void lfc_rma_segment_free(lfc_rma_segment* segment);
/* Bytes in front of the memory of each rank. */
size_t lfc_rma_control_size(void);

struct lfc_rma_shape {
  enum lfc_rma_flavor flavor;
  void* base;
  uint64_t size;
  uint32_t displacement_unit;
  uint32_t rank, ranks;
  lfc_rma_segment* segment; /* shared: becomes the window's */
  uint64_t control_offset, memory_offset;
};
lfc_rma_window* lfc_rma_window_create(const struct lfc_rma_shape* shape);
void lfc_rma_window_free(lfc_rma_window* window);
void* lfc_rma_window_memory(lfc_rma_window* window);
size_t lfc_rma_facts_size(void);
const void* lfc_rma_window_facts(lfc_rma_window* window);
bool lfc_rma_window_connect(lfc_rma_window* window, const void* facts, const uint32_t* peers,
                            const bool* local_peers);
void lfc_rma_window_close_segment(lfc_rma_window* window);
bool lfc_rma_window_all_mapped(lfc_rma_window* window);
/* What MPI_Win_shared_query wants; false when that rank's memory is not mapped here. */
bool lfc_rma_window_query(lfc_rma_window* window, uint32_t rank, uint64_t* size, uint32_t* unit,
                          void** base);
/* Where a displacement lies in that rank's memory, in bytes; false: nowhere, not even in 64 bits. */
bool lfc_rma_window_offset(lfc_rma_window* window, uint32_t rank, int64_t displacement,
                           int64_t* offset);
/* Where that rank's memory begins, in its own process. */
uint64_t lfc_rma_window_address(lfc_rma_window* window, uint32_t rank);
enum lfc_rma_status lfc_rma_drain(lfc_rma_window* window);
enum lfc_rma_status lfc_rma_attach(lfc_rma_window* window, void* base, uint64_t size);
enum lfc_rma_status lfc_rma_detach(lfc_rma_window* window, const void* base);

/* For bytes, and elements, that follow each other on both sides. Displacements in the target's units. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_put_plain(lfc_rma_window* window, uint32_t target,
                                                     const void* origin, uint64_t bytes,
                                                     int64_t displacement);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_get_plain(lfc_rma_window* window, uint32_t target,
                                                     void* result, uint64_t bytes,
                                                     int64_t displacement);
/* `result` may be NULL. */
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_accumulate_plain(
    lfc_rma_window* window, uint32_t target, enum lfc_op op, enum lfc_element element,
    const void* origin, void* result, size_t size, uint64_t count, int64_t displacement);
/* Of pairs that lie `extent` bytes apart on both sides. False: not that simple, and nothing was done. */
LFC_SHORT_PATH bool lfc_rma_accumulate_pairs(lfc_rma_window* window, uint32_t target,
                                             enum lfc_op op, enum lfc_element element,
                                             const void* origin, size_t extent, uint64_t count,
                                             int64_t displacement);
LFC_SHORT_PATH enum lfc_rma_status lfc_rma_compare_and_swap(lfc_rma_window* window, uint32_t target,
                                                            const void* compare, const void* value,
                                                            void* result, size_t size,
                                                            int64_t displacement);

/* For everything else, and with requests. Offsets in bytes. */
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

enum lfc_rma_status lfc_rma_fence_allowed(lfc_rma_window* window);
enum lfc_rma_status lfc_rma_fence_leave(lfc_rma_window* window, uint32_t* sent);
enum lfc_rma_status lfc_rma_fence_arrived(lfc_rma_window* window, uint32_t count);
void lfc_rma_fence_enter(lfc_rma_window* window, bool open);
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
