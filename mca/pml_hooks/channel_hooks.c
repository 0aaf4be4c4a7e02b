#include "channel_hooks.h"

#include "calls.h"
#include "channel_ends.h"
#include "communicator_key.h"
#include "communicator_names.h"
#include "ob1.h"
#include "observer.h"
#include "report.h"
#include "requests.h"
#include "routes.h"
#include "waits.h"

#include "ompi/mca/pml/pml.h"
#include "ompi/runtime/params.h"

/* The tag of LFC's own messages between BTLs, those of channels. */
enum { kChannel = MCA_BTL_TAG_BTL + 14 };

static bool installed;

static int add_comm(ompi_communicator_t* comm) {
  lfc_names_add(comm);
  return lfc_ob1.pml_add_comm(comm);
}

/* Messages of a communicator pass as long as its channels are there: ob1's numbers count those that it was given. */
static int del_comm(ompi_communicator_t* comm) {
  if (comm == &ompi_mpi_comm_world.comm) lfc_report_print(comm);
  if (lfc_messages_are_planned) {
    lfc_routes_forget(comm);
    lfc_names_drop(comm);
  }
  lfc_channels_forget(lfc_communicator_index(comm));
  return lfc_ob1.pml_del_comm(comm);
}

bool lfc_channel_hooks_install(bool threads, bool planned) {
  static const struct lfc_channel_host host = {kChannel, lfc_give_to_ob1, lfc_is_empty_at_ob1};
  const mca_btl_active_message_callback_t* free_tag =
      &mca_btl_base_active_message_trigger[kChannel];
  /* Open MPI ends requests for failed ranks. It knows how to do so with requests of ob1. */
  if (LFC_MPI_SURVIVES_FAULTS || free_tag->cbfunc != NULL || !lfc_ob1_take_over(threads))
    return false;
  if (!lfc_requests_open() || !lfc_channels_open(&host)) {
    lfc_requests_close();
    lfc_ob1_give_back();
    return false;
  }
  installed = true;
  lfc_messages_are_planned = planned;
  lfc_observer_install();
  lfc_calls_install();
  mca_pml.pml_del_comm = del_comm;
  if (planned) mca_pml.pml_add_comm = add_comm;
  return true;
}

void lfc_channel_hooks_remove(void) {
  if (!installed) return;
  installed = false;
  lfc_observer_stop();
  lfc_waits_remove();
  lfc_routes_clear();
  lfc_requests_close();
  lfc_names_clear();
  lfc_channels_close();
}
