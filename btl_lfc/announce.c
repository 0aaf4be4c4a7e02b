#include "announce.h"

#include <string.h>

#include "registration.h"

void lfc_announce_later(struct mca_btl_base_endpoint_t* endpoint,
                        mca_btl_base_registration_handle_t* handle, const void* data, size_t size) {
  /* A registration that is kept serves several messages at a time: it cannot say which of them is pushed. */
  if (lfc_registrations_cached()) return;
  handle->data = data;
  handle->size = size;
  handle->peer = endpoint->peer;
  atomic_store_explicit(&endpoint->to_announce, handle, memory_order_relaxed);
}

mca_btl_base_registration_handle_t* lfc_announce(struct mca_btl_base_endpoint_t* endpoint,
                                                 mca_btl_base_descriptor_t* descriptor) {
  mca_btl_base_registration_handle_t* handle =
      atomic_exchange_explicit(&endpoint->to_announce, NULL, memory_order_relaxed);
  const mca_btl_base_segment_t* segment = descriptor->des_segments;
  if (handle == NULL || descriptor->des_segment_count != 1 || segment->seg_len < sizeof *handle)
    return NULL;
  mca_btl_base_registration_handle_t* sent =
      (void*)((char*)segment->seg_addr.pval + segment->seg_len - sizeof *handle);
  if (memcmp(sent, handle, sizeof *handle) != 0) return NULL;
  handle->pushed = lfc_adapter_offer(lfc_btl.adapter, endpoint->peer, handle->size);
  if (handle->pushed == 0) return NULL;
  memcpy(sent, handle, sizeof *handle); /* it may lie unaligned */
  return handle;
}

void lfc_push(const mca_btl_base_registration_handle_t* handle) {
  lfc_adapter_push(lfc_btl.adapter, (uint32_t)handle->peer, handle->pushed, handle->data,
                   handle->size);
}

void lfc_announced_end(const mca_btl_base_registration_handle_t* handle) {
  if (handle->pushed != 0) lfc_adapter_release(lfc_btl.adapter, (uint32_t)handle->peer);
}
