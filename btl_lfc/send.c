/* Messages on their way out: fragments, and the two ways to send. */
#include "btl_lfc.h"
#include "rts.h"

static void construct_fragment(lfc_btl_fragment* fragment) {
  fragment->base.des_segments = fragment->segments;
  fragment->segments[0].seg_addr.pval = fragment->bytes;
}
OBJ_CLASS_INSTANCE(lfc_btl_fragment, mca_btl_base_descriptor_t, construct_fragment, NULL);

/* Makes a fragment with room for exactly `bytes`, outside the free lists. Beyond the limit each message under way may
 * have one, so none is larger than needed. */
static lfc_btl_fragment* make_fragment(size_t bytes) {
  lfc_btl_fragment* fragment = malloc(sizeof *fragment + bytes);
  if (fragment != NULL) OBJ_CONSTRUCT(fragment, lfc_btl_fragment);
  return fragment;
}

static void release(lfc_btl_fragment* fragment) {
  if (fragment->home != NULL) {
    lfc_list_return(fragment->home, &fragment->base.super);
    return;
  }
  OBJ_DESTRUCT(fragment);
  free(fragment);
}

/* With room for `bytes`. NULL: the peer has no share left; ob1 tries again when a fragment has come back. */
static lfc_btl_fragment* take(struct mca_btl_base_endpoint_t* endpoint, uint8_t order,
                              uint32_t flags, size_t bytes, enum lfc_purpose purpose) {
  const bool threads = mca_btl_lfc_component.options.threads || opal_using_threads();
  const enum lfc_share share = lfc_share_take(&endpoint->shares, threads ? LFC_THREADED : purpose);
  if (share == LFC_NO_SHARE) {
    lfc_channels_stop();
    return NULL;
  }
  opal_free_list_t* list = share == LFC_BEYOND_LIMIT     ? NULL
                           : bytes <= kHeaderRoom        ? &lfc_btl.headers
                           : bytes <= lfc_btl.eager_room ? &lfc_btl.eager
                                                         : &lfc_btl.large;
  lfc_btl_fragment* fragment =
      list == NULL ? make_fragment(bytes) : (lfc_btl_fragment*)lfc_list_take(list);
  if (fragment == NULL) {
    lfc_channels_stop();
    lfc_share_give_back(&endpoint->shares);
    return NULL;
  }
  fragment->home = list;
  fragment->endpoint = endpoint;
  fragment->base.order = order;
  fragment->base.des_flags = flags;
  fragment->base.des_cbfunc = NULL;
  fragment->base.des_segments = fragment->segments;
  fragment->base.des_segment_count = 1;
  fragment->segments[0].seg_addr.pval = fragment->bytes;
  fragment->segments[0].seg_len = bytes;
  return fragment;
}

/* LFC_CONTROL: for an acknowledgement of ob1, or with 4.1 another control message. ob1 of Open MPI 5.0 must not have to
 * keep an acknowledgement: it does not store its length, and later sends any (open-mpi/ompi#13409; 5.0.7 has the
 * fault). Control messages have no number of ob1, so they may pass messages that it keeps. */
static enum lfc_purpose purpose_of(uint32_t flags) {
  const uint32_t control = MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
  return (flags & control) == control ? LFC_CONTROL : LFC_BEGIN;
}

mca_btl_base_descriptor_t* lfc_btl_alloc(mca_btl_base_module_t* btl,
                                         struct mca_btl_base_endpoint_t* endpoint, uint8_t order,
                                         size_t size, uint32_t flags) {
  if (size > btl->btl_max_send_size && size > lfc_btl.eager_room) return NULL;
  lfc_btl_fragment* fragment = take(endpoint, order, flags, size, purpose_of(flags));
  return fragment == NULL ? NULL : &fragment->base;
}

int lfc_btl_free(mca_btl_base_module_t* btl, mca_btl_base_descriptor_t* descriptor) {
  lfc_btl_fragment* fragment = (lfc_btl_fragment*)descriptor;
  (void)btl;
  lfc_share_give_back(&fragment->endpoint->shares);
  release(fragment);
  return OPAL_SUCCESS;
}

/* Contiguous data stays where it is, behind a header of our own; other data is packed. ob1 begins some messages in this
 * way; where that matters (shares.h) they are taken for parts of others, and may pass one that it keeps. */
mca_btl_base_descriptor_t* lfc_btl_prepare_src(mca_btl_base_module_t* btl,
                                               struct mca_btl_base_endpoint_t* endpoint,
                                               opal_convertor_t* convertor, uint8_t order,
                                               size_t reserve, size_t* size, uint32_t flags) {
  const bool in_place = reserve <= kHeaderRoom && !lfc_must_pack(convertor);
  if (reserve > btl->btl_max_send_size) return NULL;
  if (*size > btl->btl_max_send_size - reserve) *size = btl->btl_max_send_size - reserve;

  lfc_btl_fragment* fragment =
      take(endpoint, order, flags, in_place ? reserve : reserve + *size, LFC_GO_ON);
  if (fragment == NULL) return NULL;

  struct iovec piece = {.iov_base = in_place ? NULL : fragment->bytes + reserve, .iov_len = *size};
  uint32_t pieces = 1;
  if (opal_convertor_pack(convertor, &piece, &pieces, size) < 0) {
    lfc_btl_free(btl, &fragment->base);
    return NULL;
  }
  if (in_place) {
    fragment->segments[1].seg_addr.pval = piece.iov_base;
    fragment->segments[1].seg_len = *size;
    fragment->base.des_segment_count = 2;
  } else {
    fragment->segments[0].seg_len = reserve + *size;
  }
  return &fragment->base;
}

static void call_back(lfc_btl_fragment* fragment, int status) {
  fragment->base.des_cbfunc(fragment->endpoint->module, fragment->endpoint, &fragment->base,
                            status);
}

static void complete(lfc_btl_fragment* fragment, int status) {
  const bool calls = (fragment->base.des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK) != 0 &&
                     fragment->base.des_cbfunc != NULL;
  if ((fragment->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP) == 0) {
    if (calls) call_back(fragment, status); /* which may free it */
    return;
  }
  lfc_shares* shares = &fragment->endpoint->shares;
  if (calls) {
    const struct lfc_walk walk = lfc_walk_begin(shares);
    call_back(fragment, status);
    lfc_walk_end(shares, &walk);
  } else {
    lfc_share_give_back(shares);
  }
  release(fragment);
}

void lfc_btl_sent(lfc_message* message, enum lfc_result result) {
  complete((lfc_btl_fragment*)((char*)message - offsetof(lfc_btl_fragment, message)),
           lfc_btl_status(result));
}

int lfc_btl_send(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                 mca_btl_base_descriptor_t* descriptor, mca_btl_base_tag_t tag) {
  lfc_btl_fragment* fragment = (lfc_btl_fragment*)descriptor;
  const mca_btl_base_segment_t* segments = descriptor->des_segments;
  const int count = (int)descriptor->des_segment_count;
  struct lfc_slice slices[2] = {{segments[0].seg_addr.pval, segments[0].seg_len}, {NULL, 0}};
  (void)btl;
  if (count > 1) slices[1] = (struct lfc_slice){segments[1].seg_addr.pval, segments[1].seg_len};

  mca_btl_base_registration_handle_t offered;
  const bool pushed = atomic_load_explicit(&endpoint->next_rts, memory_order_relaxed) != NULL &&
                      lfc_rts_offer(endpoint, descriptor, &offered);
  const bool sent =
      !lfc_shares_hold(&endpoint->shares) &&
      (pushed ? lfc_adapter_try_rts(lfc_btl.adapter, endpoint->peer, tag, slices, 2)
              : lfc_adapter_try_send(lfc_btl.adapter, endpoint->peer, tag, slices, 2));
  if (!sent) {
    descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    lfc_adapter_post(lfc_btl.adapter, endpoint->peer, tag, slices, count, &fragment->message);
  }
  if (pushed) lfc_push(&offered);
  if (!sent) return OPAL_SUCCESS;
  complete(fragment, OPAL_SUCCESS);
  return 1;
}

int lfc_btl_sendi(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                  opal_convertor_t* convertor, void* header, size_t header_size,
                  size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t** descriptor) {
  const bool in_place = payload_size == 0 || !lfc_must_pack(convertor);
  if (lfc_shares_left(&endpoint->shares) && in_place &&
      header_size + payload_size <= btl->btl_max_send_size) {
    struct lfc_slice slices[2] = {{header, header_size}, {NULL, payload_size}};
    if (payload_size != 0)
      opal_convertor_get_current_pointer(convertor, (void**)(uintptr_t)&slices[1].data);
    if (lfc_adapter_try_send(lfc_btl.adapter, endpoint->peer, tag, slices, 2)) return OPAL_SUCCESS;
  }
  if (descriptor != NULL)
    *descriptor = lfc_btl_alloc(btl, endpoint, order, header_size + payload_size, flags);
  return OPAL_ERR_RESOURCE_BUSY;
}
