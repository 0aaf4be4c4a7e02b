/* One communicator: whether LFC serves it, decided alike by all its ranks. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll_lfc.h"
#include "modex.h"
#include "pml_hooks/pml_hooks.h"
#include "topology.h"

static void construct(lfc_coll_module* module) {
  module->communicator = NULL;
  module->of = NULL;
  module->topology = (struct lfc_coll_topology){.from = NULL};
  module->neighbours = NULL;
}

static void destruct(lfc_coll_module* module) {
  LFC_TAKEN_OVER(module);
  lfc_coll_part_from(module->neighbours);
  if (module->communicator != NULL) lfc_coll_leave(module->communicator);
  if (module->of == &ompi_mpi_comm_world.comm)
    lfc_coll_leave_rest(); /* persistent requests that the program has not freed have groups */
  lfc_coll_topology_close(&module->topology);
}

OBJ_CLASS_INSTANCE(lfc_coll_module, mca_coll_base_module_t, construct, destruct);

static struct lfc_coll_process name_of(const opal_process_name_t* name) {
  return (struct lfc_coll_process){name->jobid, name->vpid};
}

/* Introduces a process to the engine by its published facts; one without any has no LFC. */
static void introduce(const ompi_proc_t* proc) {
  if (proc == ompi_proc_local()) {
    const struct lfc_exchange_record own = lfc_exchange_own();
    lfc_coll_introduce(name_of(&proc->super.proc_name), own.coll, own.coll_size, own.address,
                       own.address_size);
  } else {
    lfc_modex_introduce(&proc->super);
  }
}

static lfc_coll_communicator* join(ompi_communicator_t* comm, enum lfc_coll_use use, char* why,
                                   size_t why_size) {
  const int size = ompi_comm_size(comm);
  struct lfc_coll_process* processes = malloc((size_t)size * sizeof *processes);
  if (processes == NULL) return NULL;
  for (int rank = 0; rank < size; ++rank) {
    const ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
    processes[rank] = name_of(&proc->super.proc_name);
    if (!lfc_coll_knows(processes[rank])) introduce(proc);
  }
  lfc_coll_communicator* communicator = lfc_coll_join(lfc_communicator_key(comm), processes, size,
                                                      ompi_comm_rank(comm), use, why, why_size);
  free(processes);
  return communicator;
}

lfc_coll_communicator* lfc_coll_join_again(ompi_communicator_t* comm, enum lfc_coll_use use) {
  char why[256]; /* none: LFC serves it already */
  return join(comm, use, why, sizeof why);
}

/* No process has two communicators of one number at a time, so it makes at most as many boards as there are numbers
 * below the limit. All ranks have the same number, so they need not agree. */
static bool has_too_high_number(ompi_communicator_t* comm,
                                const lfc_coll_communicator* communicator) {
  const uint32_t number = lfc_communicator_number(comm);
  const bool needs_boards = (int)lfc_coll_nodes(communicator) < ompi_comm_size(comm);
  return needs_boards && number != LFC_NO_NUMBER && number >= lfc_coll_most_communicators();
}

/* Combines a word of all ranks by AND. On one node they sleep until all have arrived. Otherwise the component below
 * combines it. MPI_Init lets no waiting rank yield until its last step: with more ranks than cores each would poll
 * through its time slice for a rank that has no core. */
static bool combine(lfc_coll_module* own, ompi_communicator_t* comm, uint32_t* word) {
  if (lfc_coll_combine_on_node(own->communicator, word)) return true;
  const bool crowded = mca_coll_lfc_component.options.crowded;
  const bool yielded = crowded && opal_progress_set_yield_when_idle(true);
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(&own->super, allreduce);
  const int status =
      below->coll_allreduce(MPI_IN_PLACE, word, 1, MPI_UINT32_T, MPI_BAND, comm, below);
  if (crowded) (void)opal_progress_set_yield_when_idle(yielded);
  return status == OMPI_SUCCESS;
}

/* Each rank determines which ranks it can reach. All ranks agree on the result once, on MPI_COMM_WORLD. MPI_Init makes
 * that communicator before there are others, or other threads. */
static bool agree(lfc_coll_module* own, ompi_communicator_t* comm) {
  enum { kRecords = 1 << 16 }; /* above the bits of lfc_coll_reach() */
  uint32_t found = lfc_coll_reach(own->communicator) | (lfc_pml_hooks_record() ? kRecords : 0u);
  if (!combine(own, comm, &found)) return false; /* and MPI_Init will also fail */
  lfc_pml_hooks_agree((found & kRecords) != 0);
  found &= ~(uint32_t)kRecords;
  lfc_coll_agree(found);
  const uint32_t needed =
      LFC_COLL_BOARDS | (lfc_coll_nodes(own->communicator) > 1 ? LFC_COLL_NODES : 0);
  return (found & needed) == needed;
}

static void say(const ompi_communicator_t* comm, const char* not_why) {
  if (mca_coll_lfc_component.options.parameters.verbose == 0) return;
  opal_output(0, "coll lfc: %s: %s%s", comm->c_name,
              not_why == NULL ? "served" : "not served: ", not_why == NULL ? "" : not_why);
}

static void say_too_many(void) {
  static atomic_flag said = ATOMIC_FLAG_INIT; /* any thread's progress makes communicators */
  if (mca_coll_lfc_component.options.parameters.verbose > 0 && !atomic_flag_test_and_set(&said))
    opal_output(
        0, "coll lfc: more than %u communicators at a time are not served (this is printed once)",
        lfc_coll_most_communicators());
}

/* --- The component below --- */

/* Open MPI enables modules from low to high priority, and appends each to the list of the communicator. */
mca_coll_base_module_t* lfc_coll_find_below(mca_coll_base_module_t* module, size_t call) {
  mca_coll_base_module_t* found = NULL;
  const mca_coll_base_avail_coll_t* each = NULL;
  OPAL_LIST_FOREACH(each, lfc_coll_own(module)->of->c_coll->module_list,
                    mca_coll_base_avail_coll_t) {
    if (each->ac_module == module) break;
    void (*function)(void) = NULL;
    memcpy(&function, (const char*)each->ac_module + call, sizeof function);
    if (function != NULL) found = each->ac_module;
  }
  return found;
}

bool lfc_coll_has_persistent_below(mca_coll_base_module_t* module) {
#define AND_THERE(call) &&LFC_COLL_BELOW_OF(module, call) != NULL
  return true LFC_COLL_BELOW_PERSISTENT(AND_THERE);
}

static bool has_all_below(mca_coll_base_module_t* module) {
  return true LFC_COLL_BELOW(AND_THERE);
#undef AND_THERE
}

static int enable(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
  lfc_coll_module* own = (lfc_coll_module*)module;
  own->of = comm;
  if (!has_all_below(module)) return OMPI_ERR_NOT_FOUND;
  if (comm == &ompi_mpi_comm_world.comm && !agree(own, comm)) {
    say(comm, "some rank cannot reach another by LFC");
    return OMPI_ERR_NOT_AVAILABLE;
  }
#define OFFER(file) lfc_coll_offer_##file(own);
  LFC_COLL_OFFERS(OFFER)
#undef OFFER
  say(comm, NULL);
  LFC_PASSED_ON(module);
  return OMPI_SUCCESS;
}

mca_coll_base_module_t* lfc_coll_query(ompi_communicator_t* comm, int* priority) {
  const lfc_coll_component* component = &mca_coll_lfc_component;
  char why[256] = "it has one rank, or is an inter-communicator";
  lfc_coll_communicator* communicator = NULL;
  if (!OMPI_COMM_IS_INTER(comm) && ompi_comm_size(comm) > 1)
    communicator = join(comm, LFC_COLL_COMMUNICATOR, why, sizeof why);
  if (communicator == NULL) {
    say(comm, why);
    return NULL;
  }
  if (has_too_high_number(comm, communicator)) {
    lfc_coll_leave(communicator);
    say_too_many();
    return NULL;
  }

  lfc_coll_module* module = OBJ_NEW(lfc_coll_module);
  module->communicator = communicator;
  module->super.coll_module_enable = enable;
  *priority = (int)component->options.parameters.priority;
  return &module->super;
}
