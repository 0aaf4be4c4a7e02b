/* The BTL `lfc`: ob1's (and osc/rdma's) transport, on top of the engine.
 *
 * component.c  life of the component: parameters, open, init, progress, close
 * module.c     what the modules offer; messages that arrive; start and end
 * peers.c      which module reaches a peer
 * send.c       fragments: alloc, free, prepare_src, send, sendi
 * shares.c     how many of them a peer may have, so that no message is overtaken
 * rdma.c       put, get, atomics, flush
 * rts.c        messages that are pushed behind their RTS
 * registration.c  registered memory, and the cache that keeps it where that pays
 *
 * There are two modules, because limits of ob1 belong to modules and not to peers. `far` reaches the peers to which
 * a round trip costs more than a copy (those of other nodes, by tcp), with a larger eager limit; `near` reaches all
 * others. ob1 has one of them for each peer, and the same module delivers the peer's messages: ob1 replies by the
 * module of the request, and looks for it among the peer's. `near` also reaches all peers once more for the windows
 * of osc/rdma, which want one module for all peers; ob1 does not use these endpoints. The rest is common to both
 * modules. The NI decides which link carries a peer's traffic.
 */
#ifndef LFC_BTL_LFC_H
#define LFC_BTL_LFC_H

#include <stdatomic.h>

#include "handed_over.h"
#include "lfc/lfc.h"
#include "ompi_version.h"
#include "shares.h"

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
  mca_btl_base_module_t* module; /* that gave it to ob1 */
  uint32_t peer;
  bool leads; /* it stands for the peer; else it is one more, for windows */
  /* How many fragments may be under way or wait for credits: a peer that does not receive must not use up
   * those of the others. */
  lfc_shares shares;
  /* The memory that ob1 registered last for this peer to get; NULL once its RTS is sent (rts.h). */
  _Atomic(struct mca_btl_base_registration_handle_t*) next_rts;
};

/* A registration handle: the NI's region, and the number under which its bytes are pushed (0: they are not). ob1 and
 * osc/rdma send it to peers as plain bytes. `self` and `peer` are for the sender: the handle in the RTS, and its
 * receiver. The receiver of a handle with `self` gets a message, and the sender waits until it has it. */
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
  mca_btl_base_module_t* module;
  struct mca_btl_base_endpoint_t* endpoint;
  void* local_address;
  void* staged; /* of a get into device memory: its bytes, owned; else NULL */
  size_t size;  /* of these */
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

typedef struct lfc_btl_modules {
  mca_btl_base_module_t near, far;
  lfc_adapter* adapter; /* NULL until btl_init and after the first finalize */
  mca_btl_base_module_error_cb_fn_t error_callback;
  bool has_near, has_far; /* peers */
  bool has_devices;       /* buffers may lie in the memory of an accelerator */
  /* Fragments by the room they have: a header only (the rest is sent from where it lies), an eager
   * message or one of a protocol, the largest message. */
  opal_free_list_t headers;
  opal_free_list_t eager;
  opal_free_list_t large;
  size_t eager_room;
  opal_free_list_t operations;
} lfc_btl_modules;
extern lfc_btl_modules lfc_btl;

/* Room for the header that ob1 puts in front of data sent in place; for the longest message of a protocol, which has a
 * header and two registration handles. Limits of data do not apply to such messages: no caller could divide them. */
enum {
  kHeaderRoom = 256,
  kProtocolRoom = 128 + 2 * sizeof(struct mca_btl_base_registration_handle_t)
};

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
/* Opens the NI, and publishes its address. False: the reason was printed; the component is not available. */
bool lfc_btl_module_open(bool threads);
/* Returns the value of a counter of the engine; 0 before it is open. */
unsigned long long lfc_btl_counter(size_t which);
/* Prints, once, that local peers do not reach each other by shared memory. */
void lfc_btl_detour(const char* link, const char* why);

/* peers.c */
int lfc_btl_add_procs(mca_btl_base_module_t* btl, size_t count, opal_proc_t** procs,
                      struct mca_btl_base_endpoint_t** endpoints, opal_bitmap_t* reachable);
int lfc_btl_del_procs(mca_btl_base_module_t* btl, size_t count, opal_proc_t** procs,
                      struct mca_btl_base_endpoint_t** endpoints);
mca_btl_base_module_t* lfc_btl_module_of(uint32_t peer);

/* Surround each call back of ob1 for a peer of this module. Where all peers have the same module they do nothing. */
static inline enum lfc_module lfc_btl_which(const mca_btl_base_module_t* module) {
  return module == &lfc_btl.far ? LFC_FAR : LFC_NEAR;
}
static inline struct lfc_visit lfc_btl_visit(const mca_btl_base_module_t* module) {
  if (lfc_btl.has_near && lfc_btl.has_far) return lfc_visit_begin(lfc_btl_which(module));
  return (struct lfc_visit){NULL, 0};
}
static inline void lfc_btl_visited(struct lfc_visit visit) {
  if (visit.place != NULL) lfc_visit_end(visit);
}

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
