/* Calls: the calls of the PML for the program's sends, receives and persistent requests, which may use channels.
 *
 *   lfc_calls_install();                            // with the other hooks
 *
 * Ordinary messages use channels if the plan names them, persistent requests always.
 *
 * Threads: the one that calls MPI.
 */
#ifndef LFC_CALLS_H
#define LFC_CALLS_H

/* Replaces functions of the PML: those for persistent requests, and with a plan those for ordinary messages. */
void lfc_calls_install(void);

#endif
