/* Request: a call of the engine as MPI sees it, blocking, nonblocking or persistent.
 *
 *   lfc_coll_request* request = lfc_coll_request_new();
 *   ... open request->operands ...
 *   return lfc_coll_request_start(request, comm, module, &call, out);   // owns and closes the operands
 *
 * The base's fields keep types and operations of a nonblocking call alive.
 */
#ifndef LFC_COLL_REQUEST_H
#define LFC_COLL_REQUEST_H

#include "buffer.h"
#include "coll_lfc.h"

typedef struct lfc_coll_request {
  ompi_coll_base_nbc_request_t base;
  lfc_coll_operation operation;
  lfc_coll_operands operands;
  /* Only in a persistent one: */
  bool in_place;                       /* no operand is in a copy */
  lfc_coll_communicator* communicator; /* its own group, as are the call's neighbours */
  struct lfc_coll_call call;
} lfc_coll_request;

/* NULL: no memory. Released by OBJ_RELEASE if it is not started. */
lfc_coll_request* lfc_coll_request_new(void);
/* Starts the call. The request completes from inside progress. */
int lfc_coll_request_start(lfc_coll_request* request, ompi_communicator_t* comm,
                           mca_coll_base_module_t* module, const struct lfc_coll_call* call,
                           ompi_request_t** out);
/* Makes it persistent: each MPI_Start performs the call. Collective: the ranks agree whether all have room for the
 * request's boards. OMPI_ERR_NOT_SUPPORTED: they have not, and the component below must serve the request. A rank
 * without memory for the request (NULL) must call as well. */
int lfc_coll_request_keep(lfc_coll_request* request, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module, const struct lfc_coll_call* call,
                          ompi_request_t** out);
/* Performs the call, and waits until it is complete. */
int lfc_coll_run_call(mca_coll_base_module_t* module, const struct lfc_coll_call* call);

#endif
