#include "native_glue.h"

#include "../osc_neon.h"

bool lfc_native_serves(MPI_Win win) {
  return win == MPI_WIN_NULL ? neon_open_windows() : neon_serves(win);
}

uint32_t lfc_native_peer(MPI_Comm comm, int rank) {
  char why[256];
  return neon_peer_of(comm, rank, why, sizeof why);
}

void* lfc_native_mapped(MPI_Win win, int rank) {
  uint64_t size;
  uint32_t unit;
  void* base = NULL;
  if (win == MPI_WIN_NULL) return NULL;
  return neon_window_query(neon_module_of(win)->window, (uint32_t)rank, &size, &unit, &base) ? base
                                                                                             : NULL;
}

void lfc_native_progress(void) { opal_progress(); }
