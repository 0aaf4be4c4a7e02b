/* PML hooks: functions of LFC that Open MPI calls in place of functions of its PML, ob1.
 *
 * `coll lfc` installs them, because it is opened before the first message and sees the calls of all components. They
 * use nothing of the collectives. The parameter coll_lfc_channels chooses one of two sets, or none:
 *
 * channel_hooks.c  bind, plan: messages of the program use channels
 * recorder.c       record: the messages of the program are written to a file for perf/tailor
 *
 *   lfc_pml_hooks_install(LFC_CHANNELS_BIND, NULL, ranks, threads, false);   // at init_query: the PML is selected
 *   lfc_pml_hooks_agree(all);           // in MPI_Init, all: the AND of all ranks' ..._gather()
 *   lfc_pml_hooks_remove();             // at close
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_PML_HOOKS_H
#define LFC_PML_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "lfc/lfc.h"

/* Installs the chosen set for a job of `ranks`. LFC_CHANNELS_PLAN reads `file`; LFC_CHANNELS_RECORD writes to it at
 * the end, so it must stay valid. `threads`: the program requested several. `report`: rank 0 prints at the end how
 * messages travelled on channels. Returns NULL, or the reason why nothing was installed, which is valid until the next
 * call. */
const char* lfc_pml_hooks_install(enum lfc_channels_choice choice, const char* file, int ranks,
                                  bool threads, bool report);

/* Counts that processes gather at rank 0 when MPI ends. All processes of the job take part, or none. */
enum { LFC_HOOKS_RECORD = 1, LFC_HOOKS_REPORT = 2 };
/* Returns the bits of those in which this process can take part. */
unsigned lfc_pml_hooks_gather(void);
/* Sets the bits of those in which all processes take part. This one does not take part in the others. */
void lfc_pml_hooks_agree(unsigned all);

/* Writes one line of counters of this process's channels, key=value; empty: there are none. */
void lfc_pml_hooks_describe(char* text, size_t size);
/* Gives Open MPI its functions back. */
void lfc_pml_hooks_remove(void);

#endif
