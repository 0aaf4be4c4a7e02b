/* Gathers and scatters among ranks that share a node. The component below serves other communicators. */
#include <stdlib.h>

#include "coll_lfc.h"
#include "forms.h"

/* --- Allgather --- */

static bool open_allgather(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                           void* out, int out_count, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm) {
  const bool in_place = in == MPI_IN_PLACE;
  lfc_coll_open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->call.bytes = (size_t)out_count * out_type->super.size;
  it->operands.gets = true;
  return (in_place || !lfc_coll_own_fits(it, count, type, it->call.bytes) ||
          lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in), (size_t)count, type, true)) &&
         lfc_coll_buffer_open(&it->operands.out, out,
                              (size_t)out_count * (size_t)ompi_comm_size(comm), out_type, in_place);
}

LFC_COLL_FORMS(allgather, allgather,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type),
               (in, count, type, out, out_count, out_type))

int lfc_coll_allgather(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                       ompi_datatype_t* out_type, ompi_communicator_t* comm,
                       mca_coll_base_module_t* module) {
  return call_allgather(in, count, type, out, out_count, out_type, comm, module);
}

static bool open_allgatherv(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                            void* out, const int* counts, const int* displacements,
                            ompi_datatype_t* out_type, ompi_communicator_t* comm) {
  const int size = ompi_comm_size(comm);
  lfc_coll_open_nothing(it, LFC_COLL_ALLGATHER, 0);
  it->operands.gets = true;
  it->operands.blocks = malloc((size_t)size * sizeof *it->operands.blocks);
  if (it->operands.blocks == NULL) return false;
  const int own = ompi_comm_rank(comm);
  if (!lfc_coll_buffer_open_pieces(&it->operands.out, out, counts, displacements, size, out_type,
                                   own, it->operands.blocks))
    return false;
  if (in != MPI_IN_PLACE && lfc_coll_own_fits(it, count, type, it->operands.blocks[own].bytes) &&
      !lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in), (size_t)count, type, true))
    return false;
  for (int rank = 0; rank < size; ++rank)
    if (it->operands.blocks[rank].bytes > it->call.bytes)
      it->call.bytes = it->operands.blocks[rank].bytes;
  return true;
}

LFC_COLL_FORMS(allgatherv, allgatherv,
               (const void* in, int count, ompi_datatype_t* type, void* out, const int* counts,
                const int* displacements, ompi_datatype_t* out_type),
               (in, count, type, out, counts, displacements, out_type))

int lfc_coll_allgatherv(const void* in, int count, ompi_datatype_t* type, void* out,
                        const int* counts, const int* displacements, ompi_datatype_t* out_type,
                        ompi_communicator_t* comm, mca_coll_base_module_t* module) {
  return call_allgatherv(in, count, type, out, counts, displacements, out_type, comm, module);
}

/* --- Gather --- */

static bool open_gather(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                        void* out, int out_count, ompi_datatype_t* out_type, int root,
                        ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  const bool in_place = is_root && in == MPI_IN_PLACE;
  lfc_coll_open_nothing(it, LFC_COLL_GATHER, root);
  it->operands.gets = is_root;
  it->call.bytes =
      is_root ? (size_t)out_count * out_type->super.size : (size_t)count * type->super.size;
  if (!in_place && lfc_coll_own_fits(it, count, type, it->call.bytes) &&
      !lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in), (size_t)count, type, true))
    return false;
  return !is_root ||
         lfc_coll_buffer_open(&it->operands.out, out,
                              (size_t)out_count * (size_t)ompi_comm_size(comm), out_type, in_place);
}

LFC_COLL_FORMS(gather, gather,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type, int root),
               (in, count, type, out, out_count, out_type, root))

/* --- Scatter --- */

static bool open_scatter(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                         void* out, int out_count, ompi_datatype_t* out_type, int root,
                         ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_open_nothing(it, LFC_COLL_SCATTER, root);
  it->call.bytes =
      is_root ? (size_t)count * type->super.size : (size_t)out_count * out_type->super.size;
  const bool in_place = is_root && out == MPI_IN_PLACE;
  const bool gets = !in_place && lfc_coll_own_fits(it, out_count, out_type, it->call.bytes);
  it->operands.gets = gets;
  if (is_root && !lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in),
                                       (size_t)count * (size_t)ompi_comm_size(comm), type, true))
    return false;
  return !gets || lfc_coll_buffer_open(&it->operands.out, out, (size_t)out_count, out_type, false);
}

LFC_COLL_FORMS(scatter, scatter,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type, int root),
               (in, count, type, out, out_count, out_type, root))

void lfc_coll_offer_gathers(lfc_coll_module* module) {
  if (lfc_coll_nodes(module->communicator) > 1) return;
  module->super.coll_allgather = lfc_coll_allgather;
  module->super.coll_allgatherv = lfc_coll_allgatherv;
  module->super.coll_gather = call_gather;
  module->super.coll_scatter = call_scatter;
  module->super.coll_iallgather = call_iallgather;
  module->super.coll_allgather_init = call_allgather_init;
  module->super.coll_iallgatherv = call_iallgatherv;
  module->super.coll_allgatherv_init = call_allgatherv_init;
  module->super.coll_igather = call_igather;
  module->super.coll_gather_init = call_gather_init;
  module->super.coll_iscatter = call_iscatter;
  module->super.coll_scatter_init = call_scatter_init;
}
