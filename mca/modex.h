/* The start-up exchange: each process publishes a few pieces of bytes, and finds those of its peers.
 *
 *   lfc_modex_publish(LFC_MODEX_ADDRESS, bytes, size);     in open or btl_init, before Open MPI's fence
 *   uint8_t *address; size_t size;
 *   if (lfc_modex_find(LFC_MODEX_ADDRESS, &proc->proc_name, &address, &size)) { ...; free(address); }
 */
#ifndef LFC_MCA_MODEX_H
#define LFC_MCA_MODEX_H

#include "lfc/lfc.h"
#include "ompi_version.h"

#define LFC_MODEX_ADDRESS "lfc.address" /* of the engine, by btl lfc */
#define LFC_MODEX_COLL "lfc.coll"       /* facts of a process for coll lfc */
#define LFC_MODEX_OSC "lfc.osc"         /* osc neon is open there */
#define LFC_MODEX_PART "lfc.part"       /* part lfc will be open there */

bool lfc_modex_publish(const char* key, const void* bytes, size_t size);
/* Finds the bytes of a process, which the caller frees. False: it published none. May wait for the server. */
bool lfc_modex_find(const char* key, const opal_process_name_t* process, uint8_t** bytes,
                    size_t* size);

/* Publishes that this process will have part lfc, if Open MPI has such components and the user has not selected
 * others. They are opened only after the exchange, so btl lfc calls this. */
void lfc_modex_publish_part(void);

/* How many processes the job has; 0: unknown. */
uint32_t lfc_job_size(void);

/* Whether that process published bytes under the key. */
bool lfc_modex_has(const char* key, const opal_process_name_t* process);
/* Returns the parts of LFC that this process has published. Looks it up once in the life of the calling process. */
unsigned lfc_modex_parts(const opal_process_name_t* process);

#endif
