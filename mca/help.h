/* Help: texts of help-lfc.txt for a user who has to act, printed like those of Open MPI's show_help. Each is printed
 * once, although many processes may call: with 5.0 once for a job, with 4.1 once for each of its nodes.
 *
 *   lfc_help("declines", why, lfc_node_of(opal_proc_local_get()));
 *
 * The arguments behind the topic replace its %s, in their order. A message that several processes print with different
 * texts is no topic: it goes by opal_output. *Held by* tests/fault/bad_input.sh,
 * tests/scripts/packages.sh.
 */
#ifndef LFC_MCA_HELP_H
#define LFC_MCA_HELP_H

#include <stdbool.h>

#include "ompi_version.h"

/* Prints the text of the topic. False: it printed nothing, because no descriptor is left to open the catalogue. */
bool lfc_help(const char* topic, ...);

/* Whether lost processes are worth a line on standard error. Open MPI's `btl_base_warn_peer_error` (from 5.0 on) is
 * false where the program goes on without them: `mpirun --with-ft ulfm` clears it. */
bool lfc_prints_losses(void);

/* The name of the node on which the process runs; "?": unknown. */
const char* lfc_node_of(const opal_proc_t* process);

#endif
