/* Alltoall, and gathers and scatters of unequal blocks, among ranks that share a node and may read each other's
 * memory. The component below serves other communicators. */
#include <stdlib.h>

#include "coll_lfc.h"
#include "forms.h"

static struct lfc_coll_block* blocks_for(const ompi_communicator_t* comm) {
  return malloc((size_t)ompi_comm_size((ompi_communicator_t*)(uintptr_t)comm) *
                sizeof(struct lfc_coll_block));
}

/* --- Alltoall --- */

static bool open_alltoall(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                          void* out, int out_count, ompi_datatype_t* out_type,
                          ompi_communicator_t* comm) {
  const size_t size = (size_t)ompi_comm_size(comm);
  lfc_coll_open_nothing(it, LFC_COLL_ALLTOALL, 0);
  it->call.bytes = (size_t)out_count * out_type->super.size;
  it->operands.gets = true;
  const size_t all = (size_t)out_count * size;
  if (!lfc_coll_buffer_open(&it->operands.out, out, all, out_type, false)) return false;
  if (in == MPI_IN_PLACE) return lfc_coll_buffer_copy(&it->operands.in, out, all, out_type);
  return !lfc_coll_own_fits(it, count, type, it->call.bytes) ||
         lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in), (size_t)count * size, type,
                              true);
}

LFC_COLL_FORMS(alltoall, alltoall,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type),
               (in, count, type, out, out_count, out_type))

int lfc_coll_alltoall(const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                      ompi_datatype_t* out_type, ompi_communicator_t* comm,
                      mca_coll_base_module_t* module) {
  return call_alltoall(in, count, type, out, out_count, out_type, comm, module);
}

static bool open_alltoallv(lfc_coll_opening* it, const void* in, const int* counts,
                           const int* places, ompi_datatype_t* type, void* out,
                           const int* out_counts, const int* out_places, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm) {
  const int size = ompi_comm_size(comm);
  lfc_coll_open_nothing(it, LFC_COLL_ALLTOALL, 0);
  it->operands.gets = true;
  it->operands.blocks = blocks_for(comm);
  it->operands.in_blocks = blocks_for(comm);
  if (it->operands.blocks == NULL || it->operands.in_blocks == NULL ||
      !lfc_coll_buffer_open_pieces(&it->operands.out, out, out_counts, out_places, size, out_type,
                                   LFC_COLL_NO_PIECE, it->operands.blocks))
    return false;
  if (in == MPI_IN_PLACE)
    return lfc_coll_buffer_copy_pieces(&it->operands.in, out, out_counts, out_places, size,
                                       out_type, it->operands.in_blocks);
  return lfc_coll_buffer_open_pieces(&it->operands.in, lfc_coll_plain(in), counts, places, size,
                                     type, LFC_COLL_ALL_PIECES, it->operands.in_blocks);
}

LFC_COLL_FORMS(alltoallv, alltoallv,
               (const void* in, const int* counts, const int* places, ompi_datatype_t* type,
                void* out, const int* out_counts, const int* out_places, ompi_datatype_t* out_type),
               (in, counts, places, type, out, out_counts, out_places, out_type))

/* --- Gather of unequal blocks --- */

static bool open_gatherv(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                         void* out, const int* counts, const int* places, ompi_datatype_t* out_type,
                         int root, ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  const bool in_place = is_root && in == MPI_IN_PLACE;
  lfc_coll_open_nothing(it, LFC_COLL_GATHERV, root);
  it->operands.gets = is_root;
  if (!in_place) {
    it->call.bytes = (size_t)count * type->super.size;
    if (!lfc_coll_buffer_open(&it->operands.in, lfc_coll_plain(in), (size_t)count, type, true))
      return false;
  }
  if (!is_root) return true;
  it->operands.blocks = blocks_for(comm);
  return it->operands.blocks != NULL &&
         lfc_coll_buffer_open_pieces(&it->operands.out, out, counts, places, ompi_comm_size(comm),
                                     out_type, in_place ? root : LFC_COLL_NO_PIECE,
                                     it->operands.blocks);
}

LFC_COLL_FORMS(gatherv, gatherv,
               (const void* in, int count, ompi_datatype_t* type, void* out, const int* counts,
                const int* places, ompi_datatype_t* out_type, int root),
               (in, count, type, out, counts, places, out_type, root))

/* --- Scatter of unequal blocks --- */

static bool open_scatterv(lfc_coll_opening* it, const void* in, const int* counts,
                          const int* places, ompi_datatype_t* type, void* out, int out_count,
                          ompi_datatype_t* out_type, int root, ompi_communicator_t* comm) {
  const bool is_root = ompi_comm_rank(comm) == root;
  lfc_coll_open_nothing(it, LFC_COLL_SCATTERV, root);
  if (is_root) {
    it->operands.in_blocks = blocks_for(comm);
    if (it->operands.in_blocks == NULL ||
        !lfc_coll_buffer_open_pieces(&it->operands.in, lfc_coll_plain(in), counts, places,
                                     ompi_comm_size(comm), type, LFC_COLL_ALL_PIECES,
                                     it->operands.in_blocks))
      return false;
  }
  if (is_root && out == MPI_IN_PLACE) return true;
  it->operands.gets = true;
  it->call.bytes = (size_t)out_count * out_type->super.size;
  return lfc_coll_buffer_open(&it->operands.out, out, (size_t)out_count, out_type, false);
}

LFC_COLL_FORMS(scatterv, scatterv,
               (const void* in, const int* counts, const int* places, ompi_datatype_t* type,
                void* out, int out_count, ompi_datatype_t* out_type, int root),
               (in, counts, places, type, out, out_count, out_type, root))

void lfc_coll_offer_rows(lfc_coll_module* module) {
  if (!lfc_coll_reads_memory(module->communicator)) return;
  module->super.coll_alltoall = lfc_coll_alltoall;
  module->super.coll_alltoallv = call_alltoallv;
  module->super.coll_gatherv = call_gatherv;
  module->super.coll_scatterv = call_scatterv;
  module->super.coll_ialltoall = call_ialltoall;
  module->super.coll_alltoall_init = call_alltoall_init;
  module->super.coll_ialltoallv = call_ialltoallv;
  module->super.coll_alltoallv_init = call_alltoallv_init;
  module->super.coll_igatherv = call_igatherv;
  module->super.coll_gatherv_init = call_gatherv_init;
  module->super.coll_iscatterv = call_iscatterv;
  module->super.coll_scatterv_init = call_scatterv_init;
}
