/* Registration: the memory that ob1 and osc/rdma register with the BTL.
 *
 * Where registering is expensive (a network adapter pins the pages and learns their addresses), a
 * registration outlives its use in Open MPI's own cache, rcache/grdma. Open MPI watches what the
 * program gives back to the system (munmap, madvise, shmdt, free's way there) and tells the cache, so
 * memory that was freed and got again at the same address is never reached by an old registration.
 *
 *   lfc_registrations_open(LFC_CACHE_AUTO);
 *   handle = lfc_register(base, size, LFC_READ);    // NULL: not possible
 *   lfc_deregister(handle);                         // the cache may keep it
 *   lfc_registrations_close();                      // before the adapter goes
 *
 * Thread rules: as for the BTL's functions; the cache has locks of its own.
 */
#ifndef LFC_BTL_REGISTRATION_H
#define LFC_BTL_REGISTRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ompi_version.h"

/* In the order of the words of the parameter. */
enum lfc_cache { LFC_CACHE_AUTO, LFC_CACHE_ALWAYS, LFC_CACHE_NEVER };

/* `auto` keeps registrations if a link says that registering costs. False: Open MPI has no cache to
 * give, and `always` asked for one. */
bool lfc_registrations_open(enum lfc_cache cache);
/* Whether registrations are kept: then it pays to register local memory, too. */
bool lfc_registrations_cached(void);
void lfc_registrations_close(void);

/* `flags` are MCA_BTL_REG_FLAG_...; the handle may cover more than was asked for: whole pages. */
mca_btl_base_registration_handle_t* lfc_register(void* base, size_t size, uint32_t flags);
void lfc_deregister(mca_btl_base_registration_handle_t* handle);

#endif
