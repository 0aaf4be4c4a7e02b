/* Gathers and scatters among ranks that share a node. (Others are the component below's: module.c does
 * not offer these.) MPI_Gatherv and MPI_Scatterv stay there, too: only the root knows all sizes. */
#include <stdlib.h>

#include "coll_lfc.h"
#include "request.h"

/* A call and what it works on. */
typedef struct operands {
  struct lfc_coll_call call;
  lfc_coll_buffer in, out;
  bool gets; /* `out` is unpacked at the end */
  struct lfc_coll_block* blocks;
} operands;

static void open_nothing(operands* it, enum lfc_coll_kind kind, int root) {
  lfc_coll_buffer_none(&it->in);
  lfc_coll_buffer_none(&it->out);
  it->gets = false;
  it->blocks = NULL;
  it->call = (struct lfc_coll_call){.kind = kind, .root = root};
}

static bool close_all(operands* it, bool unpack) {
  bool ok = lfc_coll_buffer_close(&it->in, false);
  ok = lfc_coll_buffer_close(&it->out, unpack) && ok;
  free(it->blocks);
  return ok;
}

static void settle(operands* it) {
  it->call.in = it->in.bytes;
  it->call.out = it->out.bytes;
  it->call.blocks = it->blocks;
}

static int run(operands* it, bool opened, mca_coll_base_module_t* module) {
  if (!opened) {
    (void)close_all(it, false);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  settle(it);
  const int status = lfc_coll_run_call(module, &it->call);
  const bool closed = close_all(it, it->gets && status == OMPI_SUCCESS);
  return status == OMPI_SUCCESS && !closed ? OMPI_ERROR : status;
}

static int start(operands* it, bool opened, ompi_communicator_t* comm,
                 mca_coll_base_module_t* module, ompi_request_t** request) {
  lfc_coll_request* made = opened ? lfc_coll_request_new() : NULL;
  if (made == NULL) {
    (void)close_all(it, false);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  settle(it);
  made->in = it->in;
  made->out = it->out;
  made->gets = it->gets;
  made->blocks = it->blocks;
  return lfc_coll_request_start(made, comm, module, &it->call, request);
}

static void* plain(const void* buffer) { return (void*)(uintptr_t)buffer; }

/* --- Allgather --- */

static bool open_allgather(operands* it, const void* in, int count, ompi_datatype_t* type, void* out,
                           int out_count, ompi_datatype_t* out_type, ompi_communicator_t* comm) {
  const bool in_place = in == MPI_IN_PLACE;
  open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->call.bytes = (size_t)out_count * out_type->super.size;
  it->gets = true;
  return (in_place || lfc_coll_buffer_open(&it->in, plain(in), (size_t)count, type, true)) &&
         lfc_coll_buffer_open(&it->out, out, (size_t)out_count * (size_t)ompi_comm_size(comm),
                              out_type, in_place);
}

int lfc_coll_allgather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                       ompi_datatype_t* out_type, ompi_communicator_t* comm,
                       mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_allgather(&it, in, count, type, out, out_count, out_type, comm);
  return run(&it, opened, module);
}

int lfc_coll_iallgather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                        ompi_datatype_t* out_type, ompi_communicator_t* comm,
                        ompi_request_t** request, mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_allgather(&it, in, count, type, out, out_count, out_type, comm);
  return start(&it, opened, comm, module, request);
}

static bool open_allgatherv(operands* it, const void* in, int count, ompi_datatype_t* type, void* out,
                            const int* counts, const int* displacements, ompi_datatype_t* out_type,
                            ompi_communicator_t* comm) {
  const int size = ompi_comm_size(comm);
  open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->gets = true;
  it->blocks = malloc((size_t)size * sizeof *it->blocks);
  if (it->blocks == NULL) return false;
  if (in != MPI_IN_PLACE &&
      !lfc_coll_buffer_open(&it->in, plain(in), (size_t)count, type, true))
    return false;
  if (!lfc_coll_buffer_open_pieces(&it->out, out, counts, displacements, size, out_type,
                                   ompi_comm_rank(comm), it->blocks))
    return false;
  for (int rank = 0; rank < size; ++rank)
    if (it->blocks[rank].bytes > it->call.bytes) it->call.bytes = it->blocks[rank].bytes;
  return true;
}

int lfc_coll_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                        const int* counts, const int* displacements, ompi_datatype_t* out_type,
                        ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  operands it;
  const bool opened =
      open_allgatherv(&it, in, count, type, out, counts, displacements, out_type, comm);
  return run(&it, opened, module);
}

int lfc_coll_iallgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                         const int* counts, const int* displacements, ompi_datatype_t* out_type,
                         ompi_communicator_t* comm, ompi_request_t** request,
                         mca_coll_base_module_t* module) {
  operands it;
  const bool opened =
      open_allgatherv(&it, in, count, type, out, counts, displacements, out_type, comm);
  return start(&it, opened, comm, module, request);
}

/* --- Gather --- */

static bool open_gather(operands* it, const void* in, int count, ompi_datatype_t* type, void* out,
                        int out_count, ompi_datatype_t* out_type, int root,
                        ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  const bool in_place = is_root && in == MPI_IN_PLACE;
  open_nothing(it, LFC_COLL_GATHER, root);
  it->gets = is_root;
  it->call.bytes = is_root ? (size_t)out_count * out_type->super.size
                           : (size_t)count * type->super.size;
  if (!in_place && !lfc_coll_buffer_open(&it->in, plain(in), (size_t)count, type, true)) return false;
  return !is_root ||
         lfc_coll_buffer_open(&it->out, out, (size_t)out_count * (size_t)ompi_comm_size(comm),
                              out_type, in_place);
}

int lfc_coll_gather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                    ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                    mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_gather(&it, in, count, type, out, out_count, out_type, root, comm);
  return run(&it, opened, module);
}

int lfc_coll_igather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                     ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                     ompi_request_t** request, mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_gather(&it, in, count, type, out, out_count, out_type, root, comm);
  return start(&it, opened, comm, module, request);
}

/* --- Scatter --- */

static bool open_scatter(operands* it, const void* in, int count, ompi_datatype_t* type, void* out,
                         int out_count, ompi_datatype_t* out_type, int root,
                         ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  const bool gets = !is_root || out != MPI_IN_PLACE;
  open_nothing(it, LFC_COLL_SCATTER, root);
  it->gets = gets;
  it->call.bytes = is_root ? (size_t)count * type->super.size
                           : (size_t)out_count * out_type->super.size;
  if (is_root && !lfc_coll_buffer_open(&it->in, plain(in), (size_t)count * (size_t)ompi_comm_size(comm),
                                       type, true))
    return false;
  return !gets || lfc_coll_buffer_open(&it->out, out, (size_t)out_count, out_type, false);
}

int lfc_coll_scatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                     ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                     mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_scatter(&it, in, count, type, out, out_count, out_type, root, comm);
  return run(&it, opened, module);
}

int lfc_coll_iscatter(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                      ompi_datatype_t* out_type, int root, ompi_communicator_t* comm,
                      ompi_request_t** request, mca_coll_base_module_t* module) {
  operands it;
  const bool opened = open_scatter(&it, in, count, type, out, out_count, out_type, root, comm);
  return start(&it, opened, comm, module, request);
}
