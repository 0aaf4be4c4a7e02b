/* One communicator: whether LFC serves it, decided alike by all its ranks. */
#include <stdlib.h>

#include "coll_lfc.h"
#include "modex.h"
#include "recorder.h"
#include "topology.h"

static void construct(lfc_coll_module* module) {
  module->communicator = NULL;
  module->is_world = false;
  module->below = (struct lfc_coll_below){0};
  module->topology = (struct lfc_coll_topology){.from = NULL};
  module->neighbours = NULL;
}

static void release(mca_coll_base_module_t* module) {
  if (module != NULL) OBJ_RELEASE(module);
}

static void destruct(lfc_coll_module* module) {
  lfc_coll_part_from(module->neighbours);
  if (module->communicator != NULL) lfc_coll_leave(module->communicator);
  if (module->is_world)
    lfc_coll_leave_rest(); /* persistent requests that the program has not freed have groups */
  lfc_coll_topology_close(&module->topology);
  release(module->below.reduce_module);
  release(module->below.allreduce_module);
  release(module->below.ireduce_module);
  release(module->below.iallreduce_module);
  release(module->below.reduce_init_module);
  release(module->below.allreduce_init_module);
  release(module->below.allgather_module);
  release(module->below.allgatherv_module);
  release(module->below.alltoall_module);
  release(module->below.reduce_scatter_block_module);
}

OBJ_CLASS_INSTANCE(lfc_coll_module, mca_coll_base_module_t, construct, destruct);

static struct lfc_coll_process name_of(const opal_process_name_t* name) {
  return (struct lfc_coll_process){name->jobid, name->vpid};
}

/* What the process has published; nothing at all is an answer, too. */
static void introduce(const ompi_proc_t* proc) {
  const opal_process_name_t* name = &proc->super.proc_name;
  uint8_t* facts = NULL;
  uint8_t* address = NULL;
  size_t facts_size = 0;
  size_t address_size = 0;
  if (lfc_modex_find(LFC_MODEX_COLL, name, &facts, &facts_size))
    (void)lfc_modex_find(LFC_MODEX_ADDRESS, name, &address, &address_size);
  const bool same_bytes = proc->super.proc_arch == ompi_proc_local()->super.proc_arch;
  lfc_coll_introduce(name_of(name), facts, same_bytes ? facts_size : 0, address, address_size);
  free(facts);
  free(address);
}

static lfc_coll_communicator* join(ompi_communicator_t* comm, char* why, size_t why_size) {
  const int size = ompi_comm_size(comm);
  struct lfc_coll_process* processes = malloc((size_t)size * sizeof *processes);
  if (processes == NULL) return NULL;
  for (int rank = 0; rank < size; ++rank) {
    const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
    processes[rank] = name_of(&proc->super.proc_name);
    if (!lfc_coll_knows(processes[rank])) introduce(proc);
  }
  lfc_coll_communicator* communicator = lfc_coll_join(lfc_communicator_key(comm), processes, size,
                                                      ompi_comm_rank(comm), why, why_size);
  free(processes);
  return communicator;
}

lfc_coll_communicator* lfc_coll_join_again(ompi_communicator_t* comm) {
  char why[256]; /* none: LFC serves it already */
  return join(comm, why, sizeof why);
}

#define TAKE(what)                                                 \
  do {                                                             \
    own->below.what = comm->c_coll->coll_##what;                   \
    own->below.what##_module = comm->c_coll->coll_##what##_module; \
    if (own->below.what == NULL) return OMPI_ERR_NOT_FOUND;        \
    OBJ_RETAIN(own->below.what##_module);                          \
  } while (0)

/* What is in reach each rank finds out for itself, so they have to agree: once, on the communicator of
 * all, by the component below. MPI_Init makes it before there are others, or other threads. */
static bool agree(const lfc_coll_module* own, ompi_communicator_t* comm) {
  enum { kRecords = 1 << 16 }; /* beside what LFC has found */
  int found = (int)lfc_coll_reach(own->communicator) | (lfc_recorder_ready() ? kRecords : 0);
  if (own->below.allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_BAND, comm,
                           own->below.allreduce_module) != OMPI_SUCCESS)
    return false; /* and MPI_Init will fail, too */
  lfc_recorder_agreed((found & kRecords) != 0);
  found &= ~kRecords;
  lfc_coll_agree((unsigned)found);
  const int needed = LFC_COLL_BOARDS | (lfc_coll_nodes(own->communicator) > 1 ? LFC_COLL_NODES : 0);
  return (found & needed) == needed;
}

static void say(const ompi_communicator_t* comm, const char* not_why) {
  if (mca_coll_lfc_component.options.said.verbose == 0) return;
  opal_output(0, "coll lfc: %s: %s%s", comm->c_name,
              not_why == NULL ? "served" : "not served: ", not_why == NULL ? "" : not_why);
}

/* Components are enabled from low to high priority: what is there now is what we fall back to. */
static int enable(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
  lfc_coll_module* own = (lfc_coll_module*)module;
  TAKE(reduce);
  TAKE(allreduce);
  TAKE(ireduce);
  TAKE(iallreduce);
  TAKE(allgather);
  TAKE(allgatherv);
  TAKE(alltoall);
  TAKE(reduce_scatter_block);
  lfc_coll_offer_exchanges(module);
  if (comm->c_coll->coll_reduce_init != NULL && comm->c_coll->coll_allreduce_init != NULL) {
    TAKE(reduce_init);
    TAKE(allreduce_init);
    lfc_coll_offer_persistent(module);
  }
  own->is_world = comm == &ompi_mpi_comm_world.comm;
  if (own->is_world && !agree(own, comm)) {
    say(comm, "some rank cannot reach another by LFC");
    return OMPI_ERR_NOT_AVAILABLE;
  }
  if (lfc_coll_reads_memory(own->communicator)) {
    lfc_coll_offer_rows(module);
    lfc_coll_offer_neighbours(module);
  }
  say(comm, NULL);
  return OMPI_SUCCESS;
}

mca_coll_base_module_t* lfc_coll_query(ompi_communicator_t* comm, int* priority) {
  const lfc_coll_component* component = &mca_coll_lfc_component;
  char why[256] = "it has one rank, or is an inter-communicator";
  lfc_coll_communicator* communicator = NULL;
  if (!OMPI_COMM_IS_INTER(comm) && ompi_comm_size(comm) > 1)
    communicator = join(comm, why, sizeof why);
  if (communicator == NULL) {
    say(comm, why);
    return NULL;
  }

  lfc_coll_module* module = OBJ_NEW(lfc_coll_module);
  module->communicator = communicator;
  mca_coll_base_module_t* super = &module->super;
  super->coll_module_enable = enable;
  super->coll_bcast = lfc_coll_bcast;
  super->coll_barrier = lfc_coll_barrier;
  super->coll_reduce = lfc_coll_reduce;
  super->coll_allreduce = lfc_coll_allreduce;
  super->coll_ibcast = lfc_coll_ibcast;
  super->coll_ibarrier = lfc_coll_ibarrier;
  super->coll_ireduce = lfc_coll_ireduce;
  super->coll_iallreduce = lfc_coll_iallreduce;
  if (lfc_coll_nodes(communicator) == 1) lfc_coll_offer_gathers(super);
  *priority = (int)component->options.said.priority;
  return super;
}
