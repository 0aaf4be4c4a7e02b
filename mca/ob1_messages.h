/* ob1's messages: the tags and the head of those that ob1 matches. They are the same in Open MPI 4.1 and 5.0, which do
 * not install the header that defines them (ompi/mca/pml/ob1/pml_ob1_hdr.h).
 *
 *   const struct lfc_ob1_head head = {.type = LFC_OB1_MATCH, .source = 1, .tag = 7, .number = 5};
 *   memcpy(message, &head, LFC_OB1_HEAD_SIZE);
 */
#ifndef LFC_MCA_OB1_MESSAGES_H
#define LFC_MCA_OB1_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "ompi_version.h"

/* Tags by which BTLs carry these messages; also the types in their heads. */
enum {
  LFC_OB1_MATCH = MCA_BTL_TAG_PML + 1, /* the data follow the head */
  LFC_OB1_RENDEZVOUS,
  LFC_OB1_GET
};

struct lfc_ob1_head {
  uint8_t type, flags;
  uint16_t comm; /* lfc_communicator_index() */
  int32_t source, tag;
  uint16_t number; /* ob1 matches the messages of a source and communicator in this order */
};
enum { LFC_OB1_HEAD_SIZE = offsetof(struct lfc_ob1_head, number) + sizeof(uint16_t) };

#endif
