/* Waits: MPI_Wait and MPI_Waitall, which drive LFC before the rest of Open MPI if a channel may complete the request.
 *
 *   lfc_waits_install();                            // with the first receive that may have a channel
 *   lfc_wait_briefly(request);                      // then all of Open MPI may make progress
 *   lfc_waits_remove();
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_WAITS_H
#define LFC_WAITS_H

#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/request/request.h"

/* Replaces Open MPI's waits. */
void lfc_waits_install(void);
/* Puts Open MPI's own waits back. Nothing happens where they were not replaced. */
void lfc_waits_remove(void);
/* Drives the engine until the request is complete, for a while. */
void lfc_wait_briefly(const ompi_request_t* request);

#endif
