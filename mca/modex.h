/* The start-up exchange: each process publishes its parts in one record, and looks up that of each other process once.
 *
 *   lfc_modex_publish(LFC_EXCHANGE_ADDRESS, bytes, size);     in open or btl_init, before Open MPI's fence
 *   if ((lfc_modex_parts(proc) & LFC_EXCHANGE_OSC) == 0) ...
 *   uint8_t *address; size_t size;
 *   if (lfc_modex_find_address(proc, &address, &size)) { ...; free(address); }
 */
#ifndef LFC_MCA_MODEX_H
#define LFC_MCA_MODEX_H

#include "lfc/lfc.h"
#include "ompi_version.h"

/* Adds a part to the record of this process, and publishes it as soon as it has the engine's address. */
bool lfc_modex_publish(enum lfc_exchange_part part, const void* bytes, size_t size);
/* Adds that this process will have part lfc, if Open MPI has such components and the user has not selected others. They
 * are opened only after the exchange, so btl lfc calls this, before it publishes the address. */
void lfc_modex_publish_part(void);

/* Returns the parts that this process has published. The first look-up of a process also introduces it to coll lfc. It
 * may wait for the server. */
unsigned lfc_modex_parts(const opal_proc_t* proc);
/* Finds the address of its engine, which the caller frees. False: it published none. Looks the process up unless coll
 * lfc has its address; without coll lfc, a rank on another node may be looked up twice. */
bool lfc_modex_find_address(const opal_proc_t* proc, uint8_t** address, size_t* size);

/* Introduces another process to coll lfc, by a look-up. */
void lfc_modex_introduce(const opal_proc_t* proc);

/* How many processes the job has; 0: unknown. */
uint32_t lfc_job_size(void);

#endif
