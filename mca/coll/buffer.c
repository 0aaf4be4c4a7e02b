#include "buffer.h"

#include <stdlib.h>

#include "coll_lfc.h"

static bool copy_packed(void* buffer, size_t count, ompi_datatype_t* type, void* packed,
                        bool pack) {
  const size_t bytes = count * type->super.size;
  if (bytes == 0) return true;
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  struct iovec piece = {packed, bytes};
  uint32_t pieces = 1;
  size_t most = bytes;
  int status = 0;
  if (pack) {
    (void)opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count,
                                                   buffer, 0, &convertor);
    status = opal_convertor_pack(&convertor, &piece, &pieces, &most);
  } else {
    (void)opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count,
                                                   buffer, 0, &convertor);
    status = opal_convertor_unpack(&convertor, &piece, &pieces, &most);
  }
  OBJ_DESTRUCT(&convertor);
  return status >= 0 && most == bytes;
}

/* Whether `count` elements are one run of bytes, which begins `gap` bytes behind the address. */
static bool is_dense(const ompi_datatype_t* type, size_t count, ptrdiff_t* gap) {
  *gap = 0;
  if (!opal_datatype_is_contiguous_memory_layout(&type->super, count > 1 ? 2 : 1)) return false;
  (void)opal_datatype_span(&type->super, 1, gap);
  return true;
}

void lfc_coll_buffer_none(lfc_coll_buffer* buffer) { *buffer = (lfc_coll_buffer){0}; }

static bool open_copy(lfc_coll_buffer* buffer, size_t bytes) {
  buffer->bytes = buffer->packed = malloc(bytes > 0 ? bytes : 1);
  if (buffer->packed == NULL) return false;
  OBJ_RETAIN(buffer->type);
  return true;
}

bool lfc_coll_buffer_open(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type, bool pack) {
  *buffer = (lfc_coll_buffer){.bytes = address, .address = address, .type = type, .count = count};
  const size_t bytes = count * type->super.size;
  ptrdiff_t gap = 0;
  if (bytes == 0) return true;
  if (is_dense(type, count, &gap)) {
    buffer->bytes = (char*)address + gap;
    return true;
  }
  buffer->packs = pack ? LFC_COLL_ALL_PIECES : LFC_COLL_NO_PIECE;
  return open_copy(buffer, bytes) && lfc_coll_buffer_fill(buffer);
}

bool lfc_coll_buffer_copy(lfc_coll_buffer* buffer, void* address, size_t count,
                          ompi_datatype_t* type) {
  *buffer = (lfc_coll_buffer){
      .address = address, .type = type, .count = count, .packs = LFC_COLL_ALL_PIECES};
  return open_copy(buffer, count * type->super.size) && lfc_coll_buffer_fill(buffer);
}

static char* place_of(const lfc_coll_buffer* buffer, ptrdiff_t displacement) {
  ptrdiff_t lower = 0;
  ptrdiff_t extent = 0;
  (void)ompi_datatype_get_extent(buffer->type, &lower, &extent);
  return (char*)buffer->address + displacement * extent;
}

/* Places the pieces one after the other in a copy. */
static bool copy_pieces(lfc_coll_buffer* buffer, const int* counts, const int* displacements,
                        int pieces, int packs, struct lfc_coll_block* blocks) {
  size_t bytes = 0;
  buffer->pieces = malloc((size_t)pieces * sizeof *buffer->pieces);
  if (buffer->pieces == NULL) return false;
  for (int i = 0; i < pieces; ++i) {
    buffer->pieces[i] = (lfc_coll_piece){displacements[i], (size_t)counts[i]};
    blocks[i] = (struct lfc_coll_block){bytes, (size_t)counts[i] * buffer->type->super.size};
    bytes += blocks[i].bytes;
  }
  buffer->count = (size_t)pieces;
  if (!open_copy(buffer, bytes)) {
    free(buffer->pieces);
    buffer->pieces = NULL;
    return false;
  }
  buffer->packs = packs;
  return lfc_coll_buffer_fill(buffer);
}

bool lfc_coll_buffer_open_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 int packs, struct lfc_coll_block* blocks) {
  *buffer = (lfc_coll_buffer){.address = address, .type = type};
  ptrdiff_t gap = 0;
  if (!is_dense(type, 2, &gap))
    return copy_pieces(buffer, counts, displacements, pieces, packs, blocks);
  buffer->bytes = (char*)address + gap;
  for (int i = 0; i < pieces; ++i) {
    blocks[i].offset = (size_t)(place_of(buffer, displacements[i]) - (char*)address);
    blocks[i].bytes = (size_t)counts[i] * type->super.size;
  }
  return true;
}

bool lfc_coll_buffer_copy_pieces(lfc_coll_buffer* buffer, void* address, const int* counts,
                                 const int* displacements, int pieces, ompi_datatype_t* type,
                                 struct lfc_coll_block* blocks) {
  *buffer = (lfc_coll_buffer){.address = address, .type = type};
  return copy_pieces(buffer, counts, displacements, pieces, LFC_COLL_ALL_PIECES, blocks);
}

/* Copies between the buffer and its copy; when it packs pieces, only those in `packs`. */
static bool copy_all(const lfc_coll_buffer* buffer, bool pack) {
  if (buffer->packed == NULL) return true;
  const bool all = !pack || buffer->packs == LFC_COLL_ALL_PIECES;
  if (buffer->pieces == NULL)
    return !all || copy_packed(buffer->address, buffer->count, buffer->type, buffer->packed, pack);
  bool ok = true;
  char* packed = buffer->packed;
  for (size_t i = 0; i < buffer->count; ++i) {
    const lfc_coll_piece* piece = &buffer->pieces[i];
    if (all || (int)i == buffer->packs)
      ok = copy_packed(place_of(buffer, piece->displacement), piece->count, buffer->type, packed,
                       pack) &&
           ok;
    packed += piece->count * buffer->type->super.size;
  }
  return ok;
}

bool lfc_coll_buffer_fill(const lfc_coll_buffer* buffer) { return copy_all(buffer, true); }
bool lfc_coll_buffer_spill(const lfc_coll_buffer* buffer) { return copy_all(buffer, false); }

bool lfc_coll_buffer_close(lfc_coll_buffer* buffer, bool unpack) {
  const bool ok = !unpack || lfc_coll_buffer_spill(buffer);
  if (buffer->packed != NULL) {
    free(buffer->packed);
    free(buffer->pieces);
    OBJ_RELEASE(buffer->type);
  }
  lfc_coll_buffer_none(buffer);
  return ok;
}

bool lfc_coll_parts_new(lfc_coll_parts* parts, int count) {
  const size_t each = sizeof *parts->parts + sizeof *parts->buffers;
  parts->parts = calloc((size_t)count + 1, each);
  if (parts->parts == NULL) return false;
  parts->buffers = (lfc_coll_buffer*)(parts->parts + count);
  parts->count = count;
  return true;
}

bool lfc_coll_parts_open(lfc_coll_parts* parts, int index, const void* address, ptrdiff_t offset,
                         size_t count, ompi_datatype_t* type, bool pack) {
  lfc_coll_buffer* buffer = &parts->buffers[index];
  /* MPI_BOTTOM is no address; MPI_BOTTOM and an offset are. */
  void* place = (void*)((uintptr_t)address + (uintptr_t)offset);
  if (!lfc_coll_buffer_open(buffer, place, count, type, pack)) return false;
  parts->parts[index] = (struct lfc_coll_part){buffer->bytes, count * type->super.size};
  return true;
}

static bool copy_parts(const lfc_coll_parts* parts, bool pack) {
  bool ok = true;
  for (int i = 0; i < parts->count; ++i) ok = copy_all(&parts->buffers[i], pack) && ok;
  return ok;
}

static void close_parts(lfc_coll_parts* parts) {
  for (int i = 0; i < parts->count; ++i) (void)lfc_coll_buffer_close(&parts->buffers[i], false);
  free(parts->parts);
}

void lfc_coll_operands_none(lfc_coll_operands* operands) {
  *operands = (lfc_coll_operands){.gets = false};
}

bool lfc_coll_operands_fill(const lfc_coll_operands* operands) {
  return lfc_coll_buffer_fill(&operands->in) && lfc_coll_buffer_fill(&operands->out) &&
         copy_parts(&operands->gives, true);
}

bool lfc_coll_operands_spill(const lfc_coll_operands* operands) {
  return !operands->gets ||
         (lfc_coll_buffer_spill(&operands->out) && copy_parts(&operands->takes, false));
}

bool lfc_coll_operands_in_place(const lfc_coll_operands* operands) {
  return operands->in.packed == NULL && operands->out.packed == NULL &&
         operands->gives.count == 0 && operands->takes.count == 0;
}

bool lfc_coll_operands_close(lfc_coll_operands* operands, bool unpack) {
  bool ok = lfc_coll_buffer_close(&operands->in, false);
  if (unpack && operands->gets) ok = copy_parts(&operands->takes, false) && ok;
  ok = lfc_coll_buffer_close(&operands->out, unpack && operands->gets) && ok;
  close_parts(&operands->gives);
  close_parts(&operands->takes);
  free(operands->blocks);
  free(operands->in_blocks);
  lfc_coll_operands_none(operands);
  return ok;
}
