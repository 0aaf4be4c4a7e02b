/* Buffer: the bytes of an MPI buffer, where they lie if they lie together, else in a packed copy.
 *
 *   lfc_coll_buffer buffer;
 *   if (!lfc_coll_buffer_open(&buffer, address, count, type, true)) return OMPI_ERR_OUT_OF_RESOURCE;
 *   work(buffer.bytes);
 *   lfc_coll_buffer_spill(&buffer), lfc_coll_buffer_fill(&buffer);   // and again
 *   ok = lfc_coll_buffer_close(&buffer, gets);    // unpacks if `gets`, frees the copy
 *
 * Layouts are each rank's own business: what a call does must not depend on them. The type stays alive
 * until close. Threads: values.
 */
#ifndef LFC_COLL_BUFFER_H
#define LFC_COLL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "lfc/lfc.h"

#include "ompi/datatype/ompi_datatype.h"

/* Some elements of a buffer: of `allgatherv` one for each rank. */
typedef struct lfc_coll_piece {
  ptrdiff_t displacement; /* in extents of the type */
  size_t count;
} lfc_coll_piece;

typedef struct lfc_coll_buffer {
  void* bytes;
  void* packed; /* NULL: not copied */
  void* address;
  ompi_datatype_t* type;
  lfc_coll_piece* pieces; /* owned; NULL: one, from the start */
  size_t count;           /* of elements, or of pieces */
  int packs;              /* which pieces a copy is filled with, or, of one run, all or none */
} lfc_coll_buffer;

/* A buffer of nothing: closing it does nothing. */
void lfc_coll_buffer_none(lfc_coll_buffer* buffer);
/* `pack`: the copy, if there is one, is filled. False: no memory, or the bytes cannot be packed. */
bool lfc_coll_buffer_open(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type, bool pack);
/* The same, always in a copy, filled. */
bool lfc_coll_buffer_copy(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type);
/* Pieces: where they are if the type is dense, else one after the other in a copy, into which the piece
 * `packs` is packed, or none, or all. Sets blocks[0..pieces-1]. */
enum { LFC_COLL_NO_PIECE = -1, LFC_COLL_ALL_PIECES = -2 };
bool lfc_coll_buffer_open_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 int packs, struct lfc_coll_block* blocks);
/* The same, always in a copy, with all pieces. */
bool lfc_coll_buffer_copy_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 struct lfc_coll_block* blocks);
/* Of a call that is made again and again: the copy, if there is one, is filled, or unpacked. */
bool lfc_coll_buffer_fill(const lfc_coll_buffer* buffer);
bool lfc_coll_buffer_spill(const lfc_coll_buffer* buffer);
bool lfc_coll_buffer_close(lfc_coll_buffer* buffer, bool unpack);

/* What goes to each neighbour, or comes from each: bytes, each where they lie or in a copy. */
typedef struct lfc_coll_parts {
  struct lfc_coll_part* parts; /* owned; NULL: there are none */
  lfc_coll_buffer* buffers;    /* in the same memory */
  int count;
} lfc_coll_parts;

/* Empty ones. False: no memory. */
bool lfc_coll_parts_new(lfc_coll_parts* parts, int count);
/* `offset`: bytes. Else as lfc_coll_buffer_open(). */
bool lfc_coll_parts_open(lfc_coll_parts* parts, int index, const void* address, ptrdiff_t offset,
                         size_t count, ompi_datatype_t* type, bool pack);

/* What a call works on. */
typedef struct lfc_coll_operands {
  lfc_coll_buffer in, out;
  bool gets;                        /* `out` is unpacked at the end */
  struct lfc_coll_block* blocks;    /* owned; in `out` */
  struct lfc_coll_block* in_blocks; /* likewise in `in` */
  lfc_coll_parts gives, takes;      /* among neighbours */
} lfc_coll_operands;

void lfc_coll_operands_none(lfc_coll_operands* operands);
bool lfc_coll_operands_fill(const lfc_coll_operands* operands);
bool lfc_coll_operands_spill(const lfc_coll_operands* operands);
/* Nothing of it is in a copy: there is nothing to fill or to spill. */
bool lfc_coll_operands_in_place(const lfc_coll_operands* operands);
/* `unpack`: if this rank gets something. False: that did not work. */
bool lfc_coll_operands_close(lfc_coll_operands* operands, bool unpack);

#endif
