/* Peers: the engine's peers for components beside the BTL, which have not opened the engine.
 *
 *   uint32_t peer = lfc_find_peer(job, rank);
 *   if (peer == LFC_NO_PEER) peer = lfc_add_peer(address, size, why, sizeof why);     with its published address
 *
 *   lfc_report_failure(job, rank, "Open MPI has reported its failure");           with which no link has a connection
 *
 * The first two functions need an open engine. Threads: any.
 */
#ifndef LFC_PEERS_H
#define LFC_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "lfc/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the peer of this name, or LFC_NO_PEER if it has not been added. */
uint32_t lfc_find_peer(uint32_t job, uint32_t rank);
/* Adds a peer and returns it, or LFC_NO_PEER if no link reaches it; `why` then has the reason. */
uint32_t lfc_add_peer(const void* address, size_t size, char* why, size_t why_size);
/* Reports that the process has failed. If no link has a connection with it, and so none would detect that, the peer is
 * lost now. No effect if it is not a peer, or no engine is open. Repeated reports have no effect. */
void lfc_report_failure(uint32_t job, uint32_t rank, const char* why);

#ifdef __cplusplus
}
#endif

#endif
