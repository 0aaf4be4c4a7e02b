/* One communicator: whether LFC serves it, decided alike by all its ranks. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "coll_lfc.h"
#include "failures.h"
#include "modex.h"
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
  const struct lfc_coll_key key = {lfc_communicator_key(comm),
                                   lfc_communicator_key_is_unique(comm)};
  lfc_coll_communicator* communicator =
      lfc_coll_join(key, processes, size, ompi_comm_rank(comm), use, why, why_size);
  free(processes);
  if (LFC_MPI_SURVIVES_FAULTS && communicator != NULL)
    lfc_coll_watch(communicator, lfc_failure_of, comm);
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

void lfc_coll_explain(const ompi_communicator_t* comm, const char* not_why) {
  if (mca_coll_lfc_component.options.parameters.verbose == 0) return;
  opal_output(0, "coll lfc: %s: %s%s", comm->c_name,
              not_why == NULL ? "served" : "not served: ", not_why == NULL ? "" : not_why);
}

static void print_too_many(void) {
  static atomic_flag printed = ATOMIC_FLAG_INIT; /* any thread's progress makes communicators */
  if (mca_coll_lfc_component.options.parameters.verbose > 0 && !atomic_flag_test_and_set(&printed))
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

void lfc_coll_offer(lfc_coll_module* own, const ompi_communicator_t* comm) {
#define OFFER(file) lfc_coll_offer_##file(own);
  LFC_COLL_OFFERS(OFFER)
#undef OFFER
  lfc_coll_explain(comm, NULL);
}

static int enable(mca_coll_base_module_t* module, ompi_communicator_t* comm) {
  lfc_coll_module* own = (lfc_coll_module*)module;
  own->of = comm;
  if (!has_all_below(module)) return OMPI_ERR_NOT_FOUND;
  if (comm == &ompi_mpi_comm_world.comm && !lfc_coll_agree_in_init(own, comm))
    return OMPI_ERR_NOT_AVAILABLE;
  if (lfc_coll_serves(own->communicator))
    lfc_coll_offer(own, comm);
  else
    lfc_coll_agree_later(own);
  LFC_PASSED_ON(module);
  return OMPI_SUCCESS;
}

/* Whether its job has agreed that LFC does not serve it. Communicators without a number are made of groups, perhaps
 * while another thread is in MPI_Init: some ranks would see the agreement of the job, and others none. */
static bool is_out_of_reach(ompi_communicator_t* comm, lfc_coll_communicator* communicator) {
  return lfc_communicator_number(comm) != LFC_NO_NUMBER && lfc_coll_agree_as_job(communicator) &&
         !lfc_coll_serves(communicator);
}

mca_coll_base_module_t* lfc_coll_query(ompi_communicator_t* comm, int* priority) {
  const lfc_coll_component* component = &mca_coll_lfc_component;
  char why[256] = "it has one rank, or is an inter-communicator";
  lfc_coll_communicator* communicator = NULL;
  if (!OMPI_COMM_IS_INTER(comm) && ompi_comm_size(comm) > 1)
    communicator = join(comm,
                        lfc_communicator_number(comm) == LFC_NO_NUMBER ? LFC_COLL_UNNUMBERED
                                                                       : LFC_COLL_COMMUNICATOR,
                        why, sizeof why);
  if (communicator == NULL) {
    lfc_coll_explain(comm, why);
    return NULL;
  }
  if (is_out_of_reach(comm, communicator)) {
    lfc_coll_leave(communicator);
    lfc_coll_explain(comm, LFC_COLL_OUT_OF_REACH);
    return NULL;
  }
  if (has_too_high_number(comm, communicator)) {
    lfc_coll_leave(communicator);
    print_too_many();
    return NULL;
  }

  lfc_coll_module* module = OBJ_NEW(lfc_coll_module);
  module->communicator = communicator;
  module->super.coll_module_enable = enable;
  *priority = (int)component->options.parameters.priority;
  return &module->super;
}
