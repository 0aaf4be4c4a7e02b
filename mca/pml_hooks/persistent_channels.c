/* Hooks in calls of the PML and in arrivals for it, and the frames that connect the two sides of a channel. */
#include "persistent_channels.h"

#include <stdlib.h>
#include <string.h>

#include "pml_below.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/proc/proc.h"

#if LFC_HAS_CHANNELS

/* Tags of messages between BTLs of two processes: those of ob1's messages that are matched, and LFC's own. */
enum { kMatch = MCA_BTL_TAG_PML + 1, kRendezvous, kGet };
enum { kChannel = MCA_BTL_TAG_BTL + 14 };

/* How such messages of ob1 begin. */
struct ob1_head {
  uint8_t type, flags;
  uint16_t comm;
  int32_t source, tag;
  uint16_t number;
};
enum { kOb1Head = offsetof(struct ob1_head, number) + sizeof(uint16_t) };
_Static_assert((int)kOb1Head == (int)LFC_CHANNEL_HEAD, "a message is given below in its frame");

/* The head of a frame. A channel is connected by three of them:
 *   kOffer  receiver to sender: there is a channel for its messages
 *   kWish   sender to receiver: it wants to use the channel
 *   kOpen   receiver to sender: the sender with this wish may use it
 * Meanwhile the communicator may be freed, and another one get its name. Then the receiver has no such channel, or the
 * sender no such wish, and the frame is ignored. */
enum { kMessage, kOffer, kWish, kOpen };
struct head {
  uint32_t kind, channel;
  uint32_t wish;
  uint16_t unused;
};
_Static_assert(offsetof(struct head, unused) + sizeof(uint16_t) == LFC_CHANNEL_HEAD, "");
struct note {
  struct head head;
  int32_t tag, receiver;
  uint64_t comm;
};

static struct {
  bool installed, watching;
  uint32_t wishes;
  struct lfc_persistent_sender* senders;
  mca_btl_active_message_callback_t match, rendezvous, get;
  /* The module and endpoint of the message that has arrived. */
  mca_btl_base_module_t* module;
  struct mca_btl_base_endpoint_t* endpoint;
} own;

/* --- Frames --- */

bool lfc_persistent_send(const struct lfc_persistent_sender* sender, const void* data,
                         size_t size) {
  const struct head head = {.kind = kMessage, .channel = sender->channel};
  const struct lfc_slice slices[2] = {{&head, LFC_CHANNEL_HEAD}, {data, size}};
  return lfc_channel_send(sender->peer, kChannel, slices, 2);
}

/* A frame that cannot leave now is lost: the receiver offers again. */
static void tell(uint32_t peer, struct note note) {
  const struct lfc_slice slices[2] = {{&note, sizeof note}, {NULL, 0}};
  (void)lfc_channel_note(peer, kChannel, slices, 2);
}

void lfc_persistent_offer(void* request, uint32_t channel) {
  const struct lfc_persistent* persistent = request;
  tell(persistent->lfc_peer, (struct note){.head = {.kind = kOffer, .channel = channel},
                                           .tag = persistent->tag,
                                           .receiver = ompi_comm_rank(persistent->comm),
                                           .comm = lfc_communicator_key(persistent->comm)});
}

static void noted(const struct note* note) {
  const uint32_t channel = note->head.channel;
  if (note->head.kind == kWish) {
    const struct lfc_persistent* persistent = lfc_channel_request(channel);
    if (persistent != NULL)
      tell(persistent->lfc_peer,
           (struct note){.head = {.kind = kOpen, .channel = channel, .wish = note->head.wish}});
    return;
  }
  for (struct lfc_persistent_sender* each = own.senders; each != NULL; each = each->next) {
    if (each->channel != 0) continue;
    if (note->head.kind == kOpen) {
      if (each->wish == note->head.wish) each->channel = channel;
    } else if (each->comm_key == note->comm && each->destination == note->receiver &&
               each->tag == note->tag) {
      each->wish = ++own.wishes;
      tell(each->peer,
           (struct note){.head = {.kind = kWish, .channel = channel, .wish = each->wish}});
    }
  }
}

static void frame_came(mca_btl_base_segment_t* segment) {
  struct head head;
  if (segment->seg_len < LFC_CHANNEL_HEAD) return;
  memcpy(&head, segment->seg_addr.pval, LFC_CHANNEL_HEAD);
  if (head.kind == kMessage) {
    (void)lfc_channel_arrived(head.channel, segment->seg_addr.pval, segment->seg_len);
  } else if (segment->seg_len == sizeof(struct note)) {
    struct note note;
    memcpy(&note, segment->seg_addr.pval, sizeof note);
    noted(&note);
  }
}

LFC_BTL_RECEIVER(receive_frame) {
  own.module = LFC_BTL_RECEIVER_MODULE;
  own.endpoint = LFC_BTL_RECEIVER_ENDPOINT;
  frame_came(LFC_BTL_RECEIVER_SEGMENT);
}

/* --- Messages for ob1 --- */

static void give(const struct lfc_channel_name* name, uint16_t number, void* frame, size_t size) {
  const struct ob1_head head = {.type = kMatch,
                                .comm = (uint16_t)name->comm,
                                .source = name->source,
                                .tag = name->tag,
                                .number = number};
  memcpy(frame, &head, kOb1Head);
  mca_btl_base_segment_t segment = {.seg_addr.pval = frame, .seg_len = size};
  lfc_btl_deliver_to(&own.match, own.module, own.endpoint, kMatch, &segment);
}

/* Replaces the number in a message for ob1 by the one that ob1 expects next. */
static void look(mca_btl_base_segment_t* segment) {
  struct ob1_head head;
  if (segment->seg_len < kOb1Head) return;
  memcpy(&head, segment->seg_addr.pval, kOb1Head);
  const struct lfc_channel_name name = {head.comm, head.source, head.tag};
  const uint16_t number = lfc_channels_frame(&name, head.number);
  if (number != head.number)
    memcpy((char*)segment->seg_addr.pval + offsetof(struct ob1_head, number), &number,
           sizeof number);
}

LFC_BTL_RECEIVER(receive_match) {
  look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(own.match);
}
LFC_BTL_RECEIVER(receive_rendezvous) {
  look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(own.rendezvous);
}
LFC_BTL_RECEIVER(receive_get) {
  look(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(own.get);
}

/* --- Calls of the PML --- */

static void other(const ompi_communicator_t* comm, int source, int tag) {
  lfc_channels_other(lfc_communicator_index(comm), source, tag);
}

static int other_irecv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                       ompi_communicator_t* comm, ompi_request_t** request) {
  other(comm, source, tag);
  return lfc_pml_below.pml_irecv(buffer, count, type, source, tag, comm, request);
}

static int other_recv(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                      ompi_communicator_t* comm, ompi_status_public_t* status) {
  other(comm, source, tag);
  return lfc_pml_below.pml_recv(buffer, count, type, source, tag, comm, status);
}

/* While these two wait, ob1 keeps them among the receives. */
static int other_probe(int source, int tag, ompi_communicator_t* comm,
                       ompi_status_public_t* status) {
  other(comm, source, tag);
  return lfc_pml_below.pml_probe(source, tag, comm, status);
}

static int other_mprobe(int source, int tag, ompi_communicator_t* comm,
                        struct ompi_message_t** message, ompi_status_public_t* status) {
  other(comm, source, tag);
  return lfc_pml_below.pml_mprobe(source, tag, comm, message, status);
}

/* These see only messages that ob1 has been given. */
static int reveal_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                         ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_pml_below.pml_iprobe(source, tag, comm, matched, status);
}

static int reveal_improbe(int source, int tag, ompi_communicator_t* comm, int* matched,
                          struct ompi_message_t** message, ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_pml_below.pml_improbe(source, tag, comm, matched, message, status);
}

static int del_comm(ompi_communicator_t* comm) {
  lfc_channels_forget(lfc_communicator_index(comm));
  for (struct lfc_persistent_sender** at = &own.senders; *at != NULL;) {
    struct lfc_persistent_sender* each = *at;
    if (each->comm != comm) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    free(each);
  }
  return lfc_pml_below.pml_del_comm(comm);
}

static bool empty(const struct lfc_channel_name* name, void* request) {
  const struct lfc_persistent* persistent = request;
  int found = 1;
  const int status = lfc_pml_below.pml_iprobe(name->source, name->tag, persistent->comm, &found,
                                              MPI_STATUS_IGNORE);
  return status == OMPI_SUCCESS && !found;
}

/* --- Begin and end --- */

/* Whether ob1 sends to it by btl lfc alone: messages by another BTL are in no order with channels. */
static bool only_by_lfc(ompi_proc_t* proc) {
  mca_bml_base_endpoint_t* endpoint = mca_bml_base_get_endpoint(proc);
  if (endpoint == NULL || mca_bml_base_btl_array_get_size(&endpoint->btl_eager) != 1) return false;
  const mca_btl_base_module_t* btl = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, 0)->btl;
  return strcmp(btl->btl_component->btl_version.mca_component_name, "lfc") == 0;
}

uint32_t lfc_persistent_peer(ompi_communicator_t* comm, int rank) {
  if (OMPI_COMM_IS_INTER(comm) || OMPI_COMM_CHECK_ASSERT_ALLOW_OVERTAKE(comm) || rank < 0 ||
      rank == ompi_comm_rank(comm))
    return LFC_NO_PEER;
  ompi_proc_t* proc = ompi_comm_peer_lookup(comm, rank);
  if (!OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags) || !only_by_lfc(proc)) return LFC_NO_PEER;
  const uint32_t peer = lfc_find_peer(proc->super.proc_name.jobid, proc->super.proc_name.vpid);
  return lfc_channels_reach(peer) ? peer : LFC_NO_PEER;
}

struct lfc_persistent_sender* lfc_persistent_sender_of(ompi_communicator_t* comm, int destination,
                                                       int tag) {
  for (struct lfc_persistent_sender* each = own.senders; each != NULL; each = each->next)
    if (each->comm == comm && each->destination == destination && each->tag == tag) return each;
  struct lfc_persistent_sender* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->comm = comm;
  made->comm_key = lfc_communicator_key(comm);
  made->destination = destination;
  made->tag = tag;
  made->peer = lfc_persistent_peer(comm, destination);
  made->next = own.senders;
  own.senders = made;
  return made;
}

static void hear(mca_btl_base_tag_t tag, mca_btl_active_message_callback_t* below,
                 mca_btl_base_module_recv_cb_fn_t ours) {
  mca_btl_active_message_callback_t* heard = &mca_btl_base_active_message_trigger[tag];
  if (heard->cbfunc == NULL || heard->cbfunc == ours) return;
  *below = *heard;
  heard->cbfunc = ours;
}

static void hear_all(void) {
  hear(kMatch, &own.match, receive_match);
  hear(kRendezvous, &own.rendezvous, receive_rendezvous);
  hear(kGet, &own.get, receive_get);
}

/* ob1 registers its callbacks anew each time: between jobs, and for each inter-communicator. */
static int add_procs(ompi_proc_t** procs, size_t count) {
  const int status = lfc_pml_below.pml_add_procs(procs, count);
  if (own.watching) hear_all();
  return status;
}

bool lfc_persistent_watch(void) {
  if (own.watching) return true;
  if (mca_btl_base_active_message_trigger[kMatch].cbfunc == NULL) return false;
  hear_all();
  mca_pml.pml_irecv = other_irecv;
  mca_pml.pml_recv = other_recv;
  mca_pml.pml_probe = other_probe;
  mca_pml.pml_iprobe = reveal_iprobe;
  mca_pml.pml_improbe = reveal_improbe;
  mca_pml.pml_mprobe = other_mprobe;
  lfc_persistent_requests_watch();
  own.watching = true;
  return true;
}

bool lfc_persistent_install(bool threads) {
  static const struct lfc_channel_host host = {
      lfc_persistent_post, lfc_persistent_outcome, give, empty,
      lfc_persistent_done, lfc_persistent_offer};
  const mca_btl_active_message_callback_t* free_tag =
      &mca_btl_base_active_message_trigger[kChannel];
  if (free_tag->cbfunc != NULL || !lfc_pml_take_over(threads)) return false;
  if (!lfc_channels_open(&host)) {
    lfc_pml_give_back();
    return false;
  }
  memset(&own, 0, sizeof own);
  own.installed = true;
  mca_btl_base_active_message_trigger[kChannel].cbfunc = receive_frame;
  mca_pml.pml_isend_init = lfc_persistent_isend_init;
  mca_pml.pml_irecv_init = lfc_persistent_irecv_init;
  mca_pml.pml_start = lfc_persistent_start;
  mca_pml.pml_del_comm = del_comm;
  mca_pml.pml_add_procs = add_procs;
  return true;
}

void lfc_persistent_remove(void) {
  if (!own.installed) return;
  own.installed = false;
  mca_btl_base_active_message_trigger[kChannel].cbfunc = NULL;
  while (own.senders != NULL) {
    struct lfc_persistent_sender* next = own.senders->next;
    free(own.senders);
    own.senders = next;
  }
  lfc_persistent_requests_close();
  lfc_channels_close();
}

#else

bool lfc_persistent_install(bool threads) {
  (void)threads;
  return false;
}

void lfc_persistent_remove(void) {}

#endif
