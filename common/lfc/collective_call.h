/* Call: the arguments of one collective, in C and in C++.
 *
 *   struct lfc_coll_call call = {.kind = LFC_COLL_BCAST, .root = 3, .in = buffer, .out = buffer, .bytes = 64};
 *
 * Buffers are plain bytes; their type matters to reductions only. A barrier is an allreduce of no bytes.
 * Threads: a value.
 */
#ifndef LFC_COLL_CALL_H
#define LFC_COLL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/elements.h"

/* Each kind is a row of lfc/collectives.def. */
enum lfc_coll_kind {
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) LFC_COLL_##kind,
#include "lfc/collectives.def"
#undef LFC_COLLECTIVE
  LFC_COLL_KINDS /* how many */
};
/* Returns the name of a kind for tools; any number is permitted. */
static inline const char* lfc_coll_name(uint64_t kind) {
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) name,
  static const char* const names[] = {
#include "lfc/collectives.def"
  };
#undef LFC_COLLECTIVE
  return kind < LFC_COLL_KINDS ? names[kind] : "collective";
}
/* Returns whether the collective combines elements. */
static inline bool lfc_coll_is_reduction(enum lfc_coll_kind kind) {
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) combines,
  static const bool reductions[] = {
#include "lfc/collectives.def"
  };
#undef LFC_COLLECTIVE
  return reductions[kind];
}
/* Returns whether the collective runs among neighbours, so that not all ranks need call it; any number is permitted. */
static inline bool lfc_coll_is_among_neighbours(uint64_t kind) {
#define LFC_COLLECTIVE(kind, name, functions, combines, among_neighbours) among_neighbours,
  static const bool among[] = {
#include "lfc/collectives.def"
  };
#undef LFC_COLLECTIVE
  return kind < LFC_COLL_KINDS && among[kind];
}
/* Position and size of one rank's block in bytes, if the blocks differ. */
struct lfc_coll_block {
  size_t offset, bytes;
};
/* The bytes that travel along an edge to or from a neighbour. */
struct lfc_coll_part {
  void* at;
  size_t bytes;
};
/* The edges of a process topology at one rank: the ranks that they come from and lead to. A negative rank is none: its
 * part is empty or not touched. Edges between the same two ranks are distinguished by their order. `crossed`: the edges
 * are those of a grid, where edge i receives the part that its rank gives to its edge i ^ 1. */
struct lfc_coll_topology {
  const int* from;
  const int* to;
  int sources, destinations;
  bool crossed;
};
/* The use of a group. Persistent requests among neighbours use one board of each rank, and not the group's board. */
enum lfc_coll_use {
  LFC_COLL_COMMUNICATOR,
  LFC_COLL_UNNUMBERED, /* a communicator whose number does not limit how many there are */
  LFC_COLL_REQUEST,
  LFC_COLL_NEIGHBOUR_REQUEST
};
enum lfc_coll_status {
  LFC_COLL_OK,
  LFC_COLL_LOST, /* a rank of the communicator */
  LFC_COLL_MISMATCH,
  LFC_COLL_NO_MEMORY,
  LFC_COLL_REVOKED /* a rank has revoked the communicator */
};

struct lfc_coll_call {
  enum lfc_coll_kind kind;
  int root; /* a rank of the communicator; 0 where there is none */
  const void* in;
  void* out;
  size_t bytes;
  enum lfc_op op; /* of reductions with bytes */
  enum lfc_element type;
  /* Blocks of an allgather with unequal blocks, by rank; `bytes` is the largest. Valid until the call has ended. */
  const struct lfc_coll_block* blocks;
  /* Blocks that go to each rank, in the same way. */
  const struct lfc_coll_block* in_blocks;
  /* Parts among neighbours, by edge: `gives` are sent, `bytes` in all; `takes` are received. Valid as long. */
  struct lfc_coll_neighbours* neighbours;
  const struct lfc_coll_part* gives;
  const struct lfc_coll_part* takes;
  /* This rank's own block has different sizes in the two buffers, or cannot be packed. The rank takes part with one
   * buffer missing or without contents, and the call fails here and at the ranks that read the block. */
  bool mismatch;
};

#endif
