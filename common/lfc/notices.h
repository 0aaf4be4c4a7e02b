/* What several processes of a node would tell the user, and one of them tells.
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

#ifdef __cplusplus
}
#endif

#endif
