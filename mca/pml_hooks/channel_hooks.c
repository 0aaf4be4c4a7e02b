#include "channel_hooks.h"

#include "channel_ends.h"
#include "communicator_key.h"
#include "communicator_names.h"
#include "ob1.h"
#include "observer.h"
#include "ordinary_messages.h"
#include "persistent_requests.h"
#include "report.h"
#include "routes.h"

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

bool lfc_channel_hooks_install(bool threads, bool planned) {
  static const struct lfc_channel_host host = {
      kChannel, post, outcome, lfc_give_to_ob1, lfc_is_empty_at_ob1, done};
  const mca_btl_active_message_callback_t* free_tag =
      &mca_btl_base_active_message_trigger[kChannel];
  /* Open MPI ends requests for failed ranks. It knows how to do so with requests of ob1. */
  if (LFC_MPI_SURVIVES_FAULTS || free_tag->cbfunc != NULL || !lfc_ob1_take_over(threads))
    return false;
  if (!lfc_channels_open(&host)) {
    lfc_ob1_give_back();
    return false;
  }
  installed = true;
  lfc_messages_are_planned = planned;
  lfc_observer_install();
  lfc_persistent_requests_install();
  if (planned) lfc_ordinary_install();
  mca_pml.pml_del_comm = del_comm;
  if (planned) mca_pml.pml_add_comm = add_comm;
  return true;
}

void lfc_channel_hooks_remove(void) {
  if (!installed) return;
  installed = false;
  lfc_observer_stop();
  lfc_persistent_requests_close();
  lfc_routes_clear();
  lfc_ordinary_remove();
  lfc_names_clear();
  lfc_channels_close();
}
