/* Start-up exchange: the record of parts that each process publishes, and those of other processes, remembered.
 *
 *   const void* record = NULL;
 *   size_t size = 0;
 *   bool added = lfc_exchange_add(LFC_EXCHANGE_ADDRESS, bytes, count, &record, &size);   then publish the record
 *   ...
 *   unsigned parts = 0;
 *   struct lfc_exchange_record found;
 *   if (!lfc_exchange_recall(job, rank, &parts) && lfc_exchange_read(record, size, &found))
 *     lfc_exchange_remember(job, rank, parts = found.parts);
 *
 * Open MPI's look-up hands the request to another thread and waits for it: 6 us with 2 ranks on 2 cores, and 700 us
 * with 16. So a process has one record under one key. One look-up of it is enough: a process publishes its parts before
 * the exchange and changes none afterwards, and no other process ever has its name. The memory is one byte for each
 * rank, up to the highest known rank of a job.
 *
 * Held by tests/rma/lookups.c and tests/unit/c_api/exchange_test.cpp. Threads: any, except that add, drop, own and
 * forget are called alone.
 */
#ifndef LFC_EXCHANGE_H
#define LFC_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum lfc_exchange_part {
  LFC_EXCHANGE_ADDRESS = 1, /* of the engine, by btl lfc */
  LFC_EXCHANGE_COLL = 2,    /* facts of a process for coll lfc */
  LFC_EXCHANGE_OSC = 4,     /* osc neon is open there; no bytes */
  LFC_EXCHANGE_PART = 8     /* part lfc will be open there; no bytes */
};

/* A record as its parts. The pointers lead into the record. */
struct lfc_exchange_record {
  unsigned parts;
  const void* address;
  size_t address_size;
  const void* coll;
  size_t coll_size;
};

/* Adds a part to the record of this process. Stores the record, which replaces an earlier one and belongs to the
 * library, or NULL as long as it has no address: without that all other parts are useless. Returns false if memory is
 * short, or the address has more than 65,535 bytes. */
bool lfc_exchange_add(enum lfc_exchange_part part, const void* bytes, size_t size,
                      const void** record, size_t* record_size);
/* Takes a part out of the record again, because the record with it has not been published. */
void lfc_exchange_drop(enum lfc_exchange_part part);
/* Returns the record of this process as its parts, valid until the next call of add or forget. */
struct lfc_exchange_record lfc_exchange_own(void);
/* Takes a record apart. Returns false, and no parts, if its sizes are wrong. */
bool lfc_exchange_read(const void* record, size_t size, struct lfc_exchange_record* found);

/* Returns whether the parts of this process are remembered, and stores them in `parts`. */
bool lfc_exchange_recall(uint32_t job, uint32_t rank, unsigned* parts);
/* Remembers the parts that this process has published; does nothing if memory is short. */
void lfc_exchange_remember(uint32_t job, uint32_t rank, unsigned parts);
/* Forgets all processes, and the record of this one. When MPI starts again, they publish anew. */
void lfc_exchange_forget(void);

#ifdef __cplusplus
}
#endif

#endif
