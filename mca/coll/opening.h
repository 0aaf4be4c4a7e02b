/* Opening: a call of the engine with MPI's buffers opened as bytes, until the call closes them.
 *
 *   lfc_coll_opening it;
 *   it.module = module;
 *   lfc_coll_open_nothing(&it, LFC_COLL_GATHER, root);
 *   bool opened = lfc_coll_buffer_open(&it.operands.in, address, count, type, true);
 *   return lfc_coll_run_opened(&it, opened);       // or lfc_coll_start_opened(), lfc_coll_keep_opened()
 *
 * Threads: values.
 */
#ifndef LFC_COLL_OPENING_H
#define LFC_COLL_OPENING_H

#include "request.h"

typedef struct lfc_coll_opening {
  mca_coll_base_module_t* module; /* that Open MPI calls; set before the rest is opened */
  struct lfc_coll_call call;
  lfc_coll_operands operands;
} lfc_coll_opening;

void lfc_coll_open_nothing(lfc_coll_opening* it, enum lfc_coll_kind kind, int root);
/* Whether this rank's own block, `count` elements, has the size of the call's blocks, in bytes. If not, the call goes
 * on without it, so that no rank waits for ever, and fails. */
bool lfc_coll_own_fits(lfc_coll_opening* it, int count, const ompi_datatype_t* type, size_t block);
/* Run or start the call, and close the operands. `opened` false: there was no memory, so they fail. */
int lfc_coll_run_opened(lfc_coll_opening* it, bool opened);
int lfc_coll_start_opened(lfc_coll_opening* it, bool opened, ompi_communicator_t* comm,
                          ompi_request_t** request);
/* Makes a request for MPI_Start (lfc_coll_request_keep()), which closes the operands when it is freed. */
int lfc_coll_keep_opened(lfc_coll_opening* it, bool opened, ompi_communicator_t* comm,
                         ompi_request_t** request);

#endif
