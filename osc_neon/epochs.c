/* Fence, post/start/complete/wait, lock and flush: MPI's arguments as the engine's. */
#include <stdatomic.h>
#include <stdlib.h>

#include "osc_neon.h"

/* --- Fence: the only epoch that needs all ranks --- */

static int fence(int assert, ompi_win_t* win) {
  rma_module* module = rma_module_of(win);
  ompi_communicator_t* comm = module->comm;
  enum lfc_rma_status status = lfc_rma_fence_allowed(module->window);
  if (status != LFC_RMA_OK) return rma_error(status);
  int result = OMPI_SUCCESS;
  if ((assert& MPI_MODE_NOPRECEDE) == 0)
    status = lfc_rma_fence_leave(module->window, module->counts);
  if (status == LFC_RMA_LOST) return rma_error(status);
  /* Any other error belongs to an earlier operation: the other ranks still wait for this one. */
  if ((assert& MPI_MODE_NOPRECEDE) != 0 || module->all_mapped) {
    result = comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
  } else {
    /* Each rank gets the number of fragments on their way to it. The exchange also shows that all ranks have called. */
    uint32_t due = 0;
    result = comm->c_coll->coll_reduce_scatter_block(
        module->counts, &due, 1, MPI_UINT32_T, MPI_SUM, comm,
        comm->c_coll->coll_reduce_scatter_block_module);
    if (result == OMPI_SUCCESS) {
      const enum lfc_rma_status arrived = lfc_rma_fence_arrived(module->window, due);
      if (status == LFC_RMA_OK) status = arrived;
    }
  }
  lfc_rma_fence_enter(module->window, (assert& MPI_MODE_NOSUCCEED) == 0);
  return result != OMPI_SUCCESS ? result : rma_error(status);
}

/* --- Post, start, complete, wait --- */

/* The ranks of `group` in the window, that many in `count`; for free(). NULL: one of them is not a member. Not in room
 * that the window has once: one thread may start an access epoch while another exposes the window. */
static uint32_t* ranks_of(const rma_module* module, ompi_group_t* group, size_t* count) {
  const int size = ompi_group_size(group);
  int* from = calloc((size_t)size + 1, sizeof *from);
  int* to = calloc((size_t)size + 1, sizeof *to);
  uint32_t* ranks = calloc((size_t)size + 1, sizeof *ranks);
  bool found = false;
  if (from != NULL && to != NULL && ranks != NULL) {
    for (int i = 0; i < size; ++i) from[i] = i;
    found = ompi_group_translate_ranks(group, size, from, module->comm->c_local_group, to) ==
            OMPI_SUCCESS;
    for (int i = 0; found && i < size; ++i) {
      found = to[i] >= 0;
      ranks[i] = (uint32_t)to[i];
    }
  }
  free(from);
  free(to);
  *count = (size_t)size;
  if (found) return ranks;
  free(ranks);
  return NULL;
}

typedef enum lfc_rma_status begin_epoch(lfc_rma_window* window, const uint32_t* group, size_t count,
                                        bool no_check);

static int with_group(begin_epoch* begin, ompi_group_t* group, int assert, ompi_win_t* win) {
  const rma_module* module = rma_module_of(win);
  size_t count = 0;
  uint32_t* ranks = ranks_of(module, group, &count);
  if (ranks == NULL) return MPI_ERR_GROUP;
  const enum lfc_rma_status status =
      begin(module->window, ranks, count, (assert& MPI_MODE_NOCHECK) != 0);
  free(ranks);
  return rma_error(status);
}

static int start(ompi_group_t* group, int assert, ompi_win_t* win) {
  return with_group(lfc_rma_start, group, assert, win);
}

static int post(ompi_group_t* group, int assert, ompi_win_t* win) {
  return with_group(lfc_rma_post, group, assert, win);
}

static int complete(ompi_win_t* win) {
  return rma_error(lfc_rma_complete(rma_module_of(win)->window));
}

static int wait(ompi_win_t* win) { return rma_error(lfc_rma_wait(rma_module_of(win)->window)); }

static int test(ompi_win_t* win, int* flag) {
  bool done = false;
  const enum lfc_rma_status status = lfc_rma_test(rma_module_of(win)->window, &done);
  if (!done) opal_progress();
  *flag = done;
  return rma_error(status);
}

/* --- Lock and flush --- */

/* Prints once that a window with no_locks is locked. It costs nothing to serve that. */
static void warn_of_lock(const rma_module* module) {
  const bool first = !mca_osc_neon_component.printed_lock && ompi_comm_rank(module->comm) == 0;
  mca_osc_neon_component.printed_lock = true;
  if (first || mca_osc_neon_component.parameters.verbose >= 1)
    opal_output(0, "osc neon: a window with the info key no_locks is locked; it is served");
}

static int lock(int type, int target, int assert, ompi_win_t* win) {
  if (rma_module_of(win)->no_locks) warn_of_lock(rma_module_of(win));
  return rma_error(lfc_rma_lock(rma_module_of(win)->window, (uint32_t)target,
                                type == MPI_LOCK_EXCLUSIVE, (assert& MPI_MODE_NOCHECK) != 0));
}

static int unlock(int target, ompi_win_t* win) {
  return rma_error(lfc_rma_unlock(rma_module_of(win)->window, (uint32_t)target));
}

static int lock_all(int assert, ompi_win_t* win) {
  if (rma_module_of(win)->no_locks) warn_of_lock(rma_module_of(win));
  return rma_error(lfc_rma_lock_all(rma_module_of(win)->window, (assert& MPI_MODE_NOCHECK) != 0));
}

static int unlock_all(ompi_win_t* win) {
  return rma_error(lfc_rma_unlock_all(rma_module_of(win)->window));
}

/* Drives progress, because the target may wait for this rank to serve it. */
static int sync_memory(ompi_win_t* win) {
  (void)win;
  atomic_thread_fence(memory_order_seq_cst);
  opal_progress();
  return OMPI_SUCCESS;
}

/* Open MPI does not check the rank. Nothing has been sent to MPI_PROC_NULL, as nothing of it is locked. */
static int other_than_member(int target) {
  return target == MPI_PROC_NULL ? OMPI_SUCCESS : MPI_ERR_RANK;
}

static bool is_member(const rma_module* module, int target) {
  return (uint32_t)target < module->ranks;
}

static int flush(int target, ompi_win_t* win) {
  const rma_module* module = rma_module_of(win);
  if (!is_member(module, target)) return other_than_member(target);
  return rma_error(lfc_rma_flush(module->window, (uint32_t)target));
}

static int flush_all(ompi_win_t* win) {
  return rma_error(lfc_rma_flush_all(rma_module_of(win)->window));
}

static int flush_local(int target, ompi_win_t* win) {
  const rma_module* module = rma_module_of(win);
  if (!is_member(module, target)) return other_than_member(target);
  return rma_error(lfc_rma_flush_local(module->window, (uint32_t)target));
}

static int flush_local_all(ompi_win_t* win) {
  return rma_error(lfc_rma_flush_local_all(rma_module_of(win)->window));
}

void rma_fill_epochs(ompi_osc_base_module_t* module) {
  module->osc_fence = fence;
  module->osc_start = start;
  module->osc_complete = complete;
  module->osc_post = post;
  module->osc_wait = wait;
  module->osc_test = test;
  module->osc_lock = lock;
  module->osc_unlock = unlock;
  module->osc_lock_all = lock_all;
  module->osc_unlock_all = unlock_all;
  module->osc_sync = sync_memory;
  module->osc_flush = flush;
  module->osc_flush_all = flush_all;
  module->osc_flush_local = flush_local;
  module->osc_flush_local_all = flush_local_all;
}
