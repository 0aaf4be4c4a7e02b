#include "announce.h"

#include <string.h>

#include "registration.h"

void lfc_announce_later(struct mca_btl_base_endpoint_t* endpoint,
                        mca_btl_base_registration_handle_t* handle) {
  /* A registration that is kept serves several messages at a time: it cannot say which of them is pushed. */
  if (lfc_registrations_cached()) return;
  handle->self = handle;
  handle->peer = endpoint->peer;
  atomic_store_explicit(&endpoint->to_announce, handle, memory_order_relaxed);
}

bool lfc_announce(struct mca_btl_base_endpoint_t* endpoint, mca_btl_base_descriptor_t* descriptor,
                  mca_btl_base_registration_handle_t* announced) {
  mca_btl_base_registration_handle_t* handle =
      atomic_exchange_explicit(&endpoint->to_announce, NULL, memory_order_relaxed);
  const mca_btl_base_segment_t* segment = descriptor->des_segments;
  if (handle == NULL || descriptor->des_segment_count != 1 || segment->seg_len < sizeof *handle)
    return false;
  void* const end = (char*)segment->seg_addr.pval + segment->seg_len - sizeof *handle;
  mca_btl_base_registration_handle_t sent; /* it may lie unaligned */
  memcpy(&sent, end, sizeof sent);
  /* Another message; whether the registration still exists is not known, so it is not looked into. */
  if (sent.self != handle) return false;
  handle->pushed = lfc_adapter_offer(lfc_btl.adapter, endpoint->peer, &handle->region);
  if (handle->pushed == 0) return false;
  *announced = *handle;
  memcpy(end, handle, sizeof *handle);
  return true;
}

void lfc_push(const mca_btl_base_registration_handle_t* announced) {
  lfc_adapter_push(lfc_btl.adapter, (uint32_t)announced->peer, announced->pushed,
                   &announced->region);
}

void lfc_announced_end(const mca_btl_base_registration_handle_t* handle) {
  if (handle->pushed != 0)
    lfc_adapter_release(lfc_btl.adapter, (uint32_t)handle->peer, handle->pushed);
}
