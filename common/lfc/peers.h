/* Peers: the engine's peers for who has not opened it: a component beside the BTL.
 *
 *   uint32_t peer = lfc_find_peer(job, rank);
 *   if (peer == LFC_NO_PEER) peer = lfc_add_peer(address, size, why, sizeof why);     what the process has published
 *
 * Both are for while the engine is open. Threads: any.
 */
#ifndef LFC_PEERS_H
#define LFC_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "lfc/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LFC_NO_PEER: not known yet. */
uint32_t lfc_find_peer(uint32_t job, uint32_t rank);
/* LFC_NO_PEER: `why` says why it cannot be reached. */
uint32_t lfc_add_peer(const void* address, size_t size, char* why, size_t why_size);

#ifdef __cplusplus
}
#endif

#endif
