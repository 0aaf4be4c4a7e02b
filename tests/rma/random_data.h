// Data of the programs that random.c draws: types of elements, results of the operations on them, and layouts with
// the datatypes that describe them to MPI.
//
//   draw_layout(&layout, total, &state);
//   MPI_Datatype type = make_type(&layout, element);       ... drop_type(&layout, &type);
//   combine(op, element, old, operand);                    // as MPI_Accumulate does, element by element
#pragma once

#include <complex.h>

#include "check.h"

enum { kMostBlocks = 24 };

// --- Elements. Not long double, which has bytes without meaning: tests/rma/operations.c ---

// The formatter misreads the macros below.
// clang-format off
#define INTEGERS(X) \
  X(int8_t, MPI_INT8_T) X(uint8_t, MPI_UINT8_T) X(int16_t, MPI_INT16_T) X(uint16_t, MPI_UINT16_T) \
  X(int32_t, MPI_INT32_T) X(uint32_t, MPI_UINT32_T) X(int64_t, MPI_INT64_T) X(uint64_t, MPI_UINT64_T)
#define REALS(X) X(float, MPI_FLOAT) X(double, MPI_DOUBLE)
#define PAIRS(X) \
  X(short, MPI_SHORT_INT) X(int, MPI_2INT) X(long, MPI_LONG_INT) X(float, MPI_FLOAT_INT) \
  X(double, MPI_DOUBLE_INT)

#define NAME_INTEGER(type, mpi) of_##type,
#define NAME_PAIR(type, mpi) pair_of_##type,
typedef enum {
  INTEGERS(NAME_INTEGER) REALS(NAME_INTEGER) of_complex, PAIRS(NAME_PAIR) kElements
} Element;
#define STRUCT_PAIR(type, mpi) \
  typedef struct {             \
    type value;                \
    int index;                 \
  } struct_of_##type;
PAIRS(STRUCT_PAIR)

static size_t element_size(Element e) {
  switch (e) {
#define SIZE(type, mpi) \
  case of_##type: return sizeof(type);
#define SIZE_PAIR(type, mpi) \
  case pair_of_##type: return sizeof(struct_of_##type);
    INTEGERS(SIZE) REALS(SIZE) PAIRS(SIZE_PAIR)
    case of_complex: return sizeof(double complex);
    default: return 0;
  }
}

static MPI_Datatype element_type(Element e) {
  switch (e) {
#define TYPE(type, mpi) \
  case of_##type: return mpi;
#define TYPE_PAIR(type, mpi) \
  case pair_of_##type: return mpi;
    INTEGERS(TYPE) REALS(TYPE) PAIRS(TYPE_PAIR)
    case of_complex: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_DATATYPE_NULL;
  }
}

static bool is_pair(Element e) { return e > of_complex; }
static bool is_integer(Element e) { return e <= of_uint64_t; }

typedef enum { sum, prod, max, min, band, bor, bxor, land, lor, lxor, maxloc, minloc, replace, no_op, kOps } Op;
static MPI_Op mpi_op(Op op) {
  const MPI_Op all[] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,    MPI_BAND,   MPI_BOR,     MPI_BXOR,
                        MPI_LAND, MPI_LOR,  MPI_LXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return all[op];
}

static bool allowed(Op op, Element e) {
  if (op >= replace) return true;
  if (is_pair(e)) return op >= maxloc;
  if (op >= maxloc) return false;
  if (is_integer(e)) return true;
  // Products of reals would grow beyond the exact range.
  return op == sum || (e != of_complex && (op == max || op == min));
}

// Copies one element, but not its holes, as a transfer of the type does.
static void copy_element(Element e, void* to, const void* from) {
  switch (e) {
#define COPY_PAIR(type, mpi)                                                              \
  case pair_of_##type:                                                                    \
    memcpy(to, from, sizeof(type));                                                       \
    memcpy((char*)to + offsetof(struct_of_##type, index),                                 \
           (const char*)from + offsetof(struct_of_##type, index), sizeof(int));           \
    return;
    PAIRS(COPY_PAIR)
    default: memcpy(to, from, element_size(e));
  }
}

#define UNSIGNED(type, a, b, operator) ((type)((uint64_t)(a) operator (uint64_t)(b)))

// old = old op operand
static void combine(Op op, Element e, void* old, const void* operand) {
  if (op == no_op) return;
  if (op == replace) {
    copy_element(e, old, operand);
    return;
  }
  switch (e) {
#define COMBINE_INTEGER(type, mpi)                       \
  case of_##type: {                                      \
    type a, b;                                           \
    memcpy(&a, old, sizeof a);                           \
    memcpy(&b, operand, sizeof b);                       \
    switch (op) {                                        \
      case sum: a = UNSIGNED(type, a, b, +); break;      \
      case prod: a = UNSIGNED(type, a, b, *); break;     \
      case max: a = a > b ? a : b; break;                \
      case min: a = a < b ? a : b; break;                \
      case band: a = UNSIGNED(type, a, b, &); break;     \
      case bor: a = UNSIGNED(type, a, b, |); break;      \
      case bxor: a = UNSIGNED(type, a, b, ^); break;     \
      case land: a = (type)(a && b); break;              \
      case lor: a = (type)(a || b); break;               \
      default: a = (type)(!a != !b); break;              \
    }                                                    \
    memcpy(old, &a, sizeof a);                           \
    return;                                              \
  }
#define COMBINE_REAL(type, mpi)                          \
  case of_##type: {                                      \
    type a, b;                                           \
    memcpy(&a, old, sizeof a);                           \
    memcpy(&b, operand, sizeof b);                       \
    a = op == sum ? a + b : op == prod ? a * b : op == max ? (a > b ? a : b) : (a < b ? a : b); \
    memcpy(old, &a, sizeof a);                           \
    return;                                              \
  }
#define COMBINE_PAIR(type, mpi)                                                       \
  case pair_of_##type: {                                                              \
    struct_of_##type a, b;                                                            \
    memcpy(&a, old, sizeof a);                                                        \
    memcpy(&b, operand, sizeof b);                                                    \
    if (op == maxloc ? b.value > a.value : b.value < a.value) {                       \
      copy_element(e, old, operand);                                                  \
    } else if (a.value == b.value && b.index < a.index) {                             \
      memcpy((char*)old + offsetof(struct_of_##type, index), &b.index, sizeof(int));  \
    }                                                                                 \
    return;                                                                           \
  }
    INTEGERS(COMBINE_INTEGER) REALS(COMBINE_REAL) PAIRS(COMBINE_PAIR)
    case of_complex: {
      double complex a, b;
      memcpy(&a, old, sizeof a);
      memcpy(&b, operand, sizeof b);
      a = op == sum ? a + b : a * b;
      memcpy(old, &a, sizeof a);
      return;
    }
    default: return;
  }
}

// Small values, so that reals stay exact and products do not become infinite.
static void draw_element(Element e, void* to, uint64_t* state) {
  const int value = (int)random_below(state, 7) - 3;
  const int index = (int)random_below(state, 100);
  switch (e) {
#define DRAW_INTEGER(type, mpi)                    \
  case of_##type: {                                \
    const type v = (type)next_random(state);       \
    memcpy(to, &v, sizeof v);                      \
    return;                                        \
  }
#define DRAW_REAL(type, mpi)                       \
  case of_##type: {                                \
    const type v = (type)value;                    \
    memcpy(to, &v, sizeof v);                      \
    return;                                        \
  }
#define DRAW_PAIR(type, mpi)                       \
  case pair_of_##type: {                           \
    struct_of_##type v;                            \
    memset(&v, 0, sizeof v);                       \
    v.value = (type)value;                         \
    v.index = index;                               \
    memcpy(to, &v, sizeof v);                      \
    return;                                        \
  }
    INTEGERS(DRAW_INTEGER) REALS(DRAW_REAL) PAIRS(DRAW_PAIR)
    default: {
      const double complex v = value + index % 3 * I;
      memcpy(to, &v, sizeof v);
    }
  }
}

// clang-format on

// --- Layouts: where the elements of a datatype lie, and the datatype ---

typedef struct {
  enum { contiguous, vector, indexed, resized_vector, nested } shape;
  int count;  // elements of the datatype given to the call
  int blocks, length, stride;
  int lengths[kMostBlocks], places[kMostBlocks];  // in elements
  size_t total;                                   // elements in all
  size_t span;                                    // elements from the first to behind the last
} Layout;

// A layout of `total` elements; gaps are drawn.
static void draw_layout(Layout* l, size_t total, uint64_t* state) {
  memset(l, 0, sizeof *l);
  l->total = total;
  l->shape = (int)random_below(state, 5);
  if (total > 4000 && random_below(state, 2) == 0) l->shape = contiguous;
  switch ((int)l->shape) {
    case vector:
    case resized_vector: {
      int divisor = 1 + (int)random_below(state, 5);
      while (total % (size_t)divisor != 0) --divisor;
      l->length = divisor;
      l->stride = divisor + (int)random_below(state, 4);
      l->blocks = (int)(total / (size_t)divisor);
      l->count = 1;
      if (l->shape == resized_vector && l->blocks % 2 == 0) l->blocks /= 2, l->count = 2;
      l->span = (size_t)l->stride * (size_t)l->blocks * (size_t)l->count;
      return;
    }
    case indexed: {
      l->count = 1;
      size_t left = total, at = 0;
      while (left > 0) {
        size_t n = 1 + random_below(state, left);
        if (l->blocks == kMostBlocks - 1) n = left;
        at += random_below(state, 5);
        l->lengths[l->blocks] = (int)n;
        l->places[l->blocks++] = (int)at;
        at += n;
        left -= n;
      }
      // Out of order, as MPI allows.
      if (l->blocks > 1 && random_below(state, 3) == 0) {
        const int place = l->places[0], length = l->lengths[0], last = l->blocks - 1;
        l->places[0] = l->places[last], l->lengths[0] = l->lengths[last];
        l->places[last] = place, l->lengths[last] = length;
      }
      l->span = at;
      return;
    }
    case nested:
      if (total % 4 == 0) {  // two rows of vectors of two
        l->count = 1;
        l->blocks = (int)(total / 4);
        l->length = 2;
        l->stride = 2 + (int)random_below(state, 3);
        l->places[0] = l->stride * l->blocks + (int)random_below(state, 3);
        l->span = 2 * (size_t)l->places[0];
        return;
      }
      l->shape = contiguous;  // fall through
    default: l->count = (int)total; l->span = total;
  }
}

static size_t place_of(const Layout* l, size_t i) {
  switch ((int)l->shape) {
    case vector:
    case resized_vector: {
      const size_t block = i / (size_t)l->length;
      return block * (size_t)l->stride + i % (size_t)l->length;
    }
    case indexed:
      for (int b = 0;; ++b) {
        if (i < (size_t)l->lengths[b]) return (size_t)l->places[b] + i;
        i -= (size_t)l->lengths[b];
      }
    case nested: {
      const size_t row = i / (l->total / 2), in_row = i % (l->total / 2);
      return row * (size_t)l->places[0] + in_row / 2 * (size_t)l->stride + in_row % 2;
    }
    default: return i;
  }
}

static MPI_Datatype make_type(const Layout* l, Element e) {
  const MPI_Datatype base = element_type(e);
  MPI_Datatype made = base, inner;
  MPI_Aint low, extent;
  MPI_Type_get_extent(base, &low, &extent);
  switch ((int)l->shape) {
    case vector: MPI_Type_vector(l->blocks, l->length, l->stride, base, &made); break;
    case resized_vector:
      MPI_Type_vector(l->blocks, l->length, l->stride, base, &inner);
      MPI_Type_create_resized(inner, 0, extent * l->stride * l->blocks, &made);
      MPI_Type_free(&inner);
      break;
    case indexed: MPI_Type_indexed(l->blocks, l->lengths, l->places, base, &made); break;
    case nested:
      MPI_Type_vector(l->blocks, l->length, l->stride, base, &inner);
      MPI_Type_create_hvector(2, 1, extent * l->places[0], inner, &made);
      MPI_Type_free(&inner);
      break;
    default: return base;
  }
  MPI_Type_commit(&made);
  return made;
}

static void drop_type(const Layout* l, MPI_Datatype* type) {
  if (l->shape != contiguous) MPI_Type_free(type);
}
