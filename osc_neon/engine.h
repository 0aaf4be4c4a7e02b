/* Engine: windows of the network interface (lfc::Windows) as the C code of the component sees them.
 *
 * C cannot see C++ classes, and C++ cannot see Open MPI's headers: this is the line between them. No
 * exception crosses it. The meaning of each call is that of its namesake in common/services/windows/windows.hpp.
 *
 *   if (!neon_open(&host)) return;                            no NI is open
 *   struct neon_shape shape = {.flavor = NEON_ALLOCATE, .size = bytes, .rank = me, .ranks = n};
 *   neon_window *window = neon_window_create(&shape);
 *   allgather(neon_window_facts(window), neon_facts_size(), all);
 *   neon_window_connect(window, all, peers, neighbours);
 *   neon_put(window, target, &origin, &there, NULL);
 */
#ifndef LFC_OSC_ENGINE_H
#define LFC_OSC_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* lfc::WindowStatus */
enum neon_status {
  NEON_OK,
  NEON_SYNC,
  NEON_RANGE,
  NEON_TRUNCATED,
  NEON_LOST,
  NEON_INVALID,
  NEON_NO_MEMORY
};
enum neon_flavor { NEON_CREATE, NEON_ALLOCATE, NEON_SHARED, NEON_DYNAMIC };

/* lfc::Accumulate, lfc::Element */
enum neon_op {
  NEON_SUM,
  NEON_PROD,
  NEON_MAX,
  NEON_MIN,
  NEON_BAND,
  NEON_BOR,
  NEON_BXOR,
  NEON_LAND,
  NEON_LOR,
  NEON_LXOR,
  NEON_MAXLOC,
  NEON_MINLOC,
  NEON_REPLACE,
  NEON_NO_OP
};
enum neon_element {
  NEON_I8,
  NEON_U8,
  NEON_I16,
  NEON_U16,
  NEON_I32,
  NEON_U32,
  NEON_I64,
  NEON_U64,
  NEON_F32,
  NEON_F64,
  NEON_F80,
  NEON_C32,
  NEON_C64,
  NEON_C80,
  NEON_I16_I32,
  NEON_I32_I32,
  NEON_I64_I32,
  NEON_F32_I32,
  NEON_F64_I32,
  NEON_F80_I32,
  NEON_F32_F32,
  NEON_F64_F64,
  NEON_NO_ELEMENT
};

typedef struct neon_window neon_window;
typedef struct neon_segment neon_segment;

#define NEON_NO_PEER UINT32_MAX

struct neon_host {
  void (*progress)(void);
  void (*finished)(void* request, enum neon_status status);
};

/* lfc::Run */
struct neon_run {
  int64_t offset;
  uint64_t length;
  int64_t stride;
  uint64_t repeat;
};

/* lfc::View */
struct neon_view {
  void* base;
  int64_t offset;
  const struct neon_run* runs;
  size_t run_count;
  int64_t extent;
  uint64_t count;
  uint64_t size;
};

/* Collects the pieces of a datatype, in the order of packing. */
typedef struct neon_runs neon_runs;
neon_runs* neon_runs_new(void);
void neon_runs_free(neon_runs* runs);
bool neon_runs_add(neon_runs* runs, int64_t offset, uint64_t length);
const struct neon_run* neon_runs_data(const neon_runs* runs, size_t* count);

/* The process's windows; false when no network interface is open. */
bool neon_open(const struct neon_host* host);
void neon_close(void);
int neon_serve(void);
/* NEON_NO_PEER: not known yet. */
uint32_t neon_find_peer(uint32_t job, uint32_t rank);
/* NEON_NO_PEER: `why` says why it cannot be reached. */
uint32_t neon_add_peer(const void* address, size_t size, char* why, size_t why_size);

/* One piece of memory that all neighbours map, for shared windows. NULL: the kernel refuses. */
neon_segment* neon_segment_create(size_t size);
neon_segment* neon_segment_open(const void* name);
const void* neon_segment_name(const neon_segment* segment);
size_t neon_segment_name_size(void);
void neon_segment_free(neon_segment* segment);
/* Bytes in front of the memory of each rank. */
size_t neon_control_size(void);

struct neon_shape {
  enum neon_flavor flavor;
  void* base;
  uint64_t size;
  uint32_t displacement_unit;
  uint32_t rank, ranks;
  neon_segment* segment; /* shared: becomes the window's */
  uint64_t control_offset, memory_offset;
};
neon_window* neon_window_create(const struct neon_shape* shape);
void neon_window_free(neon_window* window);
void* neon_window_memory(neon_window* window);
size_t neon_facts_size(void);
const void* neon_window_facts(neon_window* window);
bool neon_window_connect(neon_window* window, const void* facts, const uint32_t* peers,
                         const bool* neighbours);
void neon_window_close_segment(neon_window* window);
bool neon_window_all_mapped(neon_window* window);
/* What MPI_Win_shared_query wants; false when that rank's memory is not mapped here. */
bool neon_window_query(neon_window* window, uint32_t rank, uint64_t* size, uint32_t* unit,
                       void** base);
uint32_t neon_window_unit(neon_window* window, uint32_t rank);
/* Where that rank's memory begins, in its own process. */
uint64_t neon_window_address(neon_window* window, uint32_t rank);
enum neon_status neon_drain(neon_window* window);
enum neon_status neon_attach(neon_window* window, void* base, uint64_t size);
enum neon_status neon_detach(neon_window* window, const void* base);

/* For contiguous bytes, and elements that are not pairs: true when it has been done by loads, stores
 * and CPU atomics; false: one of the calls below has to do it. Displacements in the target's units. */
bool neon_put_direct(neon_window* window, uint32_t target, const void* origin, uint64_t bytes,
                     int64_t displacement);
bool neon_get_direct(neon_window* window, uint32_t target, void* result, uint64_t bytes,
                     int64_t displacement);
/* `result` may be NULL. */
bool neon_fetch_direct(neon_window* window, uint32_t target, enum neon_op op,
                       enum neon_element element, const void* origin, void* result, size_t size,
                       uint64_t count, int64_t displacement);
bool neon_compare_and_swap_direct(neon_window* window, uint32_t target, const void* compare,
                                  const void* value, void* result, size_t size,
                                  int64_t displacement);

enum neon_status neon_put(neon_window* window, uint32_t target, const struct neon_view* origin,
                          const struct neon_view* there, void* request);
enum neon_status neon_get(neon_window* window, uint32_t target, const struct neon_view* result,
                          const struct neon_view* there, void* request);
enum neon_status neon_accumulate(neon_window* window, uint32_t target, enum neon_op op,
                                 enum neon_element element, const struct neon_view* origin,
                                 const struct neon_view* there, void* request);
enum neon_status neon_fetch(neon_window* window, uint32_t target, enum neon_op op,
                            enum neon_element element, const struct neon_view* origin,
                            const struct neon_view* result, const struct neon_view* there,
                            void* request);
enum neon_status neon_compare_and_swap(neon_window* window, uint32_t target, const void* compare,
                                       const void* value, void* result, size_t size,
                                       int64_t offset);

enum neon_status neon_fence_allowed(neon_window* window);
enum neon_status neon_fence_leave(neon_window* window, uint32_t* sent);
enum neon_status neon_fence_arrived(neon_window* window, uint32_t count);
void neon_fence_enter(neon_window* window, bool open);
enum neon_status neon_start(neon_window* window, const uint32_t* group, size_t count,
                            bool no_check);
enum neon_status neon_complete(neon_window* window);
enum neon_status neon_post(neon_window* window, const uint32_t* group, size_t count, bool no_check);
enum neon_status neon_wait(neon_window* window);
enum neon_status neon_test(neon_window* window, bool* flag);
enum neon_status neon_lock(neon_window* window, uint32_t target, bool exclusive, bool no_check);
enum neon_status neon_unlock(neon_window* window, uint32_t target);
enum neon_status neon_lock_all(neon_window* window, bool no_check);
enum neon_status neon_unlock_all(neon_window* window);
enum neon_status neon_flush(neon_window* window, uint32_t target);
enum neon_status neon_flush_all(neon_window* window);
enum neon_status neon_flush_local(neon_window* window, uint32_t target);
enum neon_status neon_flush_local_all(neon_window* window);

#ifdef __cplusplus
}
#endif

#endif
