#include "observer.h"

#include <string.h>

#include "channel_ends.h"
#include "communicator_key.h"
#include "ob1.h"
#include "ob1_messages.h"
#include "waits.h"

#include "ompi/mca/pml/pml.h"

_Static_assert((int)LFC_OB1_HEAD_SIZE == (int)LFC_CHANNEL_HEAD,
               "ob1 is given a message in its frame");

static struct {
  const uint16_t* names; /* lfc_channels_names(); NULL: nothing is observed */
  bool giving;           /* a message of a channel is given to ob1 */
  mca_btl_active_message_callback_t match, rendezvous, get;
} observer;

/* --- Messages for ob1 --- */

void lfc_give_to_ob1(const struct lfc_channel_name* name, uint32_t peer, uint16_t number,
                     void* frame, size_t size) {
  const struct lfc_ob1_head head = {.type = LFC_OB1_MATCH,
                                    .comm = (uint16_t)name->comm,
                                    .source = name->rank,
                                    .tag = name->tag,
                                    .number = number};
  memcpy(frame, &head, LFC_OB1_HEAD_SIZE);
  observer.giving = true;
  lfc_messages_hand_over(peer, LFC_OB1_MATCH, frame, size);
}

/* Replaces the number in a message for ob1 by the one that ob1 expects next. */
static inline void number_anew(const mca_btl_base_segment_t* segment) {
  struct lfc_ob1_head head;
  if (segment->seg_len < LFC_OB1_HEAD_SIZE) return;
  memcpy(&head, segment->seg_addr.pval, LFC_OB1_HEAD_SIZE);
  const uint16_t number = lfc_channels_frame(head.comm, head.source, head.tag, head.number);
  if (number != head.number)
    memcpy((char*)segment->seg_addr.pval + offsetof(struct lfc_ob1_head, number), &number,
           sizeof number);
}

LFC_BTL_RECEIVER(receive_match) {
  if (observer.giving)
    observer.giving = false; /* it has its number */
  else
    number_anew(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(observer.match);
}
LFC_BTL_RECEIVER(receive_rendezvous) {
  number_anew(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(observer.rendezvous);
}
LFC_BTL_RECEIVER(receive_get) {
  number_anew(LFC_BTL_RECEIVER_SEGMENT);
  LFC_BTL_RECEIVER_PASS(observer.get);
}

static void hook(mca_btl_base_tag_t tag, mca_btl_active_message_callback_t* original,
                 mca_btl_base_module_recv_cb_fn_t ours) {
  mca_btl_active_message_callback_t* callback = &mca_btl_base_active_message_trigger[tag];
  if (callback->cbfunc == NULL || callback->cbfunc == ours) return;
  *original = *callback;
  callback->cbfunc = ours;
}

static void hook_all(void) {
  hook(LFC_OB1_MATCH, &observer.match, receive_match);
  hook(LFC_OB1_RENDEZVOUS, &observer.rendezvous, receive_rendezvous);
  hook(LFC_OB1_GET, &observer.get, receive_get);
}

/* ob1 registers its callbacks anew each time: between jobs, and for each inter-communicator. */
static int add_procs(ompi_proc_t** procs, size_t count) {
  const int status = lfc_ob1.pml_add_procs(procs, count);
  if (observer.names != NULL) hook_all();
  return status;
}

/* --- Receives and probes --- */

/* Whether the receive needs lfc_channels_other(). No key has a tag of Open MPI's own. */
static inline bool concerns(const ompi_communicator_t* comm, int source, int tag) {
  if (observer.names == NULL || tag < MPI_ANY_TAG) return false;
  return source < 0 || tag < 0 ||
         observer.names[lfc_channel_place(lfc_communicator_index(comm), source, tag)] != 0;
}

void lfc_before_ob1_receive(const ompi_communicator_t* comm, int source, int tag) {
  if (concerns(comm, source, tag)) lfc_channels_other(lfc_communicator_index(comm), source, tag);
}

LFC_APART int irecv_after(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                          ompi_communicator_t* comm, ompi_request_t** request) {
  lfc_before_ob1_receive(comm, source, tag);
  return lfc_ob1.pml_irecv(buffer, count, type, source, tag, comm, request);
}

LFC_APART int recv_after(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                         ompi_communicator_t* comm, ompi_status_public_t* status) {
  lfc_before_ob1_receive(comm, source, tag);
  return lfc_ob1.pml_recv(buffer, count, type, source, tag, comm, status);
}

int lfc_irecv_by_ob1(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                     ompi_communicator_t* comm, ompi_request_t** request) {
  if (concerns(comm, source, tag))
    return irecv_after(buffer, count, type, source, tag, comm, request);
  return lfc_ob1.pml_irecv(buffer, count, type, source, tag, comm, request);
}

int lfc_recv_by_ob1(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
                    ompi_communicator_t* comm, ompi_status_public_t* status) {
  if (concerns(comm, source, tag))
    return recv_after(buffer, count, type, source, tag, comm, status);
  return lfc_ob1.pml_recv(buffer, count, type, source, tag, comm, status);
}

/* While these two wait, ob1 keeps them among the receives. */
static int observed_probe(int source, int tag, ompi_communicator_t* comm,
                          ompi_status_public_t* status) {
  lfc_before_ob1_receive(comm, source, tag);
  return lfc_ob1.pml_probe(source, tag, comm, status);
}

static int observed_mprobe(int source, int tag, ompi_communicator_t* comm,
                           struct ompi_message_t** message, ompi_status_public_t* status) {
  lfc_before_ob1_receive(comm, source, tag);
  return lfc_ob1.pml_mprobe(source, tag, comm, message, status);
}

/* These see only messages that ob1 has been given. */
static int observed_iprobe(int source, int tag, ompi_communicator_t* comm, int* matched,
                           ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_ob1.pml_iprobe(source, tag, comm, matched, status);
}

static int observed_improbe(int source, int tag, ompi_communicator_t* comm, int* matched,
                            struct ompi_message_t** message, ompi_status_public_t* status) {
  lfc_channels_reveal(lfc_communicator_index(comm), source, tag);
  return lfc_ob1.pml_improbe(source, tag, comm, matched, message, status);
}

bool lfc_is_empty_at_ob1(const struct lfc_channel_name* name) {
  int found = 1;
  const int status = lfc_ob1.pml_iprobe(name->rank, name->tag, ompi_comm_lookup(name->comm), &found,
                                        MPI_STATUS_IGNORE);
  return status == OMPI_SUCCESS && !found;
}

/* --- Begin and end --- */

void lfc_observer_install(void) {
  memset(&observer, 0, sizeof observer);
  mca_pml.pml_add_procs = add_procs;
}

bool lfc_observer_start(void) {
  if (observer.names != NULL) return true;
  if (mca_btl_base_active_message_trigger[LFC_OB1_MATCH].cbfunc == NULL) return false;
  hook_all();
  if (!lfc_messages_are_planned) { /* else the hooks of calls.c call these */
    mca_pml.pml_irecv = lfc_irecv_by_ob1;
    mca_pml.pml_recv = lfc_recv_by_ob1;
  }
  mca_pml.pml_probe = observed_probe;
  mca_pml.pml_iprobe = observed_iprobe;
  mca_pml.pml_improbe = observed_improbe;
  mca_pml.pml_mprobe = observed_mprobe;
  lfc_waits_install();
  observer.names = lfc_channels_names();
  return true;
}

void lfc_observer_stop(void) { observer.names = NULL; }
