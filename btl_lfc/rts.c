#include "rts.h"

#include <string.h>

#include "registration.h"

void lfc_rts_expect(struct mca_btl_base_endpoint_t* endpoint,
                    mca_btl_base_registration_handle_t* handle) {
  /* A cached registration serves several messages at a time, and has room for the number of one push. */
  if (lfc_registrations_cached()) return;
  handle->self = handle;
  handle->peer = endpoint->peer;
  atomic_store_explicit(&endpoint->next_rts, handle, memory_order_relaxed);
}

bool lfc_rts_offer(struct mca_btl_base_endpoint_t* endpoint, mca_btl_base_descriptor_t* descriptor,
                   mca_btl_base_registration_handle_t* offered) {
  mca_btl_base_registration_handle_t* handle =
      atomic_exchange_explicit(&endpoint->next_rts, NULL, memory_order_relaxed);
  const mca_btl_base_segment_t* segment = descriptor->des_segments;
  if (handle == NULL || descriptor->des_segment_count != 1 || segment->seg_len < sizeof *handle)
    return false;
  void* const end = (char*)segment->seg_addr.pval + segment->seg_len - sizeof *handle;
  mca_btl_base_registration_handle_t in_rts; /* a copy: it may lie unaligned */
  memcpy(&in_rts, end, sizeof in_rts);
  /* Another message. `handle` may be freed by now, so it is compared but not read. */
  if (in_rts.self != handle) return false;
  handle->pushed = lfc_adapter_offer(lfc_btl.adapter, endpoint->peer, &handle->region);
  if (handle->pushed == 0) return false;
  *offered = *handle;
  memcpy(end, handle, sizeof *handle);
  return true;
}

void lfc_push(const mca_btl_base_registration_handle_t* offered) {
  lfc_adapter_push(lfc_btl.adapter, (uint32_t)offered->peer, offered->pushed, &offered->region);
}

void lfc_rts_end(const mca_btl_base_registration_handle_t* handle) {
  if (handle->pushed != 0)
    lfc_adapter_release(lfc_btl.adapter, (uint32_t)handle->peer, handle->pushed);
}
