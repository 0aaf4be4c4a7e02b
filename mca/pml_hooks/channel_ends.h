/* Ends of channels: which messages of this process can have a channel, and how much time they save on it.
 *
 *   struct lfc_channel_end end;
 *   if (lfc_channel_end_of(comm, peer, tag, &end)) sender = lfc_channel_sender_of(&end);
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_CHANNEL_ENDS_H
#define LFC_CHANNEL_ENDS_H

#include <stdbool.h>

#include "lfc/lfc.h"
#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

/* Whether a plan is open that names messages of this process. Then communicators have names. */
extern bool lfc_messages_are_planned;

/* Sets this process's end of the channel for messages of this tag from or to this rank. False: there can be none. */
bool lfc_channel_end_of(ompi_communicator_t* comm, int peer, int tag, struct lfc_channel_end* end);
/* Returns the time in us that a message of this source and tag saves on a channel, by the plan. 0: the plan does not
 * have it. */
double lfc_channel_gain_us(ompi_communicator_t* comm, int source, int tag);

#endif
