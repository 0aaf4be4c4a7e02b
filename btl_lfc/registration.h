/* Registration: the memory that ob1 and osc/rdma register with the BTL, and that services of the engine register.
 *
 * Where registering is expensive (a network adapter pins the pages and stores their addresses), a
 * registration outlives its use in Open MPI's own cache, rcache/grdma. Open MPI intercepts the calls by which
 * a program returns memory to the system (munmap, madvise, shmdt, and free's use of them), and invalidates the
 * cache. So memory that was freed and allocated again at the same address never has an old registration.
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

#include "lfc/lfc.h"
#include "ompi_version.h"

/* Opens the cache: for `auto` only if a link has costly registrations. False: Open MPI has no cache, and
 * `always` needs one. */
bool lfc_registrations_open(enum lfc_cache cache);
/* Whether registrations are cached: then it pays to register local memory as well. */
bool lfc_registrations_cached(void);
void lfc_registrations_close(void);

/* Registers memory. `flags` are MCA_BTL_REG_FLAG_...; the handle may cover more than the range: whole pages.
 * NULL: not possible. */
mca_btl_base_registration_handle_t* lfc_register(void* base, size_t size, uint32_t flags);
void lfc_deregister(mca_btl_base_registration_handle_t* handle);

#endif
