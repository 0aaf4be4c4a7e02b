/* Buffer: the bytes of an MPI buffer, where they lie if they lie together, else in a packed copy.
 *
 *   lfc_coll_buffer buffer;
 *   if (!lfc_coll_buffer_open(&buffer, address, count, type, true)) return OMPI_ERR_OUT_OF_RESOURCE;
 *   work(buffer.bytes);
 *   lfc_coll_buffer_spill(&buffer), lfc_coll_buffer_fill(&buffer);   // between two uses
 *   ok = lfc_coll_buffer_close(&buffer, gets);    // unpacks if `gets`, frees the copy
 *
 * Layouts may differ from rank to rank, so decisions of a call must not depend on them. The type must stay valid until
 * close. Threads: values.
 */
#ifndef LFC_COLL_BUFFER_H
#define LFC_COLL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lfc/lfc.h"

#include "ompi/datatype/ompi_datatype.h"

/* Some elements of a buffer: in `allgatherv` one piece for each rank. */
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
  int packs;              /* the pieces with which a copy is filled; without pieces: all or none */
} lfc_coll_buffer;

/* Returns the address without `const`: Open MPI's functions that pack take both kinds of buffers in one parameter. */
static inline void* lfc_coll_plain(const void* address) { return (void*)(uintptr_t)address; }

/* A buffer of nothing: closing it does nothing. */
void lfc_coll_buffer_none(lfc_coll_buffer* buffer);
/* Opens `count` elements; if there is a copy, `pack` fills it. False: no memory, or the bytes cannot be packed. */
bool lfc_coll_buffer_open(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type, bool pack);
/* Opens `count` elements in a copy, and fills it. False: as above. */
bool lfc_coll_buffer_copy(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type);
/* Opens pieces: in place if the type is dense, else one after the other in a copy, into which the piece
 * `packs` is packed, or none, or all. Sets blocks[0..pieces-1]. False: as above. */
enum { LFC_COLL_NO_PIECE = -1, LFC_COLL_ALL_PIECES = -2 };
bool lfc_coll_buffer_open_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 int packs, struct lfc_coll_block* blocks);
/* Opens pieces in a copy, and packs all of them. Sets blocks[0..pieces-1]. False: as above. */
bool lfc_coll_buffer_copy_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 struct lfc_coll_block* blocks);
/* Fill or unpack the copy, if there is one, between two starts of a persistent call. */
bool lfc_coll_buffer_fill(const lfc_coll_buffer* buffer);
bool lfc_coll_buffer_spill(const lfc_coll_buffer* buffer);
bool lfc_coll_buffer_close(lfc_coll_buffer* buffer, bool unpack);

/* The bytes for each neighbour, or from each: in place or in a copy. */
typedef struct lfc_coll_parts {
  struct lfc_coll_part* parts; /* owned; NULL: there are none */
  lfc_coll_buffer* buffers;    /* in the same memory */
  int count;
} lfc_coll_parts;

/* Makes `count` empty parts. False: no memory. */
bool lfc_coll_parts_new(lfc_coll_parts* parts, int count);
/* Opens one part. `offset`: bytes. The rest is as in lfc_coll_buffer_open(). */
bool lfc_coll_parts_open(lfc_coll_parts* parts, int index, const void* address, ptrdiff_t offset,
                         size_t count, ompi_datatype_t* type, bool pack);

/* The buffers of a call. */
typedef struct lfc_coll_operands {
  lfc_coll_buffer in, out;
  bool gets;                        /* `out` is unpacked at the end */
  struct lfc_coll_block* blocks;    /* owned; blocks of `out` */
  struct lfc_coll_block* in_blocks; /* owned; blocks of `in` */
  lfc_coll_parts gives, takes;      /* among neighbours */
} lfc_coll_operands;

void lfc_coll_operands_none(lfc_coll_operands* operands);
bool lfc_coll_operands_fill(const lfc_coll_operands* operands);
bool lfc_coll_operands_spill(const lfc_coll_operands* operands);
/* Whether no operand is in a copy, so that there is nothing to fill or to unpack. */
bool lfc_coll_operands_in_place(const lfc_coll_operands* operands);
/* Frees copies and blocks. `unpack`: the result, if this rank gets one. False: it cannot be unpacked. */
bool lfc_coll_operands_close(lfc_coll_operands* operands, bool unpack);

#endif
