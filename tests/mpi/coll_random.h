// Types, operations and values from which coll_random draws. The values that each rank contributes are so small
// that every operation is exact in every type and every order.
//
//   put(buffer, type, i, element(key, rank, i, op));         a contribution
//   get(result, type, i) == combined(key, ranks, i, op)      the expected combination of all of them
#pragma once

#include "check.h"

enum { kTypes = 7, kOps = 10 };
static const MPI_Datatype types[kTypes] = {MPI_INT,    MPI_LONG,          MPI_SHORT,   MPI_FLOAT,
                                           MPI_DOUBLE, MPI_UNSIGNED_CHAR, MPI_UINT64_T};
static const int sizes[kTypes] = {4, 8, 2, 4, 8, 1, 8};
static bool is_float(int type) { return type == 3 || type == 4; }

static MPI_Op op_of(int op) {
  const MPI_Op ops[kOps] = {MPI_MAX,  MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                            MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};
  return ops[op];
}

// Small enough for every operation to be exact in every type and every order.
static int element(uint64_t key, int rank, int index, int op) {
  const uint64_t mixed = (key * 31 + (uint64_t)rank * 977 + (uint64_t)index * 131) ^ (key >> 7);
  if (op == 3) return 1 + (mixed % 11 == 0 && rank < 6);
  return (int)(mixed % 16) % (op >= 4 && op % 2 == 0 ? 2 : 16);
}

static int combined(uint64_t key, int size, int index, int op) {
  int value = element(key, 0, index, op);
  for (int rank = 1; rank < size; ++rank) {
    const int other = element(key, rank, index, op);
    switch (op) {
      case 0: value = other > value ? other : value; break;
      case 1: value = other < value ? other : value; break;
      case 2: value += other; break;
      case 3: value *= other; break;
      case 4: value = value && other; break;
      case 5: value &= other; break;
      case 6: value = value || other; break;
      case 7: value |= other; break;
      case 8: value = !value != !other; break;
      default: value ^= other; break;
    }
  }
  return value;
}

static void put(void* data, int type, int index, int value) {
  switch (type) {
    case 0: ((int*)data)[index] = value; break;
    case 1: ((long*)data)[index] = value; break;
    case 2: ((short*)data)[index] = (short)value; break;
    case 3: ((float*)data)[index] = (float)value; break;
    case 4: ((double*)data)[index] = value; break;
    case 5: ((unsigned char*)data)[index] = (unsigned char)value; break;
    default: ((uint64_t*)data)[index] = (uint64_t)value; break;
  }
}
