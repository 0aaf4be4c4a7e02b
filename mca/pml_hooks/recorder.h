/* Which messages the program sends and expects, written to one file when MPI ends (perf/tailor reads it).
 *
 *   lfc_recorder_install(file, threads);   at init_query: the calls of the PML are noted
 *   lfc_recorder_ready();                  whether this process notes; all of them must, or none
 *   lfc_recorder_agreed(all);              what they have found
 *   lfc_recorder_remove();                 at the end
 */
#ifndef LFC_RECORDER_H
#define LFC_RECORDER_H

#include <stdbool.h>

/* False: this process cannot note. */
bool lfc_recorder_install(const char* file, bool threads);
bool lfc_recorder_ready(void);
/* If not all do, none does. MPI_COMM_WORLD's rank 0 says so. */
void lfc_recorder_agreed(bool all);
void lfc_recorder_remove(void);

#endif
