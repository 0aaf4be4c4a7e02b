#include "registration.h"

#include <stdlib.h>
#include <string.h>

#include "btl_lfc.h"
#include "opal/mca/rcache/base/base.h"
#include "opal/mca/rcache/rcache.h"

/* An entry of the cache. */
typedef struct kept_registration {
  mca_rcache_base_registration_t base;
  mca_btl_base_registration_handle_t handle;
} kept_registration;

static mca_rcache_base_module_t* rcache;

static bool enter(mca_btl_base_registration_handle_t* handle, void* base, size_t size,
                  uint32_t flags) {
  const unsigned access = ((flags & MCA_BTL_REG_FLAG_REMOTE_READ) != 0 ? LFC_READ : 0u) |
                          ((flags & MCA_BTL_REG_FLAG_REMOTE_WRITE) != 0 ? LFC_WRITE : 0u) |
                          ((flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC) != 0 ? LFC_ATOMIC : 0u);
  *handle = (mca_btl_base_registration_handle_t){.pushed = 0}; /* its bytes travel */
  return lfc_adapter_register(lfc_btl.adapter, base, size, access, &handle->region);
}

/* Called by the cache. Out of resources: the cache drops a registration that is not in use, and calls again. */
static int enter_kept(void* data, void* base, size_t size, mca_rcache_base_registration_t* kept) {
  (void)data;
  return enter(&((kept_registration*)kept)->handle, base, size, (uint32_t)kept->access_flags)
             ? OPAL_SUCCESS
             : OPAL_ERR_OUT_OF_RESOURCE;
}

static int remove_kept(void* data, mca_rcache_base_registration_t* kept) {
  (void)data;
  lfc_adapter_deregister(lfc_btl.adapter, &((kept_registration*)kept)->handle.region);
  return OPAL_SUCCESS;
}

/* For services of the engine, such as NEON. */
static const lfc_region* take(void* data, size_t size, unsigned access) {
  const uint32_t flags = ((access & LFC_READ) != 0 ? MCA_BTL_REG_FLAG_REMOTE_READ : 0u) |
                         ((access & LFC_WRITE) != 0 ? MCA_BTL_REG_FLAG_REMOTE_WRITE : 0u) |
                         ((access & LFC_ATOMIC) != 0 ? MCA_BTL_REG_FLAG_REMOTE_ATOMIC : 0u);
  const mca_btl_base_registration_handle_t* handle = lfc_register(data, size, flags);
  return handle == NULL ? NULL : &handle->region;
}

static void give_back(const lfc_region* region) {
  lfc_deregister((mca_btl_base_registration_handle_t*)(uintptr_t)region); /* its first member */
}

static const struct lfc_registration_cache for_services = {take, give_back};

bool lfc_registrations_open(enum lfc_cache cache) {
  static char name[] = "lfc"; /* caches of one name are shared; no other component uses this name */
  if (cache == LFC_CACHE_NEVER) return true;
  if (cache == LFC_CACHE_AUTO && !lfc_adapter_registration_costs(lfc_btl.adapter)) return true;
  mca_rcache_base_resources_t resources = {
      .cache_name = name,
      .sizeof_reg = sizeof(kept_registration),
      .register_mem = enter_kept,
      .deregister_mem = remove_kept,
  };
  rcache = mca_rcache_base_module_create("grdma", &lfc_btl, &resources);
  if (rcache != NULL) lfc_adapter_use_cache(lfc_btl.adapter, &for_services);
  return rcache != NULL || cache == LFC_CACHE_AUTO;
}

bool lfc_registrations_cached(void) { return rcache != NULL; }

void lfc_registrations_close(void) {
  if (rcache == NULL) return;
  lfc_adapter_use_cache(lfc_btl.adapter, NULL);
  (void)mca_rcache_base_module_destroy(rcache);
  rcache = NULL;
}

mca_btl_base_registration_handle_t* lfc_register(void* base, size_t size, uint32_t flags) {
  if (rcache != NULL) {
    mca_rcache_base_registration_t* kept = NULL;
    const int32_t access = (int32_t)(flags & MCA_BTL_REG_FLAG_ACCESS_ANY);
    if (rcache->rcache_register(rcache, base, size, 0, access, &kept) != OPAL_SUCCESS) return NULL;
    return &((kept_registration*)kept)->handle;
  }
  mca_btl_base_registration_handle_t* handle = malloc(sizeof *handle);
  if (handle == NULL) return NULL;
  if (enter(handle, base, size, flags)) return handle;
  free(handle);
  return NULL;
}

void lfc_deregister(mca_btl_base_registration_handle_t* handle) {
  if (rcache != NULL) {
    kept_registration* kept =
        (kept_registration*)((char*)handle - offsetof(kept_registration, handle));
    (void)rcache->rcache_deregister(rcache, &kept->base);
  } else {
    lfc_adapter_deregister(lfc_btl.adapter, &handle->region);
    free(handle);
  }
}
