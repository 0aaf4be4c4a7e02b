/* The BTL `lfc`: ob1's (and osc/rdma's) transport, on top of the network interface.
 *
 * component.c  life of the component: parameters, open, init, progress, close
 * module.c     peers; what the module offers; messages that arrive
 * send.c       fragments: alloc, free, prepare_src, send, sendi
 * shares.c     how many of them a peer may have, so that nothing is overtaken
 * rdma.c       put, get, atomics, flush
 * announce.c   messages that are announced, and pushed behind their announcement
 * registration.c  registered memory, and the cache that keeps it where that pays
 *
 * There is one module. Which link carries a peer's traffic is decided inside the NI.
 */
#ifndef LFC_BTL_LFC_H
#define LFC_BTL_LFC_H

#include <stdatomic.h>

#include "lfc/lfc.h"
#include "ompi_version.h"
#include "shares.h"

/* What lies on Open MPI's free lists passes from thread to thread. The list orders what one has done
 * before what the next does, but by fences, which the thread sanitizer does not know: it is told. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define LFC_PASSED_ON(item) __tsan_release(item)
#define LFC_TAKEN_OVER(item) __tsan_acquire(item)
#else
#define LFC_PASSED_ON(item) ((void)(item))
#define LFC_TAKEN_OVER(item) ((void)(item))
#endif

static inline opal_free_list_item_t* lfc_list_take(opal_free_list_t* list) {
  opal_free_list_item_t* item = opal_free_list_get(list);
  LFC_TAKEN_OVER(item);
  return item;
}
static inline void lfc_list_return(opal_free_list_t* list, opal_free_list_item_t* item) {
  LFC_PASSED_ON(item);
  opal_free_list_return(list, item);
}

struct mca_btl_base_endpoint_t {
  opal_proc_t* proc;
  uint32_t peer;
  /* Of fragments, under way or waiting for credits: a peer that does not receive must not take what the
   * others need. */
  lfc_shares shares;
  /* What ob1 has registered last for this peer to get, until it announces it (announce.h). */
  _Atomic(struct mca_btl_base_registration_handle_t*) to_announce;
};

/* A registration handle is the NI's region, and under which number its bytes are pushed, 0: not: plain bytes that ob1 and
 * osc/rdma send to peers. The rest is for the sender: what is announced, and to whom. The receiver sees in `self` that it
 * gets a message, which has a sender that waits for its end. */
struct mca_btl_base_registration_handle_t {
  lfc_region region;
  uint64_t pushed;
  const struct mca_btl_base_registration_handle_t* self;
  uint64_t peer;
};

/* A message on its way out. Its bytes (header, or all of it) follow the structure. */
typedef struct lfc_btl_fragment {
  mca_btl_base_descriptor_t base;
  mca_btl_base_segment_t segments[2];
  struct mca_btl_base_endpoint_t* endpoint;
  opal_free_list_t* home;
  lfc_message message;
  _Alignas(16) unsigned char bytes[];
} lfc_btl_fragment;
OBJ_CLASS_DECLARATION(lfc_btl_fragment);

/* A put, get or atomic under way. */
typedef struct lfc_btl_operation {
  opal_free_list_item_t super;
  lfc_operation operation;
  struct mca_btl_base_endpoint_t* endpoint;
  void* local_address;
  struct mca_btl_base_registration_handle_t* local_handle;
  mca_btl_base_rdma_completion_fn_t callback;
  void* context;
  void* data;
} lfc_btl_operation;
OBJ_CLASS_DECLARATION(lfc_btl_operation);

typedef struct lfc_btl_component {
  mca_btl_base_component_t super;
  struct lfc_options options;
} lfc_btl_component;
extern lfc_btl_component mca_btl_lfc_component;

typedef struct lfc_btl_module {
  mca_btl_base_module_t super;
  lfc_adapter* adapter; /* NULL until btl_init and after finalize */
  mca_btl_base_module_error_cb_fn_t error_callback;
  bool told_unreachable;
  /* Fragments by the room they have: a header only (the rest is sent from where it lies), an eager
   * message, the largest message. */
  opal_free_list_t headers;
  opal_free_list_t eager;
  opal_free_list_t large;
  size_t eager_room;
  opal_free_list_t operations;
} lfc_btl_module;
extern lfc_btl_module lfc_btl;

/* Room for the header that ob1 puts in front of data sent in place. */
enum { kHeaderRoom = 256 };

/* From Open MPI's status to ours and back. */
static inline int lfc_btl_status(enum lfc_result result) {
  switch (result) {
    case LFC_OK: return OPAL_SUCCESS;
    case LFC_UNREACHABLE: return OPAL_ERR_UNREACH;
    case LFC_BAD_ADDRESS: return OPAL_ERR_BAD_PARAM;
    default: return OPAL_ERR_NOT_SUPPORTED;
  }
}

/* module.c */
void lfc_btl_module_defaults(void);
/* Opens the NI, publishes its address. False: said why; the component is not available. */
bool lfc_btl_module_open(bool threads);

/* send.c */
mca_btl_base_descriptor_t* lfc_btl_alloc(mca_btl_base_module_t* btl,
                                         struct mca_btl_base_endpoint_t* endpoint, uint8_t order,
                                         size_t size, uint32_t flags);
int lfc_btl_free(mca_btl_base_module_t* btl, mca_btl_base_descriptor_t* descriptor);
mca_btl_base_descriptor_t* lfc_btl_prepare_src(mca_btl_base_module_t* btl,
                                               struct mca_btl_base_endpoint_t* endpoint,
                                               opal_convertor_t* convertor, uint8_t order,
                                               size_t reserve, size_t* size, uint32_t flags);
int lfc_btl_send(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                 mca_btl_base_descriptor_t* descriptor, mca_btl_base_tag_t tag);
int lfc_btl_sendi(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                  opal_convertor_t* convertor, void* header, size_t header_size,
                  size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                  mca_btl_base_descriptor_t** descriptor);
/* The NI has sent a message that had to wait, or has given it up. */
void lfc_btl_sent(lfc_message* message, enum lfc_result result);

/* rdma.c */
int lfc_btl_put(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                void* local_address, uint64_t remote_address,
                mca_btl_base_registration_handle_t* local_handle,
                mca_btl_base_registration_handle_t* remote_handle, size_t size, int flags,
                int order, mca_btl_base_rdma_completion_fn_t callback, void* context, void* data);
int lfc_btl_get(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                void* local_address, uint64_t remote_address,
                mca_btl_base_registration_handle_t* local_handle,
                mca_btl_base_registration_handle_t* remote_handle, size_t size, int flags,
                int order, mca_btl_base_rdma_completion_fn_t callback, void* context, void* data);
int lfc_btl_atomic_op(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                      uint64_t remote_address, mca_btl_base_registration_handle_t* remote_handle,
                      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                      mca_btl_base_rdma_completion_fn_t callback, void* context, void* data);
int lfc_btl_atomic_fop(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                       void* local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t* local_handle,
                       mca_btl_base_registration_handle_t* remote_handle,
                       mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t callback, void* context, void* data);
int lfc_btl_atomic_cswap(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint,
                         void* local_address, uint64_t remote_address,
                         mca_btl_base_registration_handle_t* local_handle,
                         mca_btl_base_registration_handle_t* remote_handle, uint64_t compare,
                         uint64_t value, int flags, int order,
                         mca_btl_base_rdma_completion_fn_t callback, void* context, void* data);
mca_btl_base_registration_handle_t* lfc_btl_register_mem(mca_btl_base_module_t* btl,
                                                         struct mca_btl_base_endpoint_t* endpoint,
                                                         void* base, size_t size, uint32_t flags);
int lfc_btl_deregister_mem(mca_btl_base_module_t* btl, mca_btl_base_registration_handle_t* handle);
int lfc_btl_flush(mca_btl_base_module_t* btl, struct mca_btl_base_endpoint_t* endpoint);

#endif
