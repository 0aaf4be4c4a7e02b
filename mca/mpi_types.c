#include "mpi_types.h"

unsigned char lfc_known_elements[OMPI_DATATYPE_MPI_MAX_PREDEFINED];

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

static enum lfc_element classify(const ompi_datatype_t* one) {
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

enum lfc_element lfc_find_element(const ompi_datatype_t* type) {
  const enum lfc_element element = classify(type);
  __atomic_store_n(&lfc_known_elements[type->id], (unsigned char)(element + 1), __ATOMIC_RELAXED);
  return element;
}

enum lfc_op lfc_op_of(const ompi_op_t* op) {
  if (!ompi_op_is_intrinsic((ompi_op_t*)(uintptr_t)op)) return LFC_NO_OPERATION;
  static const enum lfc_op table[] = {[OMPI_OP_BASE_FORTRAN_NULL] = LFC_NO_OPERATION,
                                      [OMPI_OP_BASE_FORTRAN_SUM] = LFC_OP_SUM,
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
  return table[op->o_f_to_c_index];
}
