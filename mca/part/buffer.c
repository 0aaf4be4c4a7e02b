#include "buffer.h"

#include <stdlib.h>
#include <string.h>

/* Copies between one partition and its bytes. */
static bool copy(const lfc_part_buffer* buffer, size_t which, size_t bytes, bool pack) {
  ptrdiff_t lower = 0;
  ptrdiff_t extent = 0;
  if (bytes == 0) return true;
  (void)ompi_datatype_get_extent(buffer->type, &lower, &extent);
  char* address = buffer->address + (ptrdiff_t)(which * buffer->count) * extent;
  opal_convertor_t convertor;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  struct iovec piece = {buffer->packed + which * buffer->each, bytes};
  uint32_t pieces = 1;
  size_t most = bytes;
  int status = 0;
  if (pack) {
    (void)opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &buffer->type->super,
                                                   buffer->count, address, 0, &convertor);
    status = opal_convertor_pack(&convertor, &piece, &pieces, &most);
  } else {
    (void)opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &buffer->type->super,
                                                   buffer->count, address, 0, &convertor);
    status = opal_convertor_unpack(&convertor, &piece, &pieces, &most);
  }
  OBJ_DESTRUCT(&convertor);
  return status >= 0 && most == bytes;
}

bool lfc_part_buffer_open(lfc_part_buffer* buffer, void* address, size_t partitions, size_t count,
                          ompi_datatype_t* type) {
  *buffer = (lfc_part_buffer){.bytes = address,
                              .address = address,
                              .type = type,
                              .partitions = partitions,
                              .count = count,
                              .each = count * type->super.size};
  const size_t bytes = partitions * buffer->each;
  if (bytes == 0) return true;
  if (opal_datatype_is_contiguous_memory_layout(&type->super, partitions * count > 1 ? 2 : 1)) {
    ptrdiff_t gap = 0;
    (void)opal_datatype_span(&type->super, 1, &gap);
    buffer->bytes += gap;
    return true;
  }
  buffer->bytes = buffer->packed = malloc(bytes);
  buffer->unpacked = calloc(partitions, sizeof *buffer->unpacked);
  if (buffer->packed == NULL || buffer->unpacked == NULL) {
    free(buffer->packed);
    free(buffer->unpacked);
    buffer->packed = NULL; /* or it would also be closed */
    return false;
  }
  OBJ_RETAIN(type);
  pthread_mutex_init(&buffer->mutex, NULL);
  return true;
}

bool lfc_part_buffer_pack(const lfc_part_buffer* buffer, size_t first, size_t last) {
  if (buffer->packed == NULL) return true;
  bool ok = true;
  for (size_t which = first; which <= last; ++which)
    ok = copy(buffer, which, buffer->each, true) && ok;
  return ok;
}

void lfc_part_buffer_restart(lfc_part_buffer* buffer) {
  if (buffer->packed != NULL)
    memset(buffer->unpacked, 0, buffer->partitions * sizeof *buffer->unpacked);
}

bool lfc_part_buffer_unpack(lfc_part_buffer* buffer, size_t first, size_t last, size_t most) {
  if (buffer->packed == NULL) return true;
  bool ok = true;
  pthread_mutex_lock(&buffer->mutex);
  for (size_t which = first; which <= last && which * buffer->each < most; ++which) {
    const size_t rest = most - which * buffer->each;
    if (!buffer->unpacked[which])
      ok = copy(buffer, which, rest < buffer->each ? rest : buffer->each, false) && ok;
    buffer->unpacked[which] = true;
  }
  pthread_mutex_unlock(&buffer->mutex);
  return ok;
}

void lfc_part_buffer_close(lfc_part_buffer* buffer) {
  if (buffer->packed == NULL) return;
  free(buffer->packed);
  free(buffer->unpacked);
  OBJ_RELEASE(buffer->type);
  pthread_mutex_destroy(&buffer->mutex);
  buffer->packed = NULL;
}
