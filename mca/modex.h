/* The start-up exchange: each process publishes one address, and finds those of its peers.
 *
 *   lfc_modex_publish(bytes, size);                     during btl_init, before Open MPI's fence
 *   uint8_t *address; size_t size;
 *   if (lfc_modex_find(&proc->proc_name, &address, &size)) { ...; free(address); }
 */
#ifndef LFC_MCA_MODEX_H
#define LFC_MCA_MODEX_H

#include "ompi_version.h"

bool lfc_modex_publish(const void* address, size_t size);
/* False: that process published none. May ask its server and so take a while. */
bool lfc_modex_find(const opal_process_name_t* process, uint8_t** address, size_t* size);

/* Whether that process published an address, without fetching more than that. */
bool lfc_modex_published(const opal_process_name_t* process);
/* Lets others know that a component of that name is open here. Before Open MPI's fence, too. */
bool lfc_modex_mark(const char* name);
bool lfc_modex_marked(const char* name, const opal_process_name_t* process);

#endif
