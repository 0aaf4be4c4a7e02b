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
                                       .runs = &memory->run,
                                       .run_count = 1,
                                       .extent = extent,
                                       .count = count,
                                       .size = size};
  if (count == 0 || size == 0) {
    memory->view.count = memory->view.run_count = 0;
    return true;
  }
  if (ompi_datatype_is_contiguous_memory_layout(datatype, (int)count)) {
    memory->run = (struct lfc_rma_run){true_lower, size * count, 0, 1};
    memory->view.count = 1;
    memory->view.size = size * count;
    memory->view.extent = (int64_t)(size * count);
    return true;
  }
  if (ompi_datatype_is_contiguous_memory_layout(datatype, 1)) {
    /* The same piece again and again. */
    memory->run = (struct lfc_rma_run){true_lower, size, extent, count};
    memory->view.count = 1;
    memory->view.size = size * count;
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

static enum lfc_element of_size(size_t size, enum lfc_element one) {
  switch (size) {
    case 1: return one;
    case 2: return one + 2;
    case 4: return one + 4;
    case 8: return one + 6;
    default: return LFC_NO_ELEMENT;
  }
}

static enum lfc_element real_of_size(size_t size) {
  switch (size) {
    case 4: return LFC_ELEMENT_F32;
    case 8: return LFC_ELEMENT_F64;
    case 16: return LFC_ELEMENT_F80;
    default: return LFC_NO_ELEMENT;
  }
}

static enum lfc_element complex_of_size(size_t size) {
  switch (size) {
    case 8: return LFC_ELEMENT_C32;
    case 16: return LFC_ELEMENT_C64;
    case 32: return LFC_ELEMENT_C80;
    default: return LFC_NO_ELEMENT;
  }
}

enum lfc_element rma_element_of(ompi_datatype_t* datatype) {
  ompi_datatype_t* one = datatype;
  if (!ompi_datatype_is_predefined(datatype))
    one = ompi_datatype_get_single_predefined_type_from_args(datatype);
  if (one == NULL) return LFC_NO_ELEMENT;
  const size_t size = one->super.size;
  switch (one->id) {
    case OMPI_DATATYPE_MPI_INT8_T:
    case OMPI_DATATYPE_MPI_INT16_T:
    case OMPI_DATATYPE_MPI_INT32_T:
    case OMPI_DATATYPE_MPI_INT64_T:
    case OMPI_DATATYPE_MPI_LONG:
    case OMPI_DATATYPE_MPI_WCHAR:
    case OMPI_DATATYPE_MPI_LOGICAL:
    case OMPI_DATATYPE_MPI_INTEGER:
    case OMPI_DATATYPE_MPI_AINT:
    case OMPI_DATATYPE_MPI_OFFSET:
    case OMPI_DATATYPE_MPI_COUNT: return of_size(size, LFC_ELEMENT_I8);
    case OMPI_DATATYPE_MPI_UINT8_T:
    case OMPI_DATATYPE_MPI_UINT16_T:
    case OMPI_DATATYPE_MPI_UINT32_T:
    case OMPI_DATATYPE_MPI_UINT64_T:
    case OMPI_DATATYPE_MPI_UNSIGNED_LONG:
    case OMPI_DATATYPE_MPI_PACKED:
    case OMPI_DATATYPE_MPI_CHARACTER:
    case OMPI_DATATYPE_MPI_BOOL:
    case OMPI_DATATYPE_MPI_C_BOOL: return of_size(size, LFC_ELEMENT_U8);
    case OMPI_DATATYPE_MPI_FLOAT:
    case OMPI_DATATYPE_MPI_DOUBLE:
    case OMPI_DATATYPE_MPI_LONG_DOUBLE:
    case OMPI_DATATYPE_MPI_REAL:
    case OMPI_DATATYPE_MPI_DOUBLE_PRECISION: return real_of_size(size);
    case OMPI_DATATYPE_MPI_COMPLEX8:
    case OMPI_DATATYPE_MPI_COMPLEX16:
    case OMPI_DATATYPE_MPI_COMPLEX32:
    case OMPI_DATATYPE_MPI_COMPLEX:
    case OMPI_DATATYPE_MPI_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_LONG_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_COMPLEX:
    case OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX:
    case OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_LONG_DOUBLE_COMPLEX: return complex_of_size(size);
    case OMPI_DATATYPE_MPI_2INT:
    case OMPI_DATATYPE_MPI_2INTEGER: return size == 8 ? LFC_ELEMENT_I32_I32 : LFC_NO_ELEMENT;
    case OMPI_DATATYPE_MPI_2REAL: return size == 8 ? LFC_ELEMENT_F32_F32 : LFC_NO_ELEMENT;
    case OMPI_DATATYPE_MPI_2DBLPREC: return size == 16 ? LFC_ELEMENT_F64_F64 : LFC_NO_ELEMENT;
    case OMPI_DATATYPE_MPI_FLOAT_INT: return LFC_ELEMENT_F32_I32;
    case OMPI_DATATYPE_MPI_DOUBLE_INT: return LFC_ELEMENT_F64_I32;
    case OMPI_DATATYPE_MPI_LONG_DOUBLE_INT: return LFC_ELEMENT_F80_I32;
    case OMPI_DATATYPE_MPI_LONG_INT: return size == 12 ? LFC_ELEMENT_I64_I32 : LFC_ELEMENT_I32_I32;
    case OMPI_DATATYPE_MPI_SHORT_INT: return LFC_ELEMENT_I16_I32;
    default: return LFC_NO_ELEMENT;
  }
}

enum lfc_op rma_op_of(const ompi_op_t* op) {
  static const enum lfc_op table[] = {[OMPI_OP_BASE_FORTRAN_SUM] = LFC_OP_SUM,
                                      [OMPI_OP_BASE_FORTRAN_PROD] = LFC_OP_PROD,
                                      [OMPI_OP_BASE_FORTRAN_MAX] = LFC_OP_MAX,
                                      [OMPI_OP_BASE_FORTRAN_MIN] = LFC_OP_MIN,
                                      [OMPI_OP_BASE_FORTRAN_BAND] = LFC_OP_BAND,
                                      [OMPI_OP_BASE_FORTRAN_BOR] = LFC_OP_BOR,
                                      [OMPI_OP_BASE_FORTRAN_BXOR] = LFC_OP_BXOR,
                                      [OMPI_OP_BASE_FORTRAN_LAND] = LFC_OP_LAND,
                                      [OMPI_OP_BASE_FORTRAN_LOR] = LFC_OP_LOR,
                                      [OMPI_OP_BASE_FORTRAN_LXOR] = LFC_OP_LXOR,
                                      [OMPI_OP_BASE_FORTRAN_MAXLOC] = LFC_OP_MAXLOC,
                                      [OMPI_OP_BASE_FORTRAN_MINLOC] = LFC_OP_MINLOC,
                                      [OMPI_OP_BASE_FORTRAN_REPLACE] = LFC_OP_REPLACE,
                                      [OMPI_OP_BASE_FORTRAN_NO_OP] = LFC_OP_NO_OP};
  return table[op->o_f_to_c_index]; /* MPI has checked: none of the user's gets here */
}
