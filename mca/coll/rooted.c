/* Gathers and scatters of few bytes among several nodes. The blocks of all ranks travel together, in one packet, on the
 * trees between nodes:
 *
 *   scatter | a broadcast of all blocks, from which each rank copies its own
 *   gather  | a reduction by bitwise or: each rank contributes its own block, and zeros for the others
 *
 * So a node sends and receives one packet for all its ranks. Larger calls go to the component below: their blocks
 * would pass nodes that do not need them. */
#include <string.h>

#include "buffer.h"
#include "coll_lfc.h"
#include "request.h"

static void* plain(const void* buffer) { return (void*)(uintptr_t)buffer; }

/* Copies `count` elements from `address` into `to`, which has room for `block` bytes. */
static int copy_in(char* to, const void* address, int count, ompi_datatype_t* type, size_t block) {
  if ((size_t)count * type->super.size != block) return MPI_ERR_TRUNCATE;
  lfc_coll_buffer own;
  const bool opened = lfc_coll_buffer_open(&own, plain(address), (size_t)count, type, true);
  if (opened) memcpy(to, own.bytes, block);
  (void)lfc_coll_buffer_close(&own, false); /* a failed open may leave a copy */
  return opened ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* Copies a block of `block` bytes into `count` elements at `address`. */
static int copy_out(const char* from, void* address, int count, ompi_datatype_t* type,
                    size_t block) {
  if ((size_t)count * type->super.size != block) return MPI_ERR_TRUNCATE;
  lfc_coll_buffer own;
  if (!lfc_coll_buffer_open(&own, address, (size_t)count, type, false))
    return OMPI_ERR_OUT_OF_RESOURCE;
  memcpy(own.bytes, from, block);
  return lfc_coll_buffer_close(&own, true) ? OMPI_SUCCESS : OMPI_ERROR;
}

/* --- Gather --- */

/* The place of a rank's block of `count` elements at the root. */
static void* block_at(void* out, int rank, int count, const ompi_datatype_t* type) {
  ptrdiff_t lower = 0;
  ptrdiff_t extent = 0;
  (void)ompi_datatype_get_extent(type, &lower, &extent);
  /* MPI_BOTTOM is no address; MPI_BOTTOM and an offset are. */
  return (void*)((uintptr_t)out + (uintptr_t)(extent * rank * count));
}

/* A rank that cannot read its own block takes part all the same, so that the others need not wait. The call then fails
 * at the root as well. */
static int call_gather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                       ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                       mca_coll_base_module_t* module) {
  lfc_coll_module* own = lfc_coll_own(module);
  const int rank = ompi_comm_rank(comm);
  const size_t ranks = (size_t)ompi_comm_size(comm);
  const bool is_root = rank == root;
  const size_t block =
      is_root ? (size_t)out_count * out_type->super.size : (size_t)count * type->super.size;
  if (!lfc_coll_exchanges(own->communicator, LFC_COLL_GATHER, block))
    return own->below.gather(in, count, type, out, out_count, out_type, root, comm,
                             own->below.gather_module);
  if (block == 0) return OMPI_SUCCESS;
  char* const all = lfc_coll_room(own, ranks * block);
  if (all == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  memset(all, 0, ranks * block);
  const bool in_place = is_root && in == MPI_IN_PLACE;
  lfc_coll_buffer result;
  lfc_coll_buffer_none(&result);
  const bool opened =
      !is_root || lfc_coll_buffer_open(&result, out, (size_t)out_count * ranks, out_type, false);
  char* const place = all + (size_t)rank * block;
  const int own_status = in_place ? copy_in(place, block_at(out, rank, out_count, out_type),
                                            out_count, out_type, block)
                                  : copy_in(place, in, count, type, block);
  const struct lfc_coll_call call = {.kind = LFC_COLL_REDUCE,
                                     .root = root,
                                     .in = all,
                                     .out = opened ? result.bytes : all,
                                     .bytes = ranks * block,
                                     .op = LFC_OP_BOR,
                                     .type = LFC_ELEMENT_U8,
                                     .mismatch = !is_root && own_status != OMPI_SUCCESS};
  const int status = lfc_coll_run_call(module, &call);
  const bool closed = lfc_coll_buffer_close(&result, status == OMPI_SUCCESS);
  if (own_status != OMPI_SUCCESS) return own_status;
  if (status != OMPI_SUCCESS) return status;
  if (!opened) return OMPI_ERR_OUT_OF_RESOURCE;
  return closed ? OMPI_SUCCESS : OMPI_ERROR;
}

/* --- Scatter --- */

/* A root that cannot pack the blocks takes part all the same, so that the others need not wait. The call then fails at
 * all ranks. */
static int call_scatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                        ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                        mca_coll_base_module_t* module) {
  lfc_coll_module* own = lfc_coll_own(module);
  const int rank = ompi_comm_rank(comm);
  const size_t ranks = (size_t)ompi_comm_size(comm);
  const bool is_root = rank == root;
  const size_t block =
      is_root ? (size_t)count * type->super.size : (size_t)out_count * out_type->super.size;
  if (!lfc_coll_exchanges(own->communicator, LFC_COLL_SCATTER, block))
    return own->below.scatter(in, count, type, out, out_count, out_type, root, comm,
                              own->below.scatter_module);
  if (block == 0) return OMPI_SUCCESS;
  lfc_coll_buffer given;
  lfc_coll_buffer_none(&given);
  const bool opened =
      !is_root || lfc_coll_buffer_open(&given, plain(in), (size_t)count * ranks, type, true);
  char* const all = is_root ? given.bytes : lfc_coll_room(own, ranks * block);
  if (all == NULL) return OMPI_ERR_OUT_OF_RESOURCE;
  const struct lfc_coll_call call = {.kind = LFC_COLL_BCAST,
                                     .root = root,
                                     .in = all,
                                     .out = all,
                                     .bytes = ranks * block,
                                     .mismatch = !opened};
  int status = lfc_coll_run_call(module, &call);
  if (status == OMPI_SUCCESS && !(is_root && out == MPI_IN_PLACE))
    status = copy_out(all + (size_t)rank * block, out, out_count, out_type, block);
  (void)lfc_coll_buffer_close(&given, false);
  return opened ? status : OMPI_ERROR;
}

void lfc_coll_offer_rooted(lfc_coll_module* module) {
  if (lfc_coll_nodes(module->communicator) == 1) return;
  module->super.coll_gather = call_gather;
  module->super.coll_scatter = call_scatter;
}
