/* Agreement: whether LFC serves a communicator, decided alike by all its ranks. Each rank alone knows only which ranks
 * it reaches itself.
 *
 *   if (comm == &ompi_mpi_comm_world.comm) served = lfc_coll_agree_in_init(own, comm);   holds for the job
 *   else if (!lfc_coll_serves(own->communicator)) lfc_coll_agree_later(own);      that one does not hold for it
 */
#ifndef LFC_COLL_AGREEMENT_H
#define LFC_COLL_AGREEMENT_H

#include "coll_lfc.h"

/* Agrees with all ranks of MPI_COMM_WORLD, for all communicators of the job, and waits for these ranks. Returns whether
 * LFC serves it. */
bool lfc_coll_agree_in_init(lfc_coll_module* own, ompi_communicator_t* comm);
/* Called for communicators of several jobs or of sessions, and for all if the address space of some rank is limited.
 * Offers functions that let the ranks agree at their first blocking collective. The component below serves all calls
 * until then. Open MPI enables modules inside the progress of any thread, where a wait for other ranks may never end.
 */
void lfc_coll_agree_later(lfc_coll_module* own);

#endif
