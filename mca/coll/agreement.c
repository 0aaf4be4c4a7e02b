/* Agreements in MPI_Init, and at the first blocking collective of a communicator. */
#include "agreement.h"

#include "pml_hooks/pml_hooks.h"

/* Combines a word of all ranks by AND, by the component below. Returns Open MPI's status. */
static int combine_below(lfc_coll_module* own, ompi_communicator_t* comm, uint32_t* word) {
  mca_coll_base_module_t* below = LFC_COLL_BELOW_OF(&own->super, allreduce);
  return below->coll_allreduce(MPI_IN_PLACE, word, 1, MPI_UINT32_T, MPI_BAND, comm, below);
}

/* The reason why ranks that can reach these parts of a communicator are not served. */
static const char* why_not(uint32_t found) {
  return (found & (LFC_COLL_BOARDS | LFC_COLL_ROOM)) != LFC_COLL_BOARDS
             ? LFC_COLL_OUT_OF_REACH
             : "a node has no board left for one communicator more, or a rank has too little "
               "address space for it (ulimit -v)";
}

/* --- In MPI_Init --- */

/* On one node the ranks sleep until all have arrived. MPI_Init lets no waiting rank yield until its last step: with
 * more ranks than cores each would poll through its time slice for a rank that has no core. */
static bool combine_in_init(lfc_coll_module* own, ompi_communicator_t* comm, uint32_t* word) {
  if (lfc_coll_combine_on_node(own->communicator, word)) return true;
  const bool crowded = mca_coll_lfc_component.options.crowded;
  const bool yielded = crowded && opal_progress_set_yield_when_idle(true);
  const int status = combine_below(own, comm, word);
  if (crowded) (void)opal_progress_set_yield_when_idle(yielded);
  return status == OMPI_SUCCESS;
}

bool lfc_coll_agree_in_init(lfc_coll_module* own, ompi_communicator_t* comm) {
  enum { kHooks = 16 }; /* first bit above those of lfc_coll_reach() */
  uint32_t found = lfc_coll_reach(own->communicator) | (uint32_t)lfc_pml_hooks_gather() << kHooks;
  if (!combine_in_init(own, comm, &found)) return false; /* and MPI_Init will also fail */
  lfc_pml_hooks_agree(found >> kHooks);
  found &= (UINT32_C(1) << kHooks) - 1;
  lfc_coll_agree_for_job(found | LFC_COLL_ROOM); /* each communicator has room of its own */
  if (lfc_coll_agree(own->communicator, found)) return true;
  lfc_coll_explain(comm, why_not(found));
  return false;
}

/* --- At the first blocking collective --- */

/* All calls that LFC offers: those that agree, and the others. */
#define FIRST_CALLS(each)                                                                        \
  each(barrier) each(bcast) each(reduce) each(allreduce) each(reduce_scatter_block)              \
      each(allgather) each(alltoall) each(allgatherv) each(alltoallv) each(gather) each(scatter) \
          each(gatherv) each(scatterv) each(scan) each(exscan)
#define OTHER_CALLS(each)                                                                          \
  each(ibarrier) each(ibcast) each(ireduce) each(iallreduce) each(iallgather) each(ialltoall)      \
      each(iallgatherv) each(ialltoallv) each(igather) each(iscatter) each(igatherv)               \
          each(iscatterv) each(iscan) each(iexscan) each(neighbor_allgather)                       \
              each(neighbor_allgatherv) each(neighbor_alltoall) each(neighbor_alltoallv)           \
                  each(neighbor_alltoallw) each(ineighbor_allgather) each(ineighbor_allgatherv)    \
                      each(ineighbor_alltoall) each(ineighbor_alltoallv) each(ineighbor_alltoallw) \
                          LFC_COLL_BELOW_PERSISTENT(each)

/* Lets Open MPI call this module where it has the function, and the component below elsewhere. A component above that
 * has taken a function over keeps it. */
#define HAND_OVER(call)                                                                        \
  {                                                                                            \
    mca_coll_base_module_t* const below = LFC_COLL_BELOW_OF(&own->super, call);                \
    mca_coll_base_module_t* const next = own->super.coll_##call != NULL ? &own->super : below; \
    mca_coll_base_module_t** const present = &comm->c_coll->coll_##call##_module;              \
    if (next != NULL && (*present == &own->super || *present == below)) {                      \
      OBJ_RETAIN(next);                                                                        \
      if (*present != NULL) OBJ_RELEASE(*present);                                             \
      comm->c_coll->coll_##call = next->coll_##call;                                           \
      *present = next;                                                                         \
    }                                                                                          \
  }
#define TAKE_BACK(call) own->super.coll_##call = NULL;

/* Returns Open MPI's status. All ranks have made the same collective calls before, so either all decide in this one, or
 * none does. */
static int decide(lfc_coll_module* own, ompi_communicator_t* comm) {
  if (own->communicator == NULL || lfc_coll_serves(own->communicator)) return OMPI_SUCCESS;
  uint32_t found = lfc_coll_reach(own->communicator);
  const int status = combine_below(own, comm, &found);
  if (status != OMPI_SUCCESS) return status;
  FIRST_CALLS(TAKE_BACK)
  if (lfc_coll_agree(own->communicator, found)) {
    lfc_coll_offer(own, comm);
  } else {
    lfc_coll_leave(own->communicator);
    own->communicator = NULL;
    lfc_coll_explain(comm, why_not(found));
  }
  FIRST_CALLS(HAND_OVER)
  OTHER_CALLS(HAND_OVER)
  LFC_PASSED_ON(&own->super);
  return OMPI_SUCCESS;
}

/* The first call of each kind. Components above may call it also after the decision. `parameters` has `comm` and
 * `module`; `arguments` is for the module `serving`. */
#define FIRST(call, parameters, arguments)                                         \
  static int first_##call parameters {                                             \
    lfc_coll_module* own = lfc_coll_own(module);                                   \
    const int status = decide(own, comm);                                          \
    if (status != OMPI_SUCCESS) return status;                                     \
    mca_coll_base_module_t* serving =                                              \
        own->super.coll_##call != NULL ? module : LFC_COLL_BELOW_OF(module, call); \
    return serving->coll_##call arguments;                                         \
  }
#define COMM ompi_communicator_t *comm, mca_coll_base_module_t *module
#define BLOCK                                                                 \
  const void *in, int count, ompi_datatype_t *type, void *out, int out_count, \
      ompi_datatype_t *out_type
#define ELEMENTS const void *in, void *out, int count, ompi_datatype_t *type, ompi_op_t *op

FIRST(barrier, (COMM), (comm, serving))
FIRST(bcast, (void* buffer, int count, ompi_datatype_t* type, int root, COMM),
      (buffer, count, type, root, comm, serving))
FIRST(reduce, (ELEMENTS, int root, COMM), (in, out, count, type, op, root, comm, serving))
FIRST(allreduce, (ELEMENTS, COMM), (in, out, count, type, op, comm, serving))
FIRST(reduce_scatter_block, (ELEMENTS, COMM), (in, out, count, type, op, comm, serving))
FIRST(scan, (ELEMENTS, COMM), (in, out, count, type, op, comm, serving))
FIRST(exscan, (ELEMENTS, COMM), (in, out, count, type, op, comm, serving))
FIRST(allgather, (BLOCK, COMM), (in, count, type, out, out_count, out_type, comm, serving))
FIRST(alltoall, (BLOCK, COMM), (in, count, type, out, out_count, out_type, comm, serving))
FIRST(gather, (BLOCK, int root, COMM),
      (in, count, type, out, out_count, out_type, root, comm, serving))
FIRST(scatter, (BLOCK, int root, COMM),
      (in, count, type, out, out_count, out_type, root, comm, serving))
FIRST(allgatherv,
      (const void* in, int count, ompi_datatype_t* type, void* out, const int* out_counts,
       const int* out_places, ompi_datatype_t* out_type, COMM),
      (in, count, type, out, out_counts, out_places, out_type, comm, serving))
FIRST(gatherv,
      (const void* in, int count, ompi_datatype_t* type, void* out, const int* out_counts,
       const int* out_places, ompi_datatype_t* out_type, int root, COMM),
      (in, count, type, out, out_counts, out_places, out_type, root, comm, serving))
FIRST(scatterv,
      (const void* in, const int* counts, const int* places, ompi_datatype_t* type, void* out,
       int out_count, ompi_datatype_t* out_type, int root, COMM),
      (in, counts, places, type, out, out_count, out_type, root, comm, serving))
FIRST(alltoallv,
      (const void* in, const int* counts, const int* places, ompi_datatype_t* type, void* out,
       const int* out_counts, const int* out_places, ompi_datatype_t* out_type, COMM),
      (in, counts, places, type, out, out_counts, out_places, out_type, comm, serving))

void lfc_coll_agree_later(lfc_coll_module* own) {
#define OFFER_FIRST(call) own->super.coll_##call = first_##call;
  FIRST_CALLS(OFFER_FIRST)
}
