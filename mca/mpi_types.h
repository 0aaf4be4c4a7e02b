/* MPI types: the elements and operations of LFC (lfc/elements.h) for MPI's predefined ones, in one table for all
 * components.
 *
 *   if (lfc_element_of(type) == LFC_NO_ELEMENT) leave_it_to_others();
 *
 * Threads: any.
 */
#ifndef LFC_MCA_MPI_TYPES_H
#define LFC_MCA_MPI_TYPES_H

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/op/op.h"

/* By the type's id: one more than its element; 0: not looked up yet. */
extern unsigned char lfc_known_elements[OMPI_DATATYPE_MPI_MAX_PREDEFINED];
enum lfc_element lfc_find_element(const ompi_datatype_t* type);

/* The element of a predefined type. LFC_NO_ELEMENT: LFC has none, or the type is not predefined. */
static inline enum lfc_element lfc_element_of(const ompi_datatype_t* type) {
  if (!ompi_datatype_is_predefined(type) || type->id < 0 ||
      type->id >= OMPI_DATATYPE_MPI_MAX_PREDEFINED)
    return LFC_NO_ELEMENT;
  const unsigned char known = __atomic_load_n(&lfc_known_elements[type->id], __ATOMIC_RELAXED);
  return known != 0 ? (enum lfc_element)(known - 1) : lfc_find_element(type);
}
/* The operation of LFC. LFC_NO_OPERATION: it has none, as for those that users define. */
enum lfc_op lfc_op_of(const ompi_op_t* op);

#endif
