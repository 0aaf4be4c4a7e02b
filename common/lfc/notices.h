/* Notices: lines for the user that only one process of each node prints.
 *
 *   if (lfc_first_of_node(job, "declines")) fputs(text, stderr);
 *
 * lfc_first_of_node() returns true to the first process of the job on this node that calls it with this `what`. It
 * returns false to the others as long as the first one runs. The first one keeps a descriptor open. Threads: any.
 */
#ifndef LFC_NOTICES_H
#define LFC_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool lfc_first_of_node(uint32_t job, const char* what);

/* Returns whether a process prints at this level of the parameter `verbose`: from 1 on one process of each node does,
 * from 2 on all do. `local_rank`: the process's number among those of its node, from 0. */
static inline bool lfc_is_verbose(unsigned verbose, unsigned local_rank) {
  return verbose > (local_rank == 0 ? 0u : 1u);
}

#ifdef __cplusplus
}
#endif

#endif
