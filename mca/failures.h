/* Failures: how LFC reports failed processes to a program that goes on without them (Open MPI 5.0, mpirun --with-ft
 * ulfm). In other programs lfc_loss_error() returns its argument, and no communicator has failed.
 *
 *   return lfc_loss_error(MPI_ERR_OTHER);                       a member is lost
 *   if (lfc_failure_of(comm) == LFC_COLL_REVOKED) ...           another rank has revoked the communicator
 *
 * Threads: any.
 */
#ifndef LFC_MCA_FAILURES_H
#define LFC_MCA_FAILURES_H

#include "ompi_version.h"

#include "ompi_config.h"

#include "lfc/lfc.h"

#include "ompi/communicator/communicator.h"
#include "ompi/runtime/params.h"

/* Reports to the engine, now and then, the processes that have failed as Open MPI knows. For progress functions of
 * components whose operations may wait for a process with which no link has a connection. */
void lfc_report_failures(void);

#if LFC_HAS_FAILURES

#pragma weak ompi_ftmpi_enabled /* Open MPI 4.1, which loads this to decline it, does not have it */

/* The error of an operation that needs a lost process; `otherwise`: in a program that does not go on without it. */
static inline int lfc_loss_error(int otherwise) {
  return LFC_MPI_SURVIVES_FAULTS ? MPI_ERR_PROC_FAILED : otherwise;
}

/* The error of a collective on a communicator that a rank has revoked. */
static inline int lfc_revocation_error(void) { return MPI_ERR_REVOKED; }

/* Whether the communicator (an ompi_communicator_t) can do collectives, as Open MPI knows. Fits lfc_coll_watch(). */
static inline enum lfc_coll_status lfc_failure_of(const void* communicator) {
  const ompi_communicator_t* comm = (const ompi_communicator_t*)communicator;
  if (!LFC_MPI_SURVIVES_FAULTS) return LFC_COLL_OK;
  if (comm->comm_revoked) return LFC_COLL_REVOKED;
  return comm->coll_revoked ? LFC_COLL_LOST : LFC_COLL_OK;
}

#else

static inline int lfc_loss_error(int otherwise) { return otherwise; }
static inline int lfc_revocation_error(void) { return OMPI_ERR_UNREACH; }
static inline enum lfc_coll_status lfc_failure_of(const void* communicator) {
  (void)communicator;
  return LFC_COLL_OK;
}

#endif

#endif
