/* What several processes of a node would print for the user, and one of them prints.
 *
 *   if (lfc_first_of_node(job, "declines")) fputs(text, stderr);
 *
 * The first process of the job on this node that asks about `what` gets true, and all others false, as long as that one
 * runs. It costs the first one a descriptor. Any thread.
 */
#ifndef LFC_NOTICES_H
#define LFC_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool lfc_first_of_node(uint32_t job, const char* what);

/* Whether a process prints what the parameter `verbose` asks for: one of each node does from 1 on, all do from 2 on.
 * `local_rank`: its number among those of its node, from 0. */
static inline bool lfc_is_verbose(unsigned verbose, unsigned local_rank) {
  return verbose > (local_rank == 0 ? 0u : 1u);
}

#ifdef __cplusplus
}
#endif

#endif
