// One collective of coll_random: its call, root, layout and memory.
//
//   Case c = {.call = kScan, .comm = comm, .count = 8, .type = 1};
//   c.out = memory(bytes_of(&c, c.count * stride(&c)));         // with a guard's room behind
//   MPI_Bcast(c.out, c.count, element_type(&c), ...);
#pragma once

#include "coll_random.h"

typedef struct Case {
  enum {
    kBcast,
    kReduce,
    kAllreduce,
    kScan,
    kExscan,
    kBarrier,
    kAllgather,
    kGather,
    kScatter,
    kAllgatherv,
    kGatherv,
    kScatterv,
    kAlltoall,
    kAlltoallv,
    kReduceScatter,
    kCalls
  } call;
  uint64_t key;
  MPI_Comm comm;
  int rank, size, root, count, type, op;
  bool in_place, nonblocking;
  int layout;  // layout of this rank's buffer: 0 plain, 1 every other element, 2 bytes
  void *in, *out;
  MPI_Datatype made;
  MPI_Request request;
  int *counts, *places;  // of unequal blocks
  int* sends;            // of an alltoall
} Case;

static inline void* memory(size_t bytes) {
  void* data = malloc(bytes + 64);
  require(data != NULL, "no memory for %zu bytes", bytes);
  memset(data, 0x5a, bytes + 64);
  return data;
}

static inline size_t bytes_of(const Case* c, int count) {
  return (size_t)count * (size_t)sizes[c->type];
}

// Elements between the beginnings of two neighbouring elements of the buffer.
static inline int stride(const Case* c) { return c->layout == 1 ? 2 : 1; }

// The type of an element in this rank's layout.
static inline MPI_Datatype element_type(Case* c) {
  if (c->layout == 0) return types[c->type];
  if (c->made != MPI_DATATYPE_NULL) return c->made;
  if (c->layout == 1)
    MPI_Type_create_resized(types[c->type], 0, (MPI_Aint)2 * sizes[c->type], &c->made);
  else
    MPI_Type_contiguous(sizes[c->type], MPI_BYTE, &c->made);
  MPI_Type_commit(&c->made);
  return c->made;
}
