/* ob1: the functions of Open MPI's PML of this name, which hooks of LFC replace and call.
 *
 *   if (!lfc_ob1_take_over(threads)) return false;
 *   mca_pml.pml_send = counted_send;                          // it counts, and calls lfc_ob1.pml_send(...)
 *   lfc_ob1_give_back();
 *
 * There is one set of hooks at a time. Threads: the one that calls MPI; lfc_ob1 may be read by any.
 */
#ifndef LFC_PML_HOOKS_OB1_H
#define LFC_PML_HOOKS_OB1_H

#include <stdbool.h>

#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/mca/pml/pml.h"

/* The functions of the PML as they were before lfc_ob1_take_over(). */
extern __attribute__((visibility("hidden"))) mca_pml_base_module_t lfc_ob1;

/* A function that is called by jumps, so that its caller needs no registers of its own. */
#define LFC_APART static __attribute__((noinline))

/* The tag of messages to rank 0 of MPI_COMM_WORLD when MPI ends: no collective uses it. */
enum { LFC_GATHER_TAG = -(1 << 20) };

/* Saves the functions of the PML; then the caller replaces some in `mca_pml`. False: LFC may not replace any, because
 * the PML is not ob1, or because the program uses several threads (`threads`: it requested them). */
bool lfc_ob1_take_over(bool threads);
/* Puts the PML's own functions back. Nothing happens where they were not taken over. */
void lfc_ob1_give_back(void);

#endif
