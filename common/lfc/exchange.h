/* Start-up exchange: the parts of LFC that other processes have published, remembered for all components.
 *
 *   unsigned parts = 0;
 *   if (!lfc_exchange_recall(job, rank, &parts)) {
 *     parts = LFC_EXCHANGE_ADDRESS | LFC_EXCHANGE_OSC;   as looked up
 *     lfc_exchange_remember(job, rank, parts);
 *   }
 *
 * Open MPI's look-up hands the request to another thread and waits for it: 6 us with 2 ranks on 2 cores, and 700 us
 * with 16. One look-up is enough: a process publishes its parts before the exchange and changes none afterwards, and no
 * other process ever has its name. The memory is one byte for each rank, up to the highest known rank of a job.
 *
 * Held by tests/rma/lookups.c. Threads: any.
 */
#ifndef LFC_EXCHANGE_H
#define LFC_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lfc_exchange_part {
  LFC_EXCHANGE_ADDRESS = 1, /* of the engine, by btl lfc */
  LFC_EXCHANGE_OSC = 2      /* osc neon is open there */
};

/* Returns whether the parts of this process are remembered, and stores them in `parts`. */
bool lfc_exchange_recall(uint32_t job, uint32_t rank, unsigned* parts);
/* Remembers the parts that this process has published; does nothing if memory is short. */
void lfc_exchange_remember(uint32_t job, uint32_t rank, unsigned parts);
/* Forgets all processes. When MPI starts again, they publish anew. */
void lfc_exchange_forget(void);

#ifdef __cplusplus
}
#endif

#endif
