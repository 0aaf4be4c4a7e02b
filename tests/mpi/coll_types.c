// Reductions of every predefined type with every predefined operation that MPI allows on it. The reference is
// MPI_Reduce_local of the same elements. Types: whole numbers, logical values, bytes, characters, addresses,
// numbers of Fortran, real and complex ones. Elements are small, so that each result is exact in every order of the
// operands.
#include "check.h"

enum { kCount = 37, kMostBytes = 32 };
typedef enum Sort { kWhole, kBool, kByte, kReal, kComplex } Sort;
typedef struct Type {
  const char* name;
  MPI_Datatype type;
  Sort sort;
} Type;
typedef struct Op {
  const char* name;
  MPI_Op op;
  bool on[5];  // by sort
} Op;

// The bytes of a small number of this type, or of 0 or 1.
static void put(const Type* type, int size, unsigned char* at, int value) {
  memset(at, 0, (size_t)size);
  const int parts = type->sort == kComplex ? 2 : 1, width = size / parts;
  for (int part = 0; part < parts; part++) {
    const int one = value + part;
    unsigned char* to = at + part * width;
    if (type->sort < kReal) {
      to[0] = (unsigned char)one;
    } else if (width == (int)sizeof(float)) {
      const float number = (float)one;
      memcpy(to, &number, sizeof number);
    } else if (width == (int)sizeof(double)) {
      const double number = one;
      memcpy(to, &number, sizeof number);
    } else {
      const long double number = one;
      memcpy(to, &number, 10);
    }
  }
}

static int value_of(const Type* type, int rank, int i) {
  const int number = (i * 7 + rank * 3) % 4;
  return type->sort == kBool ? number & 1 : type->sort == kByte ? number * 5 : 1 + number % 2;
}

// Long doubles end in bytes that mean nothing.
static bool alike(const Type* type, int size, const unsigned char* a, const unsigned char* b) {
  const int parts = type->sort == kComplex ? 2 : 1, width = size / parts;
  const int known = type->sort >= kReal && width == (int)sizeof(long double) ? 10 : width;
  for (int part = 0; part < parts; part++)
    if (memcmp(a + part * width, b + part * width, (size_t)known) != 0) return false;
  return true;
}

static void try_one(const Type* type, const Op* op) {
  int size = 0;
  MPI_Type_size(type->type, &size);
  require(size <= kMostBytes, "%s has %d bytes", type->name, size);
  static unsigned char in[kCount * kMostBytes], out[kCount * kMostBytes],
      right[kCount * kMostBytes], other[kCount * kMostBytes], part[kCount * kMostBytes];
  doing("%s of %s", op->name, type->name);
  for (int i = 0; i < kCount; i++) put(type, size, in + i * size, value_of(type, me, i));
  for (int i = 0; i < kCount; i++) put(type, size, right + i * size, value_of(type, 0, i));
  for (int rank = 1; rank < ranks; rank++) {
    for (int i = 0; i < kCount; i++) put(type, size, other + i * size, value_of(type, rank, i));
    MPI_Reduce_local(other, right, kCount, type->type, op->op);
  }
  MPI_Allreduce(in, out, kCount, type->type, op->op, MPI_COMM_WORLD);
  for (int i = 0; i < kCount; i++)
    require(alike(type, size, out + i * size, right + i * size), "allreduce, %s of %s: element %d",
            op->name, type->name, i);
  MPI_Reduce(in, out, kCount, type->type, op->op, ranks - 1, MPI_COMM_WORLD);
  for (int i = 0; me == ranks - 1 && i < kCount; i++)
    require(alike(type, size, out + i * size, right + i * size), "reduce, %s of %s: element %d",
            op->name, type->name, i);
  // Each rank contributes the same elements; each rank gets one block of the result.
  const int each = kCount / ranks;
  MPI_Reduce_scatter_block(in, part, each, type->type, op->op, MPI_COMM_WORLD);
  for (int i = 0; i < each; i++)
    require(alike(type, size, part + i * size, right + (me * each + i) * size),
            "reduce_scatter_block, %s of %s: element %d", op->name, type->name, i);
}

#define WHOLE(name) \
  { #name, name, kWhole }
int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const Type types[] = {WHOLE(MPI_SIGNED_CHAR),
                        WHOLE(MPI_UNSIGNED_CHAR),
                        WHOLE(MPI_SHORT),
                        WHOLE(MPI_UNSIGNED_SHORT),
                        WHOLE(MPI_INT),
                        WHOLE(MPI_UNSIGNED),
                        WHOLE(MPI_LONG),
                        WHOLE(MPI_UNSIGNED_LONG),
                        WHOLE(MPI_LONG_LONG),
                        WHOLE(MPI_UNSIGNED_LONG_LONG),
                        WHOLE(MPI_INT8_T),
                        WHOLE(MPI_INT16_T),
                        WHOLE(MPI_INT32_T),
                        WHOLE(MPI_INT64_T),
                        WHOLE(MPI_UINT8_T),
                        WHOLE(MPI_UINT16_T),
                        WHOLE(MPI_UINT32_T),
                        WHOLE(MPI_UINT64_T),
                        WHOLE(MPI_AINT),
                        WHOLE(MPI_OFFSET),
                        WHOLE(MPI_COUNT),
                        {"MPI_C_BOOL", MPI_C_BOOL, kBool},
                        {"MPI_BYTE", MPI_BYTE, kByte},
                        {"MPI_FLOAT", MPI_FLOAT, kReal},
                        {"MPI_DOUBLE", MPI_DOUBLE, kReal},
                        {"MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, kReal},
                        {"MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, kComplex},
                        {"MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, kComplex}};
  const Op ops[] = {{"max", MPI_MAX, {true, false, false, true, false}},
                    {"min", MPI_MIN, {true, false, false, true, false}},
                    {"sum", MPI_SUM, {true, false, false, true, true}},
                    {"prod", MPI_PROD, {true, false, false, true, true}},
                    {"land", MPI_LAND, {true, true, false, false, false}},
                    {"lor", MPI_LOR, {true, true, false, false, false}},
                    {"lxor", MPI_LXOR, {true, true, false, false, false}},
                    {"band", MPI_BAND, {true, false, true, false, false}},
                    {"bor", MPI_BOR, {true, false, true, false, false}},
                    {"bxor", MPI_BXOR, {true, false, true, false, false}}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
      if (ops[o].on[types[t].sort]) try_one(&types[t], &ops[o]);
  return check_end();
}
