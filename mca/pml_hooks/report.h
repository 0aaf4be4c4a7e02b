/* Report: how the messages of all ranks travelled, printed by rank 0 when MPI ends (coll_lfc_channels_report).
 *
 *   ++lfc_sent.ordinary.by_channel;    // the hooks count, also if nothing will be printed
 *   lfc_report_prepare();              // at init_query: this process has channels, and the report is wanted
 *   lfc_report_agreed(all);            // in MPI_Init: whether lfc_report_is_ready() at all ranks
 *   lfc_report_print(world);           // at the end of MPI_COMM_WORLD, before its channels are forgotten
 *   lfc_report_close();                // at close
 *
 * Each message is counted once, by its sender.
 */
#ifndef LFC_REPORT_H
#define LFC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "ompi_version.h"

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"

/* Messages that this process has sent. */
struct lfc_sent {
  uint64_t by_channel, matched; /* matched: by ob1 */
};
struct lfc_sent_messages {
  struct lfc_sent ordinary; /* of keys that the plan names */
  struct lfc_sent persistent;
};
extern struct lfc_sent_messages lfc_sent;

void lfc_report_prepare(void);
/* Whether this process is prepared. */
bool lfc_report_is_ready(void);
/* Only if all processes are prepared, they exchange their counts at the end. */
void lfc_report_agreed(bool all);
/* Sends the counts to rank 0, which prints the sums on standard error. Nothing happens unless all are prepared. */
void lfc_report_print(ompi_communicator_t* world);
/* Resets the counts. Rank 0 prints a line if it was prepared for a report that the ranks did not agree on. */
void lfc_report_close(void);

#endif
