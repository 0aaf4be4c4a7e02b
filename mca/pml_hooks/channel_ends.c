#include "channel_ends.h"

#include <string.h>

#include "communicator_key.h"
#include "communicator_names.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

bool lfc_messages_are_planned;

/* Whether ob1 sends to it by btl lfc alone: messages by another BTL are in no order with channels. */
static bool only_by_lfc(ompi_proc_t* proc) {
  mca_bml_base_endpoint_t* endpoint = mca_bml_base_get_endpoint(proc);
  if (endpoint == NULL || mca_bml_base_btl_array_get_size(&endpoint->btl_eager) != 1) return false;
  const mca_btl_base_module_t* btl = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, 0)->btl;
  return strcmp(btl->btl_component->btl_version.mca_component_name, "lfc") == 0;
}

bool lfc_channel_end_of(ompi_communicator_t* comm, int peer, int tag, struct lfc_channel_end* end) {
  if (tag < 0 || peer < 0 || peer == ompi_comm_rank(comm) || OMPI_COMM_IS_INTER(comm) ||
      OMPI_COMM_CHECK_ASSERT_ALLOW_OVERTAKE(comm) || lfc_communicator_number(comm) == LFC_NO_NUMBER)
    return false; /* without a common number, the peer may take it for another communicator */
  ompi_proc_t* proc = ompi_comm_peer_lookup(comm, peer);
  if (!OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags) || !only_by_lfc(proc)) return false;
  *end = (struct lfc_channel_end){
      .name = {lfc_communicator_index(comm), peer, tag},
      .peer = lfc_find_peer(proc->super.proc_name.jobid, proc->super.proc_name.vpid),
      .self = ompi_comm_rank(comm)};
  return lfc_channels_reach(end->peer);
}

double lfc_channel_gain_us(ompi_communicator_t* comm, int source, int tag) {
  if (!lfc_messages_are_planned) return 0; /* communicators have no names */
  return lfc_plan_gain_us(lfc_name_of(comm), lfc_world_rank(comm, source),
                          lfc_world_rank(comm, ompi_comm_rank(comm)), tag);
}
