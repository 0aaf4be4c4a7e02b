/* Elements: the types of elements and the operations on them, for accumulates and reductions, in C and in C++.
 *
 *   enum lfc_op op = LFC_OP_SUM;
 *   enum lfc_element element = LFC_ELEMENT_F64;
 *
 * The numbers travel on the wire. lfc::Accumulate and lfc::Element (elements/accumulate.hpp) take their values from
 * them. lfc::is_valid() returns whether MPI permits an operation on a type.
 */
#ifndef LFC_ELEMENTS_H
#define LFC_ELEMENTS_H

enum lfc_op {
  LFC_OP_SUM,
  LFC_OP_PROD,
  LFC_OP_MAX,
  LFC_OP_MIN,
  LFC_OP_BAND,
  LFC_OP_BOR,
  LFC_OP_BXOR,
  LFC_OP_LAND,
  LFC_OP_LOR,
  LFC_OP_LXOR,
  LFC_OP_MAXLOC,
  LFC_OP_MINLOC,
  LFC_OP_REPLACE,
  LFC_OP_NO_OP, /* reads only */
  LFC_NO_OPERATION
};

/* The meaning of the bytes of one element; pairs are {value, index} as packed. */
enum lfc_element {
  LFC_ELEMENT_I8,
  LFC_ELEMENT_U8,
  LFC_ELEMENT_I16,
  LFC_ELEMENT_U16,
  LFC_ELEMENT_I32,
  LFC_ELEMENT_U32,
  LFC_ELEMENT_I64,
  LFC_ELEMENT_U64,
  LFC_ELEMENT_F32,
  LFC_ELEMENT_F64,
  LFC_ELEMENT_F80, /* long double, 16 bytes */
  LFC_ELEMENT_C32, /* complex of two F32 */
  LFC_ELEMENT_C64,
  LFC_ELEMENT_C80,
  LFC_ELEMENT_I16_I32,
  LFC_ELEMENT_I32_I32,
  LFC_ELEMENT_I64_I32,
  LFC_ELEMENT_F32_I32,
  LFC_ELEMENT_F64_I32,
  LFC_ELEMENT_F80_I32,
  LFC_ELEMENT_F32_F32,
  LFC_ELEMENT_F64_F64,
  LFC_NO_ELEMENT
};

#endif
