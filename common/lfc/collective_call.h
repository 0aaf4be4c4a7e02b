/* Call: one collective as a rank calls it, in C and in C++.
 *
 *   struct lfc_coll_call call = {.kind = LFC_COLL_BCAST, .root = 3, .in = buffer, .out = buffer, .bytes = 64};
 *
 * Buffers are plain bytes; what type they have matters to reductions only. A barrier is an allreduce of no
 * bytes. Threads: a value.
 */
#ifndef LFC_COLL_CALL_H
#define LFC_COLL_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "lfc/elements.h"

/* A collective of each kind is one row of kCollectives (collective.hpp) and has one name below, in this order. */
enum lfc_coll_kind {
  LFC_COLL_BCAST,
  LFC_COLL_REDUCE,
  LFC_COLL_ALLREDUCE,
  /* On one node only, but for small allgathers and alltoalls. `bytes` is a rank's block; all blocks lie in `out` (of a
   * scatter, in `in`). A block is not touched where it is already: `in` of a gather, `out` of a scatter NULL. */
  LFC_COLL_ALLGATHER,
  LFC_COLL_GATHER,
  LFC_COLL_SCATTER,
  /* Where all ranks may read each other's memory. Of an alltoall `in_blocks` go to the ranks, and `blocks` come
   * from them; if both are NULL all are of `bytes`, in order. Of a gatherv `blocks` matter at the root only, of
   * a scatterv `in_blocks`; elsewhere `bytes` is the own block. `in` of a gatherv, `out` of a scatterv NULL at
   * the root: not touched. */
  LFC_COLL_ALLTOALL,
  LFC_COLL_GATHERV,
  LFC_COLL_SCATTERV,
  /* `in` holds a block of `bytes` for each rank. */
  LFC_COLL_REDUCE_SCATTER,
  /* Where all ranks may read each other's memory: between `neighbours`. */
  LFC_COLL_NEIGHBOR_ALLGATHER,
  LFC_COLL_NEIGHBOR_ALLTOALL,
  LFC_COLL_KINDS /* how many */
};
/* What those who watch call them. */
#define LFC_COLL_NAMES                                                                     \
  "bcast", "reduce", "allreduce or barrier", "allgather", "gather", "scatter", "alltoall", \
      "gatherv", "scatterv", "reduce_scatter", "neighbor_allgather", "neighbor_alltoall"
/* Whether elements are combined. */
static inline bool lfc_coll_is_reduction(enum lfc_coll_kind kind) {
  return kind == LFC_COLL_REDUCE || kind == LFC_COLL_ALLREDUCE || kind == LFC_COLL_REDUCE_SCATTER;
}
/* Where the block of a rank lies, if they are not all alike: bytes. */
struct lfc_coll_block {
  size_t offset, bytes;
};
/* What goes along an edge to a neighbour, or comes from one. */
struct lfc_coll_part {
  void* at;
  size_t bytes;
};
/* The edges of a process topology at one rank: the ranks that they come from and lead to; negative: nobody, so what is
 * there is empty, or not touched. Edges between the same two ranks are told apart by their order; `crossed`: of a grid,
 * where what is given in one direction comes from the other: edge i takes what its rank gives to its edge i ^ 1. */
struct lfc_coll_topology {
  const int* from;
  const int* to;
  int sources, destinations;
  bool crossed;
};
enum lfc_coll_status { LFC_COLL_OK, LFC_COLL_LOST, LFC_COLL_MISMATCH, LFC_COLL_NO_MEMORY };

struct lfc_coll_call {
  enum lfc_coll_kind kind;
  int root; /* a rank of the communicator; 0 where there is none */
  const void* in;
  void* out;
  size_t bytes;
  enum lfc_op op; /* of reductions with bytes */
  enum lfc_element type;
  /* Of an allgather of unequal blocks, by rank; `bytes` is the largest. Lives as long as the call. */
  const struct lfc_coll_block* blocks;
  /* Likewise what goes to each rank. */
  const struct lfc_coll_block* in_blocks;
  /* Among neighbours, by edge: what goes, `bytes` in all, and what comes. They live as long as the call. */
  struct lfc_coll_neighbours* neighbours;
  const struct lfc_coll_part* gives;
  const struct lfc_coll_part* takes;
  /* This rank's own block is not as large in one buffer as in the other. It takes part all the same, with
   * no buffer for one of them, and the call fails here, and where its block is read. */
  bool mismatch;
};

#endif
