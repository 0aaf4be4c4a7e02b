/* Observer: hooks in the receives and probes that ob1 serves, and in the messages that arrive for it, as far as they
 * concern channels.
 *
 *   lfc_observer_install();                         // with the other hooks
 *   if (!lfc_observer_start()) return;              // before the first receive that may have a channel
 *   lfc_before_ob1_receive(comm, source, tag);      // before ob1 is given another receive
 *   lfc_observer_stop();                            // at the end
 *
 * Before lfc_observer_start() a program executes no instruction more.
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_OBSERVER_H
#define LFC_OBSERVER_H

#include <stdbool.h>

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

void lfc_observer_install(void);
/* Installs the hooks, and those in waits. False: ob1 has no callback for messages, so that there is none to hook. */
bool lfc_observer_start(void);
void lfc_observer_stop(void);

/* Prepares channels for a receive that is posted to ob1. */
void lfc_before_ob1_receive(const ompi_communicator_t* comm, int source, int tag);
/* The PML's calls for such receives. */
int lfc_irecv_by_ob1(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                     ompi_communicator_t* comm, ompi_request_t** request);
int lfc_recv_by_ob1(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                    ompi_communicator_t* comm, ompi_status_public_t* status);

/* --- Functions of lfc_channel_host --- */

/* Gives ob1 a message. */
void lfc_give_to_ob1(const struct lfc_channel_name* name, uint32_t peer, uint16_t number,
                     void* frame, size_t size);
/* Whether no message of this name waits at ob1. */
bool lfc_is_empty_at_ob1(const struct lfc_channel_name* name);

#endif
