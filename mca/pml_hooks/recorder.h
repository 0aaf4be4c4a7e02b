/* Recorder: notes the messages that a program sends and expects, in one file when MPI ends (perf/tailor reads it).
 *
 *   lfc_recorder_install(file, threads);   // at init_query: hooks the calls of the PML
 *   lfc_recorder_agreed(all);              // in MPI_Init: whether lfc_recorder_ready() at all ranks
 *   lfc_recorder_remove();                 // at close
 */
#ifndef LFC_RECORDER_H
#define LFC_RECORDER_H

#include <stdbool.h>

/* Installs the hooks; `file` must stay valid. False: this process cannot record. */
bool lfc_recorder_install(const char* file, bool threads);
/* Whether this process records. */
bool lfc_recorder_ready(void);
/* Removes the hooks unless all processes record. */
void lfc_recorder_agreed(bool all);
void lfc_recorder_remove(void);

#endif
