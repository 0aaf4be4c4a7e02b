/* Remote memory: put, get, atomics, registration, flush. Every completion is a callback, which may come
 * from inside the call that starts the operation. */
#include <stdlib.h>
#include <string.h>

#include "btl_lfc.h"
#include "registration.h"
#include "rts.h"

OBJ_CLASS_INSTANCE(lfc_btl_operation, opal_free_list_item_t, NULL, NULL);

static void operation_done(lfc_operation* done, enum lfc_result result) {
  lfc_btl_operation* own =
      (lfc_btl_operation*)((char*)done - offsetof(lfc_btl_operation, operation));
  const lfc_btl_operation copy = *own; /* the callback may start the next one */
  lfc_list_return(&lfc_btl.operations, &own->super);
  if (copy.staged != NULL) {
    if (result == LFC_OK && !lfc_copy_to_device(copy.local_address, copy.staged, copy.size))
      result = LFC_BAD_ADDRESS;
    free(copy.staged);
  }
  if (copy.callback == NULL) return;
  const struct lfc_visit visit = lfc_btl_visit(copy.module);
  copy.callback(copy.module, copy.endpoint, copy.local_address, copy.local_handle, copy.context,
                copy.data, lfc_btl_status(result));
  lfc_btl_visited(visit);
}

static lfc_btl_operation* begin(mca_btl_base_module_t* btl,
                                struct mca_btl_base_endpoint_t* endpoint, void* local_address,
                                mca_btl_base_registration_handle_t* local_handle,
                                mca_btl_base_rdma_completion_fn_t callback, void* context,
                                void* data) {
  lfc_btl_operation* own = (lfc_btl_operation*)lfc_list_take(&lfc_btl.operations);
  if (own == NULL) return NULL;
  own->operation.done = operation_done;
  own->module = btl;
  own->endpoint = endpoint;
  own->local_address = local_address;
  own->staged = NULL;
  own->local_handle = local_handle;
  own->callback = callback;
  own->context = context;
  own->data = data;
  return own;
}

/* Lets the bytes of a get arrive in ordinary memory first. False: no memory; the operation is given back. */
static bool stage(lfc_btl_operation* own, size_t size) {
  own->size = size;
  own->staged = malloc(size > 0 ? size : 1);
  if (own->staged == NULL) lfc_list_return(&lfc_btl.operations, &own->super);
  return own->staged != NULL;
}

static const lfc_region* region_of(const mca_btl_base_registration_handle_t* handle) {
  return handle == NULL ? NULL : &handle->region;
}

int lfc_btl_put(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                void* local_address, uint64_t remote_address,
                mca_btl_base_registration_handle_t* local_handle,
                mca_btl_base_registration_handle_t* remote_handle, size_t size, int flags,
                int order, mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  (void)flags;
  (void)order;
  lfc_btl_operation* own =
      begin(btl, endpoint, local_address, local_handle, callback, context, data);
  if (own == NULL) return OPAL_ERR_OUT_OF_RESOURCE;
  lfc_adapter_put(lfc_btl.adapter, endpoint->peer, local_address, region_of(local_handle),
                  remote_address, remote_handle, size, &own->operation);
  return OPAL_SUCCESS;
}

int lfc_btl_get(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                void* local_address, uint64_t remote_address,
                mca_btl_base_registration_handle_t* local_handle,
                mca_btl_base_registration_handle_t* remote_handle, size_t size, int flags,
                int order, mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  (void)flags;
  (void)order;
  lfc_btl_operation* own =
      begin(btl, endpoint, local_address, local_handle, callback, context, data);
  if (own == NULL) return OPAL_ERR_OUT_OF_RESOURCE;
  const lfc_region* region = region_of(local_handle);
  if (lfc_btl.has_devices && lfc_is_device_memory(local_address)) {
    if (!stage(own, size)) return OPAL_ERR_OUT_OF_RESOURCE;
    local_address = own->staged;
    region = NULL;
  }
  mca_btl_base_registration_handle_t remote;
  memcpy(&remote, remote_handle, sizeof remote); /* it may lie unaligned */
  if (remote.pushed != 0 && lfc_adapter_fetch(lfc_btl.adapter, endpoint->peer, remote.pushed,
                                              local_address, &remote.region, size, &own->operation))
    return OPAL_SUCCESS;
  lfc_adapter_get(lfc_btl.adapter, endpoint->peer, local_address, region, remote_address,
                  &remote.region, size, remote.self != NULL, &own->operation);
  return OPAL_SUCCESS;
}

static bool translate(mca_btl_base_atomic_op_t op, enum lfc_atomic* out) {
  switch (op) {
    case MCA_BTL_ATOMIC_ADD: *out = LFC_ADD; return true;
    case MCA_BTL_ATOMIC_AND: *out = LFC_AND; return true;
    case MCA_BTL_ATOMIC_OR: *out = LFC_OR; return true;
    case MCA_BTL_ATOMIC_XOR: *out = LFC_XOR; return true;
    case MCA_BTL_ATOMIC_SWAP: *out = LFC_SWAP; return true;
    case MCA_BTL_ATOMIC_MIN: *out = LFC_MIN; return true;
    case MCA_BTL_ATOMIC_MAX: *out = LFC_MAX; return true;
    default: return false;
  }
}

/* All atomics; `result` NULL: the old value is not wanted. */
static int start_atomic(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                        enum lfc_atomic op, uint64_t operand, uint64_t compare,
                        uint64_t remote_address, mca_btl_base_registration_handle_t* remote_handle,
                        void* result, mca_btl_base_registration_handle_t* local_handle, int flags,
                        mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  const int width = (flags & MCA_BTL_ATOMIC_FLAG_32BIT) != 0 ? 4 : 8;
  if ((flags & MCA_BTL_ATOMIC_FLAG_FLOAT) != 0) return OPAL_ERR_NOT_SUPPORTED;
  if (remote_address % (uint64_t)width != 0) return OPAL_ERR_NOT_AVAILABLE;
  if (remote_handle == NULL) {
    /* osc/rdma 4.1 means memory that is mapped here: this process's own, or a shared window. */
    const uint64_t old =
        lfc_adapter_atomic_here(op, width, operand, compare, (void*)(uintptr_t)remote_address);
    if (result != NULL) memcpy(result, &old, (size_t)width);
    if (callback != NULL)
      callback(btl, endpoint, result, local_handle, context, data, OPAL_SUCCESS);
    return OPAL_SUCCESS;
  }
  lfc_btl_operation* own = begin(btl, endpoint, result, local_handle, callback, context, data);
  if (own == NULL) return OPAL_ERR_OUT_OF_RESOURCE;
  lfc_adapter_atomic(lfc_btl.adapter, endpoint->peer, op, width, operand, compare, remote_address,
                     remote_handle, result, &own->operation);
  return OPAL_SUCCESS;
}

int lfc_btl_atomic_op(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                      uint64_t remote_address, mca_btl_base_registration_handle_t* remote_handle,
                      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                      mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  return lfc_btl_atomic_fop(btl, endpoint, NULL, remote_address, NULL, remote_handle, op, operand,
                            flags, order, callback, context, data);
}

int lfc_btl_atomic_fop(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                       void* local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t* local_handle,
                       mca_btl_base_registration_handle_t* remote_handle,
                       mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  enum lfc_atomic translated;
  (void)order;
  if (!translate(op, &translated)) return OPAL_ERR_NOT_SUPPORTED;
  return start_atomic(btl, endpoint, translated, operand, 0, remote_address, remote_handle,
                      local_address, local_handle, flags, callback, context, data);
}

int lfc_btl_atomic_cswap(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                         void* local_address, uint64_t remote_address,
                         mca_btl_base_registration_handle_t* local_handle,
                         mca_btl_base_registration_handle_t* remote_handle, uint64_t compare,
                         uint64_t value, int flags, int order,
                         mca_btl_base_rdma_completion_fn_t callback, void* context, void* data) {
  (void)order;
  return start_atomic(btl, endpoint, LFC_CSWAP, value, compare, remote_address, remote_handle,
                      local_address, local_handle, flags, callback, context, data);
}

mca_btl_base_registration_handle_t* lfc_btl_register_mem(mca_btl_base_module_t* btl,
                                                         struct mca_btl_base_endpoint_t* endpoint,
                                                         void* base, size_t size, uint32_t flags) {
  (void)btl;
  /* Only ob1 registers with exactly these flags, for a message that its receiver shall get. If refused, it
   * sends the message in fragments. Windows of osc/rdma are always registered. */
  const bool by_rts = flags == MCA_BTL_REG_FLAG_REMOTE_READ && endpoint != NULL;
  if (by_rts && !lfc_adapter_fetch_is_faster(lfc_btl.adapter, endpoint->peer, size)) return NULL;
  mca_btl_base_registration_handle_t* handle = lfc_register(base, size, flags);
  if (by_rts && handle != NULL) lfc_rts_expect(endpoint, handle);
  return handle;
}

int lfc_btl_deregister_mem(mca_btl_base_module_t* btl, mca_btl_base_registration_handle_t* handle) {
  (void)btl;
  lfc_rts_end(handle);
  lfc_deregister(handle);
  return OPAL_SUCCESS;
}

/* Drives all of Open MPI, not only LFC: the caller may wait for another component. Must not be called from
 * a completion callback, where the NI cannot be driven. */
int lfc_btl_flush(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint) {
  (void)btl;
  const uint32_t peer = endpoint == NULL ? LFC_NO_PEER : endpoint->peer;
  do {
    opal_progress();
  } while (lfc_adapter_outstanding(lfc_btl.adapter, peer) > 0);
  return OPAL_SUCCESS;
}
