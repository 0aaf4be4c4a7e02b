/* native_glue: the functions of the component's C code that the native endpoint calls. */
#ifndef LFC_NEON_NATIVE_GLUE_H
#define LFC_NEON_NATIVE_GLUE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "combination.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the component serves this window; without a window (MPI_WIN_NULL): whether it is there. */
bool lfc_native_serves(MPI_Win win);
/* The component's own communicator of the window; MPI_COMM_NULL: the component does not serve it. */
MPI_Comm lfc_native_communicator(MPI_Win win);
/* The engine's name for a rank; UINT32_MAX: not reachable. */
uint32_t lfc_native_peer(MPI_Comm comm, int rank);

/* The user's limits of early NEON data, in bytes (osc_neon_eager, osc_neon_budget). */
typedef struct lfc_native_limits {
  uint32_t eager, budget;
} lfc_native_limits;
lfc_native_limits lfc_native_own_limits(void);

/* A rank's window memory that is mapped in this process. */
typedef struct lfc_native_memory {
  void* here;
  uint64_t address; /* in that rank's process */
  uint64_t size;
} lfc_native_memory;
/* False: it is not mapped here. */
bool lfc_native_mapped(MPI_Win win, int rank, lfc_native_memory* memory);
/* The registration of a rank's window memory, sizeof(lfc_region) bytes. False: it has none. */
bool lfc_native_region(MPI_Win win, int rank, void* region);
/* `end`, which is collective, is called with `endpoint` before the window's memory goes. NULL: no more. */
void lfc_native_before_free(MPI_Win win, void (*end)(void* endpoint), void* endpoint);
/* An accumulate and a notification in one frame. False: that is not possible, and nothing was done. Else `error` is an
 * MPI error code. */
bool lfc_native_combine_notified(MPI_Win win, const lfc_neon_combination* call, uint32_t counter,
                                 int* error);
/* Sets the function that adds to a counter of this rank; it runs under the engine's lock. NULL: no more. */
void lfc_native_count_notifications(MPI_Win win,
                                    bool (*count)(void* endpoint, uint64_t counter, uint64_t by),
                                    void* endpoint);
/* One pass of Open MPI's progress. */
void lfc_native_progress(void);

#ifdef __cplusplus
}
#endif

#endif
