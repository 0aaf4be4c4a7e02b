/* A window's life. */
#include <stdlib.h>
#include <string.h>

#include "osc_neon.h"

#include "help.h"
#include "modex.h"

static int serve(void) {
  lfc_report_failures();
  return lfc_rma_serve();
}

/* Progress is registered while there are windows. Threads may make and free some at a time. */
static void count_windows(int change) {
  static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
  static int windows;
  opal_mutex_lock(&lock);
  if (windows == 0) (void)opal_progress_register(serve);
  windows += change;
  if (windows == 0) (void)opal_progress_unregister(serve);
  opal_mutex_unlock(&lock);
}

uint32_t rma_peer_of(ompi_communicator_t* comm, int rank, char* why, size_t why_size) {
  why[0] = '\0';
  if (rank == ompi_comm_rank(comm)) return LFC_NO_PEER;
  const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  const opal_process_name_t name = proc->super.proc_name;
  uint32_t peer = lfc_find_peer(name.jobid, name.vpid);
  if (peer != LFC_NO_PEER) return peer;
  uint8_t* address = NULL;
  size_t size = 0;
  if (!lfc_modex_find_address(&proc->super, &address, &size)) {
    snprintf(why, why_size, "rank %d published no LFC address", rank);
    return LFC_NO_PEER;
  }
  peer = lfc_add_peer(address, size, why, why_size);
  free(address);
  return peer;
}

/* --- Shared windows: one piece of memory, made by the first rank, mapped by all --- */

static size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/* NULL: the reason was printed. */
static lfc_rma_segment* shared_segment(ompi_communicator_t* comm, opal_info_t* info, size_t size,
                                       struct lfc_rma_shape* shape) {
  const int ranks = ompi_comm_size(comm);
  const int rank = ompi_comm_rank(comm);
  int flag = 0;
  bool apart = false; /* each part on pages of its own */
  if (info != NULL) (void)opal_info_get_bool(info, "alloc_shared_noncontig", &apart, &flag);
  uint64_t own[2] = {size, apart};
  uint64_t* all = malloc(2 * sizeof own[0] * (size_t)ranks);
  lfc_rma_segment* segment = NULL;
  char name[64] = {0};
  const char none[sizeof name] = {0};
  char why[256] = "";
  if (all == NULL) return NULL;
  if (comm->c_coll->coll_allgather(own, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, comm,
                                   comm->c_coll->coll_allgather_module) == OMPI_SUCCESS) {
    apart = all[1] != 0; /* all go by the first rank's */
    const size_t control = lfc_rma_control_size();
    size_t end = round_up(control * (size_t)ranks, 4096);
    for (int i = 0; i < ranks; ++i) {
      if (i == rank) shape->memory_offset = end;
      end += all[2 * i];
      if (apart) end = round_up(end, 4096);
    }
    shape->control_offset = control * (size_t)rank;
    if (rank == 0 && (segment = lfc_rma_segment_create(end, why, sizeof why)) != NULL)
      memcpy(name, lfc_rma_segment_name(segment), lfc_rma_segment_name_size());
    if (comm->c_coll->coll_bcast(name, sizeof name, MPI_BYTE, 0, comm,
                                 comm->c_coll->coll_bcast_module) == OMPI_SUCCESS &&
        rank != 0)
      segment = lfc_rma_segment_open(name, why, sizeof why);
  }
  /* The others cannot open what the first rank could not create, and have another reason. */
  if (segment == NULL && (rank == 0 || memcmp(name, none, sizeof name) != 0))
    lfc_help("no shared window", why, lfc_node_of(opal_proc_local_get()));
  free(all);
  return segment;
}

/* --- Create --- */

static enum lfc_rma_flavor engine_flavor(int flavor) {
  switch (flavor) {
    case MPI_WIN_FLAVOR_ALLOCATE: return LFC_RMA_ALLOCATE;
    case MPI_WIN_FLAVOR_SHARED: return LFC_RMA_SHARED;
    case MPI_WIN_FLAVOR_DYNAMIC: return LFC_RMA_DYNAMIC;
    default: return LFC_RMA_CREATE;
  }
}

/* Returns whether the condition is true on all ranks. Also a barrier. */
static bool all_agree(ompi_communicator_t* comm, bool mine) {
  int own = mine;
  int all = 0;
  return comm->c_coll->coll_allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm,
                                      comm->c_coll->coll_allreduce_module) == OMPI_SUCCESS &&
         all != 0;
}

/* The status of a window that cannot be made. */
static int cannot_be_made(int flavor) {
  return flavor == MPI_WIN_FLAVOR_SHARED ? OMPI_ERR_RMA_SHARED : OMPI_ERR_OUT_OF_RESOURCE;
}

/* Exchanges what all members must know of each other. */
static bool connect_members(rma_module* module) {
  ompi_communicator_t* comm = module->comm;
  const int ranks = ompi_comm_size(comm);
  const size_t size = lfc_rma_facts_size();
  char why[256];
  void* facts = malloc(size * (size_t)ranks);
  uint32_t* peers = malloc(sizeof *peers * (size_t)ranks);
  bool* local_peers = malloc(sizeof *local_peers * (size_t)ranks);
  bool done = facts != NULL && peers != NULL && local_peers != NULL;
  if (all_agree(comm, done)) {
    const void* own = lfc_rma_window_facts(module->window);
    done = comm->c_coll->coll_allgather((void*)(uintptr_t)own, (int)size, MPI_BYTE, facts,
                                        (int)size, MPI_BYTE, comm,
                                        comm->c_coll->coll_allgather_module) == OMPI_SUCCESS;
    for (int rank = 0; done && rank < ranks; ++rank) {
      const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
      peers[rank] = rma_peer_of(comm, rank, why, sizeof why);
      local_peers[rank] = OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
    }
    if (done) {
      bool mapped = false;
      done = lfc_rma_window_connect(module->window, facts, peers, local_peers, &mapped) ==
                 LFC_RMA_OK &&
             (mapped || module->flavor != MPI_WIN_FLAVOR_SHARED);
    }
  }
  free(facts);
  free(peers);
  free(local_peers);
  return done;
}

static void discard(rma_module* module) {
  if (module == NULL) return;
  if (module->window != NULL) lfc_rma_window_free(module->window);
  if (module->comm != NULL) (void)ompi_comm_free(&module->comm);
  free(module->counts);
  free(module);
}

static void print_window(const rma_module* module) {
  const int ranks = ompi_comm_size(module->comm);
  int mapped = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    uint64_t size;
    uint32_t unit;
    void* base;
    const bool here = lfc_rma_window_query(module->window, (uint32_t)rank, &size, &unit, &base);
    mapped += here;
    if (mca_osc_neon_component.parameters.verbose >= 2)
      opal_output(0, "osc neon: window of %d ranks: rank %d, %llu bytes, %s", ranks, rank,
                  (unsigned long long)size, here ? "mapped here" : "reached through the link");
  }
  opal_output(0, "osc neon: window of %d ranks: %d mapped here, %d reached through links", ranks,
              mapped, ranks - mapped);
}

/* MPI_Win_get_info shows it beside the user's info. Programs in wide use lock such a window nevertheless, so Open MPI
 * does not refuse that. */
static lfc_info_text* no_locks_info(opal_infosubscriber_t* object, lfc_info_text* key,
                                    lfc_info_text* value) {
  ompi_win_t* win = (ompi_win_t*)object;
  (void)key;
  const bool no_locks = value != NULL && strcmp(value, "true") == 0;
  rma_module_of(win)->no_locks = no_locks;
  static char yes[] = "true";
  static char no[] = "false";
  return no_locks ? yes : no;
}

static int free_window(ompi_win_t* win) {
  rma_module* module = rma_module_of(win);
  if (module == NULL) return OMPI_SUCCESS;
  /* Open MPI 4.1 deletes attributes, which notify mpix_neon of the end, after the memory is gone. */
  if (module->end_neon != NULL) module->end_neon(module->endpoint);
  const enum lfc_rma_status status = lfc_rma_drain(module->window);
  ompi_communicator_t* comm = module->comm;
  /* Synchronise before freeing, because others may still access the memory; also after an error, because others wait
   * for this rank. */
  if (status != LFC_RMA_LOST)
    (void)comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
  win->w_osc_module = NULL;
  discard(module);
  count_windows(-1);
  return rma_error(status);
}

static int shared_query(ompi_win_t* win, int rank, size_t* size, int* disp_unit, void* baseptr) {
  rma_module* module = rma_module_of(win);
  uint64_t bytes = 0;
  uint32_t unit = 1;
  void* base = NULL;
  if (module->flavor != MPI_WIN_FLAVOR_SHARED) return OMPI_ERR_RMA_FLAVOR;
  if (rank != MPI_PROC_NULL) {
    (void)lfc_rma_window_query(module->window, (uint32_t)rank, &bytes, &unit, &base);
  } else {
    /* The lowest rank with memory. */
    for (int i = 0; bytes == 0 && i < ompi_comm_size(module->comm); ++i)
      (void)lfc_rma_window_query(module->window, (uint32_t)i, &bytes, &unit, &base);
  }
  *size = bytes;
  *disp_unit = (int)unit;
  *(void**)baseptr = bytes == 0 ? NULL : base;
  return OMPI_SUCCESS;
}

static int attach(ompi_win_t* win, void* base, size_t size) {
  rma_module* module = rma_module_of(win);
  if (module->flavor != MPI_WIN_FLAVOR_DYNAMIC) return OMPI_ERR_RMA_FLAVOR;
  return lfc_rma_attach(module->window, base, size) == LFC_RMA_OK ? OMPI_SUCCESS
                                                                  : OMPI_ERR_RMA_ATTACH;
}

static int detach(ompi_win_t* win, const void* base) {
  rma_module* module = rma_module_of(win);
  if (module->flavor != MPI_WIN_FLAVOR_DYNAMIC) return OMPI_ERR_RMA_FLAVOR;
  return lfc_rma_detach(module->window, base) == LFC_RMA_OK ? OMPI_SUCCESS : MPI_ERR_BASE;
}

int rma_window_select(ompi_win_t* win, void** base, size_t size, int disp_unit,
                      ompi_communicator_t* comm, opal_info_t* info, int flavor, int* model) {
  rma_module* module = calloc(1, sizeof *module);
  const int ranks = ompi_comm_size(comm);
  bool done = module != NULL && (module->counts = calloc((size_t)ranks, sizeof(uint32_t))) != NULL;
  if (!all_agree(comm, done)) {
    discard(module);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  module->flavor = flavor;
  module->ranks = (uint32_t)ranks;
  module->super = (ompi_osc_base_module_t){.osc_win_shared_query = shared_query,
                                           .osc_win_attach = attach,
                                           .osc_win_detach = detach,
                                           .osc_free = free_window};
  rma_fill_operations(&module->super);
  rma_fill_epochs(&module->super);
  int status = ompi_comm_dup(comm, &module->comm);
  if (status != OMPI_SUCCESS) {
    discard(module);
    return status;
  }

  char why_unshared[256] = "";
  struct lfc_rma_shape shape = {.flavor = engine_flavor(flavor),
                                .base = flavor == MPI_WIN_FLAVOR_CREATE ? *base : NULL,
                                .size = size,
                                .displacement_unit = (uint32_t)disp_unit,
                                .rank = (uint32_t)ompi_comm_rank(comm),
                                .ranks = (uint32_t)ranks};
  if (flavor == MPI_WIN_FLAVOR_SHARED)
    shape.segment = shared_segment(module->comm, info, size, &shape);
  if (flavor != MPI_WIN_FLAVOR_SHARED || shape.segment != NULL)
    module->window = lfc_rma_window_create(&shape, why_unshared, sizeof why_unshared);
  if (shape.segment != NULL) lfc_rma_segment_free(shape.segment);

  done = all_agree(module->comm, module->window != NULL) && connect_members(module);
  /* When all agree, all have mapped the memory that they use. */
  if (!all_agree(module->comm, done)) {
    discard(module);
    return cannot_be_made(flavor);
  }
  if (why_unshared[0] != '\0')
    lfc_help("unshared window", why_unshared, lfc_node_of(opal_proc_local_get()));
  lfc_rma_window_close_segment(module->window);
  module->all_mapped = all_agree(module->comm, lfc_rma_window_all_mapped(module->window));
  if (mca_osc_neon_component.parameters.verbose >= 1) print_window(module);
  count_windows(1);
  if (flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED)
    *base = lfc_rma_window_memory(module->window);
  *model = MPI_WIN_UNIFIED;
  win->w_osc_module = &module->super;
  static char key[] = "no_locks";
  static char otherwise[] = "false";
  (void)opal_infosubscribe_subscribe(&win->super, key, otherwise, no_locks_info);
  return OMPI_SUCCESS;
}

bool rma_serves(const ompi_win_t* win) {
  return win->w_osc_module != NULL && win->w_osc_module->osc_free == free_window;
}
