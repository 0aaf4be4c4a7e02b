#include "native_glue.h"

#include "osc_neon.h"

bool lfc_native_serves(MPI_Win win) {
  return win == MPI_WIN_NULL ? rma_open_windows() : rma_serves(win);
}

MPI_Comm lfc_native_communicator(MPI_Win win) {
  return rma_serves(win) ? rma_module_of(win)->comm : MPI_COMM_NULL;
}

uint32_t lfc_native_peer(MPI_Comm comm, int rank) {
  char why[256];
  return rma_peer_of(comm, rank, why, sizeof why);
}

lfc_native_limits lfc_native_own_limits(void) {
  const struct lfc_osc_parameters* own = &mca_osc_neon_component.parameters;
  return (lfc_native_limits){own->eager, own->budget};
}

bool lfc_native_mapped(MPI_Win win, int rank, lfc_native_memory* memory) {
  if (win == MPI_WIN_NULL) return false;
  lfc_rma_window* window = rma_module_of(win)->window;
  uint32_t unit;
  memory->address = lfc_rma_window_address(window, (uint32_t)rank);
  return lfc_rma_window_query(window, (uint32_t)rank, &memory->size, &unit, &memory->here) &&
         memory->here != NULL;
}

bool lfc_native_region(MPI_Win win, int rank, void* region) {
  return win != MPI_WIN_NULL &&
         lfc_rma_window_region(rma_module_of(win)->window, (uint32_t)rank, region);
}

void lfc_native_before_free(MPI_Win win, void (*end)(void* endpoint), void* endpoint) {
  if (win == MPI_WIN_NULL || !rma_serves(win)) return;
  rma_module_of(win)->end_neon = end;
  rma_module_of(win)->endpoint = endpoint;
}

bool lfc_native_combine_notified(MPI_Win win, const lfc_neon_combination* call, uint32_t counter,
                                 int* error) {
  return win != MPI_WIN_NULL && rma_combine_notified(call, win, counter, error);
}

void lfc_native_count_notifications(MPI_Win win,
                                    bool (*count)(void* endpoint, uint64_t counter, uint64_t by),
                                    void* endpoint) {
  if (win == MPI_WIN_NULL || !rma_serves(win)) return;
  lfc_rma_count_notifications(rma_module_of(win)->window, count, endpoint);
}

void lfc_native_progress(void) { opal_progress(); }
