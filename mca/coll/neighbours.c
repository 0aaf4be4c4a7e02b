/* Collectives among the neighbours of a process topology, among ranks that share a node, may read each other's memory
 * and have no limit of their address space. The component below serves other communicators. */
#include "coll_lfc.h"
#include "forms.h"
#include "topology.h"

/* The arguments of MPI for the data to the neighbours, or for the data from them. */
typedef struct side {
  const void* address;
  int count; /* for each neighbour, of `type`, one after the other; */
  ompi_datatype_t* type;
  const int* counts; /* or, if not NULL, by neighbour, */
  const int* places; /* in extents of `type`, */
  const MPI_Aint* offsets;
  ompi_datatype_t* const* types; /* or in bytes, of types of their own */
  bool same;                     /* all neighbours get the same */
} side;

/* Opens the part of each neighbour. The part of MPI_PROC_NULL, a negative rank, stays empty. */
static bool open_side(lfc_coll_parts* parts, const side* what, const int* ranks, int count,
                      bool gives, size_t* bytes) {
  if (!lfc_coll_parts_new(parts, count)) return false;
  int first = -1;
  for (int i = 0; i < count; ++i) {
    if (ranks[i] < 0) continue;
    if (what->same && first >= 0) {
      parts->parts[i] = parts->parts[first];
    } else {
      ompi_datatype_t* type = what->types == NULL ? what->type : what->types[i];
      const size_t elements = (size_t)(what->counts == NULL ? what->count : what->counts[i]);
      ptrdiff_t lower = 0;
      ptrdiff_t extent = 1;
      if (what->offsets == NULL) (void)ompi_datatype_get_extent(type, &lower, &extent);
      const ptrdiff_t place = what->same              ? 0
                              : what->offsets != NULL ? what->offsets[i]
                              : what->places != NULL  ? what->places[i]
                                                      : (ptrdiff_t)i * what->count;
      if (!lfc_coll_parts_open(parts, i, what->address, place * extent, elements, type, gives))
        return false;
      first = i;
    }
    *bytes += parts->parts[i].bytes;
  }
  return true;
}

static bool find_neighbours(lfc_coll_module* own, ompi_communicator_t* comm) {
  if (!lfc_coll_topology_open(&own->topology, comm)) return false;
  own->neighbours = lfc_coll_meet(own->communicator, &own->topology);
  if (own->neighbours == NULL) lfc_coll_topology_close(&own->topology);
  return own->neighbours != NULL;
}

static bool open(lfc_coll_opening* it, enum lfc_coll_kind kind, const side* in, const side* out,
                 ompi_communicator_t* comm) {
  lfc_coll_module* own = lfc_coll_own(it->module);
  lfc_coll_open_nothing(it, kind, 0);
  if (own->neighbours == NULL && !find_neighbours(own, comm)) return false;
  const struct lfc_coll_topology* edges = &own->topology;
  size_t got = 0;
  it->operands.gets = true;
  it->call.neighbours = own->neighbours;
  return open_side(&it->operands.gives, in, edges->to, edges->destinations, true,
                   &it->call.bytes) &&
         open_side(&it->operands.takes, out, edges->from, edges->sources, false, &got);
}

/* --- Allgather --- */

static bool open_allgather(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                           void* out, int out_count, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm) {
  const side gives = {.address = in, .count = count, .type = type, .same = true};
  const side gets = {.address = out, .count = out_count, .type = out_type};
  return open(it, LFC_COLL_NEIGHBOR_ALLGATHER, &gives, &gets, comm);
}

LFC_COLL_FORMS(allgather, neighbor_allgather,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type),
               (in, count, type, out, out_count, out_type))

static bool open_allgatherv(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                            void* out, const int* counts, const int* places,
                            ompi_datatype_t* out_type, ompi_communicator_t* comm) {
  const side gives = {.address = in, .count = count, .type = type, .same = true};
  const side gets = {.address = out, .type = out_type, .counts = counts, .places = places};
  return open(it, LFC_COLL_NEIGHBOR_ALLGATHER, &gives, &gets, comm);
}

LFC_COLL_FORMS(allgatherv, neighbor_allgatherv,
               (const void* in, int count, ompi_datatype_t* type, void* out, const int* counts,
                const int* places, ompi_datatype_t* out_type),
               (in, count, type, out, counts, places, out_type))

/* --- Alltoall --- */

static bool open_alltoall(lfc_coll_opening* it, const void* in, int count, ompi_datatype_t* type,
                          void* out, int out_count, ompi_datatype_t* out_type,
                          ompi_communicator_t* comm) {
  const side gives = {.address = in, .count = count, .type = type};
  const side gets = {.address = out, .count = out_count, .type = out_type};
  return open(it, LFC_COLL_NEIGHBOR_ALLTOALL, &gives, &gets, comm);
}

LFC_COLL_FORMS(alltoall, neighbor_alltoall,
               (const void* in, int count, ompi_datatype_t* type, void* out, int out_count,
                ompi_datatype_t* out_type),
               (in, count, type, out, out_count, out_type))

static bool open_alltoallv(lfc_coll_opening* it, const void* in, const int* counts,
                           const int* places, ompi_datatype_t* type, void* out,
                           const int* out_counts, const int* out_places, ompi_datatype_t* out_type,
                           ompi_communicator_t* comm) {
  const side gives = {.address = in, .type = type, .counts = counts, .places = places};
  const side gets = {.address = out, .type = out_type, .counts = out_counts, .places = out_places};
  return open(it, LFC_COLL_NEIGHBOR_ALLTOALL, &gives, &gets, comm);
}

LFC_COLL_FORMS(alltoallv, neighbor_alltoallv,
               (const void* in, const int* counts, const int* places, ompi_datatype_t* type,
                void* out, const int* out_counts, const int* out_places, ompi_datatype_t* out_type),
               (in, counts, places, type, out, out_counts, out_places, out_type))

static bool open_alltoallw(lfc_coll_opening* it, const void* in, const int* counts,
                           const MPI_Aint* offsets, ompi_datatype_t* const* types, void* out,
                           const int* out_counts, const MPI_Aint* out_offsets,
                           ompi_datatype_t* const* out_types, ompi_communicator_t* comm) {
  const side gives = {.address = in, .counts = counts, .offsets = offsets, .types = types};
  const side gets = {
      .address = out, .counts = out_counts, .offsets = out_offsets, .types = out_types};
  return open(it, LFC_COLL_NEIGHBOR_ALLTOALL, &gives, &gets, comm);
}

LFC_COLL_FORMS(alltoallw, neighbor_alltoallw,
               (const void* in, const int* counts, const MPI_Aint* offsets,
                ompi_datatype_t* const* types, void* out, const int* out_counts,
                const MPI_Aint* out_offsets, ompi_datatype_t* const* out_types),
               (in, counts, offsets, types, out, out_counts, out_offsets, out_types))

void lfc_coll_offer_neighbours(lfc_coll_module* module) {
  if (!lfc_coll_meets_neighbours(module->communicator)) return;
  module->super.coll_neighbor_allgather = call_allgather;
  module->super.coll_neighbor_allgatherv = call_allgatherv;
  module->super.coll_neighbor_alltoall = call_alltoall;
  module->super.coll_neighbor_alltoallv = call_alltoallv;
  module->super.coll_neighbor_alltoallw = call_alltoallw;
  module->super.coll_ineighbor_allgather = call_iallgather;
  module->super.coll_ineighbor_allgatherv = call_iallgatherv;
  module->super.coll_ineighbor_alltoall = call_ialltoall;
  module->super.coll_ineighbor_alltoallv = call_ialltoallv;
  module->super.coll_ineighbor_alltoallw = call_ialltoallw;
  module->super.coll_neighbor_allgather_init = call_allgather_init;
  module->super.coll_neighbor_allgatherv_init = call_allgatherv_init;
  module->super.coll_neighbor_alltoall_init = call_alltoall_init;
  module->super.coll_neighbor_alltoallv_init = call_alltoallv_init;
  module->super.coll_neighbor_alltoallw_init = call_alltoallw_init;
}
