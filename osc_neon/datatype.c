/* Datatypes and operations as the engine wants them. */
#include "osc_neon.h"

enum { kPieces = 64 };

/* The pieces of one element, in the order of packing. */
static bool flatten(lfc_rma_runs* runs, ompi_datatype_t* datatype) {
  /* Only distances from it matter; nothing is read. */
  char* const origin = (char*)((uintptr_t)1 << 46);
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  bool done = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &datatype->super,
                                                       1, origin, 0, &convertor) == OPAL_SUCCESS;
  for (int32_t finished = 0; done && !finished;) {
    struct iovec pieces[kPieces];
    uint32_t count = kPieces;
    size_t bytes = SIZE_MAX;
    finished = opal_convertor_raw(&convertor, pieces, &count, &bytes);
    for (uint32_t i = 0; done && i < count; ++i)
      done = lfc_rma_runs_add(runs, (char*)pieces[i].iov_base - origin, pieces[i].iov_len);
    if (count == 0) break;
  }
  OBJ_DESTRUCT(&convertor);
  return done;
}

/* The one predefined type with a hole: flattening it anew each time would cost more than most operations on it. */
static void describe_short_int(struct rma_memory* memory) {
  struct pair {
    short value;
    int index;
  };
  memory->runs[0] = (struct lfc_rma_run){0, sizeof(short), 0, 1};
  memory->runs[1] = (struct lfc_rma_run){offsetof(struct pair, index), sizeof(int), 0, 1};
  memory->view.run_count = 2;
}

bool rma_describe(struct rma_memory* memory, const void* base, int64_t offset, size_t count,
                  ompi_datatype_t* datatype) {
  size_t size = 0;
  ptrdiff_t lower, extent, true_lower, true_extent;
  (void)ompi_datatype_type_size(datatype, &size);
  (void)ompi_datatype_get_extent(datatype, &lower, &extent);
  (void)ompi_datatype_get_true_extent(datatype, &true_lower, &true_extent);
  memory->many = NULL;
  memory->view = (struct lfc_rma_view){.base = (void*)(uintptr_t)base,
                                       .offset = offset,
                                       .runs = memory->runs,
                                       .run_count = 1,
                                       .extent = extent,
                                       .count = count,
                                       .size = size};
  if (count == 0 || size == 0) {
    memory->view.count = memory->view.run_count = 0;
    return true;
  }
  if (ompi_datatype_is_contiguous_memory_layout(datatype, (int)count)) {
    memory->runs[0] = (struct lfc_rma_run){true_lower, size * count, 0, 1};
    memory->view.count = 1;
    memory->view.size = size * count;
    memory->view.extent = (int64_t)(size * count);
    return true;
  }
  if (ompi_datatype_is_contiguous_memory_layout(datatype, 1)) {
    /* The same piece again and again. */
    memory->runs[0] = (struct lfc_rma_run){true_lower, size, extent, count};
    memory->view.count = 1;
    memory->view.size = size * count;
    return true;
  }
  if (datatype == MPI_SHORT_INT) {
    describe_short_int(memory);
    return true;
  }
  memory->many = lfc_rma_runs_new();
  if (memory->many == NULL || !flatten(memory->many, datatype)) {
    rma_release(memory);
    return false;
  }
  memory->view.runs = lfc_rma_runs_data(memory->many, &memory->view.run_count);
  return true;
}

void rma_release(struct rma_memory* memory) {
  if (memory->many != NULL) lfc_rma_runs_free(memory->many);
  memory->many = NULL;
}

enum lfc_element rma_element_of(ompi_datatype_t* datatype) {
  ompi_datatype_t* one = datatype;
  if (!ompi_datatype_is_predefined(datatype))
    one = ompi_datatype_get_single_predefined_type_from_args(datatype);
  return one == NULL ? LFC_NO_ELEMENT : lfc_element_of(one);
}
