/* Buffer: the bytes of a request's partitions, where they lie if they lie together, else in a packed copy.
 *
 *   lfc_part_buffer buffer;
 *   if (!lfc_part_buffer_open(&buffer, address, partitions, count, type)) return OMPI_ERR_OUT_OF_RESOURCE;
 *   lfc_part_buffer_pack(&buffer, 3, 5);            before they are sent from buffer.bytes
 *   lfc_part_buffer_restart(&buffer);               before others come
 *   lfc_part_buffer_unpack(&buffer, 3, 5, most);    when they have come; again does nothing
 *   lfc_part_buffer_close(&buffer);
 *
 * The type must stay valid until close. Threads: pack of different partitions, and unpack, by any; else the caller
 * serialises.
 */
#ifndef LFC_PART_BUFFER_H
#define LFC_PART_BUFFER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "ompi_version.h"

#include "ompi/datatype/ompi_datatype.h"

typedef struct lfc_part_buffer {
  char* bytes;
  char* packed; /* NULL: not copied */
  char* address;
  ompi_datatype_t* type;
  size_t partitions, count; /* elements of each */
  size_t each;              /* bytes of each */
  bool* unpacked;           /* for each partition */
  pthread_mutex_t mutex;    /* of `unpacked` */
} lfc_part_buffer;

/* Opens the buffer. False: no memory. */
bool lfc_part_buffer_open(lfc_part_buffer* buffer, void* address, size_t partitions, size_t count,
                          ompi_datatype_t* type);
bool lfc_part_buffer_pack(const lfc_part_buffer* buffer, size_t first, size_t last);
void lfc_part_buffer_restart(lfc_part_buffer* buffer);
/* Unpacks those of the partitions that begin in the first `most` bytes, as far as these bytes reach. */
bool lfc_part_buffer_unpack(lfc_part_buffer* buffer, size_t first, size_t last, size_t most);
void lfc_part_buffer_close(lfc_part_buffer* buffer);

#endif
