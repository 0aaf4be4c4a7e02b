/* Gathers and scatters among ranks that share a node. (Others are the component below's: module.c does
 * not offer these.) MPI_Gatherv and MPI_Scatterv stay there, too: only the root knows all sizes. */
#include <stdlib.h>

#include "coll_lfc.h"
#include "request.h"

/* A call before it runs. */
typedef struct opening {
  struct lfc_coll_call call;
  lfc_coll_operands operands;
} opening;

static void open_nothing(opening* it, enum lfc_coll_kind kind, int root) {
  lfc_coll_operands_none(&it->operands);
  it->call = (struct lfc_coll_call){.kind = kind, .root = root};
}

static void settle(opening* it) {
  it->call.in = it->operands.in.bytes;
  it->call.out = it->operands.out.bytes;
  it->call.blocks = it->operands.blocks;
}

static int run(opening* it, bool opened, mca_coll_base_module_t* module) {
  if (!opened) {
    (void)lfc_coll_operands_close(&it->operands, false);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  settle(it);
  const int status = lfc_coll_run_call(module, &it->call);
  const bool closed = lfc_coll_operands_close(&it->operands, status == OMPI_SUCCESS);
  return status == OMPI_SUCCESS && !closed ? OMPI_ERROR : status;
}

static int start(opening* it, bool opened, ompi_communicator_t* comm,
                 mca_coll_base_module_t* module, ompi_request_t** request) {
  lfc_coll_request* made = opened ? lfc_coll_request_new() : NULL;
  if (made == NULL) {
    (void)lfc_coll_operands_close(&it->operands, false);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  settle(it);
  made->operands = it->operands;
  return lfc_coll_request_start(made, comm, module, &it->call, request);
}

/* Whether this rank's own block, so many elements, is as large as those that the call counts in. If not, the
 * call goes on without it, so that nobody waits, and fails. */
static bool own_fits(opening* it, int count, const ompi_datatype_t* type, size_t block) {
  it->call.mismatch = (size_t)count * type->super.size != block;
  return !it->call.mismatch;
}

static void* plain(const void* buffer) { return (void*)(uintptr_t)buffer; }

/* --- Allgather --- */

static bool open_allgather(opening* it, const void* in, int count, ompi_datatype_t* type, void* out,
                           int out_count, ompi_datatype_t* out_type, ompi_communicator_t* comm) {
  const bool in_place = in == MPI_IN_PLACE;
  open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->call.bytes = (size_t)out_count * out_type->super.size;
  it->operands.gets = true;
  return (in_place || !own_fits(it, count, type, it->call.bytes) ||
          lfc_coll_buffer_open(&it->operands.in, plain(in), (size_t)count, type, true)) &&
         lfc_coll_buffer_open(&it->operands.out, out,
                              (size_t)out_count * (size_t)ompi_comm_size(comm), out_type, in_place);
}

static int call_allgather(const void* in, int count, ompi_datatype_t* type, void* out,
                          int out_count, ompi_datatype_t* out_type, ompi_communicator_t* comm,
                          mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_allgather(&it, in, count, type, out, out_count, out_type, comm);
  return run(&it, opened, module);
}

static int call_iallgather(const void* in, int count, ompi_datatype_t* type, void* out,
                           int out_count, ompi_datatype_t* out_type, ompi_communicator_t* comm,
                           ompi_request_t** request, mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_allgather(&it, in, count, type, out, out_count, out_type, comm);
  return start(&it, opened, comm, module, request);
}

static bool open_allgatherv(opening* it, const void* in, int count, ompi_datatype_t* type,
                            void* out, const int* counts, const int* displacements,
                            ompi_datatype_t* out_type, ompi_communicator_t* comm) {
  const int size = ompi_comm_size(comm);
  open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->operands.gets = true;
  it->operands.blocks = malloc((size_t)size * sizeof *it->operands.blocks);
  if (it->operands.blocks == NULL) return false;
  const int own = ompi_comm_rank(comm);
  if (!lfc_coll_buffer_open_pieces(&it->operands.out, out, counts, displacements, size, out_type,
                                   own, it->operands.blocks))
    return false;
  if (in != MPI_IN_PLACE && own_fits(it, count, type, it->operands.blocks[own].bytes) &&
      !lfc_coll_buffer_open(&it->operands.in, plain(in), (size_t)count, type, true))
    return false;
  for (int rank = 0; rank < size; ++rank)
    if (it->operands.blocks[rank].bytes > it->call.bytes)
      it->call.bytes = it->operands.blocks[rank].bytes;
  return true;
}

static int call_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                           const int* counts, const int* displacements, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  opening it;
  const bool opened =
      open_allgatherv(&it, in, count, type, out, counts, displacements, out_type, comm);
  return run(&it, opened, module);
}

static int call_iallgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                            const int* counts, const int* displacements, ompi_datatype_t* out_type,
                            ompi_communicator_t* comm, ompi_request_t** request,
                            mca_coll_base_module_t* module) {
  opening it;
  const bool opened =
      open_allgatherv(&it, in, count, type, out, counts, displacements, out_type, comm);
  return start(&it, opened, comm, module, request);
}

/* --- Gather --- */

static bool open_gather(opening* it, const void* in, int count, ompi_datatype_t* type, void* out,
                        int out_count, ompi_datatype_t* out_type, int root,
                        ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  const bool in_place = is_root && in == MPI_IN_PLACE;
  open_nothing(it, LFC_COLL_GATHER, root);
  it->operands.gets = is_root;
  it->call.bytes =
      is_root ? (size_t)out_count * out_type->super.size : (size_t)count * type->super.size;
  if (!in_place && own_fits(it, count, type, it->call.bytes) &&
      !lfc_coll_buffer_open(&it->operands.in, plain(in), (size_t)count, type, true))
    return false;
  return !is_root ||
         lfc_coll_buffer_open(&it->operands.out, out,
                              (size_t)out_count * (size_t)ompi_comm_size(comm), out_type, in_place);
}

static int call_gather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                       ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                       mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_gather(&it, in, count, type, out, out_count, out_type, root, comm);
  return run(&it, opened, module);
}

static int call_igather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                        ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                        ompi_request_t** request, mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_gather(&it, in, count, type, out, out_count, out_type, root, comm);
  return start(&it, opened, comm, module, request);
}

/* --- Scatter --- */

static bool open_scatter(opening* it, const void* in, int count, ompi_datatype_t* type, void* out,
                         int out_count, ompi_datatype_t* out_type, int root,
                         ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  open_nothing(it, LFC_COLL_SCATTER, root);
  it->call.bytes =
      is_root ? (size_t)count * type->super.size : (size_t)out_count * out_type->super.size;
  const bool in_place = is_root && out == MPI_IN_PLACE;
  const bool gets = !in_place && own_fits(it, out_count, out_type, it->call.bytes);
  it->operands.gets = gets;
  if (is_root && !lfc_coll_buffer_open(&it->operands.in, plain(in),
                                       (size_t)count * (size_t)ompi_comm_size(comm), type, true))
    return false;
  return !gets || lfc_coll_buffer_open(&it->operands.out, out, (size_t)out_count, out_type, false);
}

static int call_scatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                        ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                        mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_scatter(&it, in, count, type, out, out_count, out_type, root, comm);
  return run(&it, opened, module);
}

static int call_iscatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                         ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                         ompi_request_t** request, mca_coll_base_module_t* module) {
  opening it;
  const bool opened = open_scatter(&it, in, count, type, out, out_count, out_type, root, comm);
  return start(&it, opened, comm, module, request);
}

void lfc_coll_offer_gathers(mca_coll_base_module_t* module) {
  module->coll_allgather = call_allgather;
  module->coll_allgatherv = call_allgatherv;
  module->coll_gather = call_gather;
  module->coll_scatter = call_scatter;
  module->coll_iallgather = call_iallgather;
  module->coll_iallgatherv = call_iallgatherv;
  module->coll_igather = call_igather;
  module->coll_iscatter = call_iscatter;
}
