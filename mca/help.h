/* What a user is told who has to do something: the texts of help-lfc.txt, in the shape of Open MPI's show_help, and
 * each once, however many processes have it to tell: with 5.0 once for a job, with 4.1 once for each of its nodes.
 *
 *   lfc_help("declines", why, lfc_node_of(opal_proc_local_get()));
 *
 * Behind the topic stand the texts that its %s want, in their order. Whatever may be said several times in one job,
 * with another text each, is no topic: it goes by opal_output. *Held by* tests/fault/bad_input.sh,
 * tests/scripts/packages.sh.
 */
#ifndef LFC_MCA_HELP_H
#define LFC_MCA_HELP_H

#include <stdbool.h>

#include "ompi_version.h"

/* False: nothing was told, no descriptor is left for the catalogue. */
bool lfc_help(const char* topic, ...);

/* The name of the node on which the process is; "?" if nobody knows. */
const char* lfc_node_of(const opal_proc_t* process);

#endif
