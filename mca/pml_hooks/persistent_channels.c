/* Hooks in calls of the PML and in arrivals for it. */
#include "persistent_channels.h"

#include <string.h>

#include "communicator_names.h"
#include "lfc/lfc.h"
#include "ob1.h"
#include "ob1_messages.h"
#include "ordinary_messages.h"
#include "report.h"
#include "routes.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/proc/proc.h"
#include "ompi/runtime/params.h"

/* The tag of LFC's own messages between BTLs, those of channels. */
enum { kChannel = MCA_BTL_TAG_BTL + 14 };

_Static_assert((int)LFC_OB1_HEAD_SIZE == (int)LFC_CHANNEL_HEAD,
               "ob1 is given a message in its frame");

static struct {
  bool installed;
  bool planned; /* ordinary messages have channels, too */
  bool giving;  /* a message of a channel is given to ob1 */
  mca_btl_active_message_callback_t match, rendezvous, get;
  const uint16_t* names; /* lfc_channels_names(), while receives and arrivals are watched */
} hooks;

/* --- Messages for ob1 --- */

static void give(const struct lfc_channel_name* name, uint32_t peer, uint16_t number, void* frame,
                 size_t size) {
  const struct lfc_ob1_head head = {.type = LFC_OB1_MATCH,
                                    .comm = (uint16_t)name->comm,
                                    .source = name->rank,
                                    .tag = name->tag,
                                    .number = number};
  memcpy(frame, &head, LFC_OB1_HEAD_SIZE);
  hooks.giving = true;
  lfc_messages_hand_over(peer, LFC_OB1_MATCH, frame, size);
}

/* Replaces the number in a message for ob1 by the one that ob1 expects next. */
static inline void look(const mca_btl_base_segment_t* segment) {
  struct lfc_ob1_head head;
  if (segment->seg_len < LFC_OB1_HEAD_SIZE) return;
  memcpy(&head, segment->seg_addr.pval, LFC_OB1_HEAD_SIZE);
  const uint16_t number = lfc_channels_frame(head.comm, head.source, head.tag, head.number);
  if (number != head.number)
    memcpy((char*)segment->seg_addr.pval + offsetof(struct lfc_ob1_head, number), &number,
           sizeof number);
}

LFC_BTL_RECEIVER(receive_match) {
  if (hooks.giving)
    hooks.giving = false; /* it has its number */
  else
    look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(hooks.match);
}
LFC_BTL_RECEIVER(receive_rendezvous) {
  look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(hooks.rendezvous);
}
LFC_BTL_RECEIVER(receive_get) {
  look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(hooks.get);
}

/* --- Calls of the PML --- */

/* Whether the receive needs lfc_channels_other(). No key has a tag of Open MPI's own. */
static inline bool concerns(const ompi_communicator_t* comm, int source, int tag) {
  if (hooks.names == NULL || tag < MPI_ANY_TAG) return false;
  return source < 0 || tag < 0 ||
         hooks.names[lfc_channel_place(lfc_communicator_index(comm), source, tag)] != 0;
}

void lfc_persistent_other(const ompi_communicator_t* comm, int source, int tag) {
  if (concerns(comm, source, tag)) lfc_channels_other(lfc_communicator_index(comm), source, tag);
}

LFC_APART int irecv_after(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  lfc_persistent_other(comm, source, tag);
  return lfc_ob1.pml_irecv(buffer, count, type, source, tag, comm, request);
}

LFC_APART int recv_after(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_status_public_t* status) {
  lfc_persistent_other(comm, source, tag);
  return lfc_ob1.pml_recv(buffer, count, type, source, tag, comm, status);
}

int lfc_persistent_other_irecv(void* buffer, size_t count, ompi_datatype_t* type, int source,
                               int tag, ompi_communicator_t* comm, ompi_request_t** request) {
  if (concerns(comm, source, tag))
    return irecv_after(buffer, count, type, source, tag, comm, request);
  return lfc_ob1.pml_irecv(buffer, count, type, source, tag, comm, request);
}

int lfc_persistent_other_recv(void* buffer, size_t count, ompi_datatype_t* type, int source,
                              int tag, ompi_communicator_t* comm, ompi_status_public_t* status) {
  if (concerns(comm, source, tag))
    return recv_after(buffer, count, type, source, tag, comm, status);
  return lfc_ob1.pml_recv(buffer, count, type, source, tag, comm, status);
}

/* While these two wait, ob1 keeps them among the receives. */
static int other_probe(int source, int tag, ompi_communicator_t* comm,
                       ompi_status_public_t* status) {
  lfc_persistent_other(comm, source, tag);
  return lfc_ob1.pml_probe(source, tag, comm, status);
}

static int other_mprobe(int source, int tag, ompi_communicator_t* comm,
                        struct ompi_message_t** message, ompi_status_public_t* status) {
  lfc_persistent_other(comm, source, tag);
  return lfc_ob1.pml_mprobe(source, tag, comm, message, status);
}

/* These see only messages that ob1 has been given. */
static int reveal_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                         ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_ob1.pml_iprobe(source, tag, comm, matched, status);
}

static int reveal_improbe(int source, int tag, ompi_communicator_t* comm, int* matched,
                          struct ompi_message_t** message, ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_ob1.pml_improbe(source, tag, comm, matched, message, status);
}

static int add_comm(ompi_communicator_t* comm) {
  lfc_names_add(comm);
  return lfc_ob1.pml_add_comm(comm);
}

/* Messages of a communicator pass as long as its channels are there: numbers below count those that were given. */
static int del_comm(ompi_communicator_t* comm) {
  if (comm == &ompi_mpi_comm_world.comm) lfc_report_print(comm);
  if (hooks.planned) {
    lfc_routes_forget(comm);
    lfc_names_drop(comm);
  }
  lfc_channels_forget(lfc_communicator_index(comm));
  return lfc_ob1.pml_del_comm(comm);
}

static bool empty(const struct lfc_channel_name* name) {
  int found = 1;
  const int status = lfc_ob1.pml_iprobe(name->rank, name->tag, ompi_comm_lookup(name->comm), &found,
                                        MPI_STATUS_IGNORE);
  return status == OMPI_SUCCESS && !found;
}

/* --- Requests that use channels, of either kind --- */

static bool is_ordinary(const void* request) {
  return *(const enum lfc_persistent_kind*)request == LFC_ORDINARY_RECEIVE;
}

static void post(void* request) {
  is_ordinary(request) ? lfc_ordinary_post(request) : lfc_persistent_post(request);
}

static enum lfc_channel_outcome outcome(void* request) {
  return is_ordinary(request) ? lfc_ordinary_outcome(request) : lfc_persistent_outcome(request);
}

static void done(void* request, const void* bytes, size_t size) {
  is_ordinary(request) ? lfc_ordinary_done(request, bytes, size)
                       : lfc_persistent_done(request, bytes, size);
}

/* --- Begin and end --- */

/* Whether ob1 sends to it by btl lfc alone: messages by another BTL are in no order with channels. */
static bool only_by_lfc(ompi_proc_t* proc) {
  mca_bml_base_endpoint_t* endpoint = mca_bml_base_get_endpoint(proc);
  if (endpoint == NULL || mca_bml_base_btl_array_get_size(&endpoint->btl_eager) != 1) return false;
  const mca_btl_base_module_t* btl = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, 0)->btl;
  return strcmp(btl->btl_component->btl_version.mca_component_name, "lfc") == 0;
}

bool lfc_persistent_end(ompi_communicator_t* comm, int rank, int tag, struct lfc_channel_end* end) {
  if (tag < 0 || rank < 0 || rank == ompi_comm_rank(comm) || OMPI_COMM_IS_INTER(comm) ||
      OMPI_COMM_CHECK_ASSERT_ALLOW_OVERTAKE(comm) || lfc_communicator_number(comm) == LFC_NO_NUMBER)
    return false; /* without a common number, the peer may take it for another communicator */
  ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  if (!OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags) || !only_by_lfc(proc)) return false;
  *end = (struct lfc_channel_end){
      .name = {lfc_communicator_index(comm), rank, tag},
      .peer = lfc_find_peer(proc->super.proc_name.jobid, proc->super.proc_name.vpid),
      .self = ompi_comm_rank(comm)};
  return lfc_channels_reach(end->peer);
}

double lfc_persistent_gain_us(ompi_communicator_t* comm, int source, int tag) {
  if (!hooks.planned) return 0; /* communicators have no names */
  return lfc_plan_gain_us(lfc_name_of(comm), lfc_world_rank(comm, source),
                          lfc_world_rank(comm, ompi_comm_rank(comm)), tag);
}

static void hook(mca_btl_base_tag_t tag, mca_btl_active_message_callback_t* original,
                 mca_btl_base_module_recv_cb_fn_t ours) {
  mca_btl_active_message_callback_t* callback = &mca_btl_base_active_message_trigger[tag];
  if (callback->cbfunc == NULL || callback->cbfunc == ours) return;
  *original = *callback;
  callback->cbfunc = ours;
}

static void hook_all(void) {
  hook(LFC_OB1_MATCH, &hooks.match, receive_match);
  hook(LFC_OB1_RENDEZVOUS, &hooks.rendezvous, receive_rendezvous);
  hook(LFC_OB1_GET, &hooks.get, receive_get);
}

/* ob1 registers its callbacks anew each time: between jobs, and for each inter-communicator. */
static int add_procs(ompi_proc_t** procs, size_t count) {
  const int status = lfc_ob1.pml_add_procs(procs, count);
  if (hooks.names != NULL) hook_all();
  return status;
}

bool lfc_persistent_watch(void) {
  if (hooks.names != NULL) return true;
  if (mca_btl_base_active_message_trigger[LFC_OB1_MATCH].cbfunc == NULL) return false;
  hook_all();
  if (!hooks.planned) { /* else its calls observe */
    mca_pml.pml_irecv = lfc_persistent_other_irecv;
    mca_pml.pml_recv = lfc_persistent_other_recv;
  }
  mca_pml.pml_probe = other_probe;
  mca_pml.pml_iprobe = reveal_iprobe;
  mca_pml.pml_improbe = reveal_improbe;
  mca_pml.pml_mprobe = other_mprobe;
  lfc_persistent_requests_watch();
  hooks.names = lfc_channels_names();
  return true;
}

bool lfc_persistent_install(bool threads, bool planned) {
  static const struct lfc_channel_host host = {kChannel, post, outcome, give, empty, done};
  const mca_btl_active_message_callback_t* free_tag =
      &mca_btl_base_active_message_trigger[kChannel];
  /* Open MPI ends requests for failed ranks. It knows how to do so with requests of ob1. */
  if (LFC_MPI_SURVIVES_FAULTS || free_tag->cbfunc != NULL || !lfc_ob1_take_over(threads))
    return false;
  if (!lfc_channels_open(&host)) {
    lfc_ob1_give_back();
    return false;
  }
  memset(&hooks, 0, sizeof hooks);
  hooks.installed = true;
  hooks.planned = planned;
  mca_pml.pml_isend_init = lfc_persistent_isend_init;
  mca_pml.pml_irecv_init = lfc_persistent_irecv_init;
  mca_pml.pml_start = lfc_persistent_start;
  mca_pml.pml_del_comm = del_comm;
  mca_pml.pml_add_procs = add_procs;
  if (!planned) return true;
  mca_pml.pml_add_comm = add_comm;
  lfc_ordinary_install();
  return true;
}

void lfc_persistent_remove(void) {
  if (!hooks.installed) return;
  hooks.installed = false;
  hooks.names = NULL;
  lfc_persistent_requests_close();
  lfc_routes_clear();
  lfc_ordinary_remove();
  lfc_names_clear();
  lfc_channels_close();
}
