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
#include <stdint.h>

#include "lfc/elements.h"

/* Each kind is a row of lfc/collectives.def. */
enum lfc_coll_kind {
#define LFC_COLLECTIVE(kind, name, functions, combines) LFC_COLL_##kind,
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
  LFC_COLL_KINDS /* how many */
};
/* What those who watch call it, whatever number they have found. */
static inline const char* lfc_coll_name(uint64_t kind) {
#define LFC_COLLECTIVE(kind, name, functions, combines) name,
  static const char* const names[] = {
#include "lfc/collectives.def"
  };
#undef LFC_COLLECTIVE
  return kind < LFC_COLL_KINDS ? names[kind] : "collective";
}
/* Whether elements are combined. */
static inline bool lfc_coll_is_reduction(enum lfc_coll_kind kind) {
#define LFC_COLLECTIVE(kind, name, functions, combines) combines,
  static const bool reductions[] = {
#include "lfc/collectives.def"
  };
#undef LFC_COLLECTIVE
  return reductions[kind];
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
/* What a group is made for. The neighbours' persistent requests do not use its board, but one of each rank. */
enum lfc_coll_use { LFC_COLL_COMMUNICATOR, LFC_COLL_REQUEST, LFC_COLL_NEIGHBOUR_REQUEST };
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
