/* Settings for the examples of the C headers in mca and btl_lfc (scripts/checks/examples): the types of
 * their variables. Nothing here is ever run. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "btl_lfc/btl_lfc.h"
#include "btl_lfc/registration.h"
#include "lfc/parameters.h"
#include "mca/coll/buffer.h"
#include "mca/coll/opening.h"
#include "mca/coll/request.h"
#include "mca/coll/topology.h"
#include "mca/communicator_key.h"
#include "mca/completion.h"
#include "mca/fits.h"
#include "mca/help.h"
#include "mca/modex.h"
#include "mca/mpi_types.h"
#include "mca/ob1_messages.h"
#include "mca/parameters.h"
#include "mca/pml_hooks/calls.h"
#include "mca/pml_hooks/channel_ends.h"
#include "mca/pml_hooks/channel_hooks.h"
#include "mca/pml_hooks/communicator_names.h"
#include "mca/pml_hooks/ob1.h"
#include "mca/pml_hooks/observer.h"
#include "mca/pml_hooks/pml_hooks.h"
#include "mca/pml_hooks/recorder.h"
#include "mca/pml_hooks/report.h"
#include "mca/pml_hooks/requests.h"
#include "mca/pml_hooks/routes.h"
#include "mca/pml_hooks/waits.h"
#include "mca/progress.h"
#include "mca/unknown_parameters.h"

void leave_it_to_others(void);
void work(char* bytes);

void registration(void* base, size_t size, mca_btl_base_registration_handle_t* handle) {
#include "btl_lfc/registration.h.example"
}

int buffer(void* address, size_t count, ompi_datatype_t* type, bool gets, bool ok) {
#include "mca/coll/buffer.h.example"
  return OMPI_SUCCESS;
}

int opening(int root, void* address, size_t count, ompi_datatype_t* type,
            mca_coll_base_module_t* module) {
#include "mca/coll/opening.h.example"
}

int request(ompi_communicator_t* comm, mca_coll_base_module_t* module, struct lfc_coll_call call,
            ompi_request_t** out) {
#include "mca/coll/request.h.example"
}

int topology_of(ompi_communicator_t* comm) {
#include "mca/coll/topology.h.example"
  return OMPI_SUCCESS;
}

void communicator_key(ompi_communicator_t* comm) {
#include "mca/communicator_key.h.example"
}

int completion(ompi_request_t* request, int error) {
#include "mca/completion.h.example"
  return OMPI_SUCCESS;
}

void help(const char* why) {
#include "mca/help.h.example"
}

void modex(const void* bytes, const opal_proc_t* proc) {
  const size_t size = 8;
  {
#include "mca/modex.h.example"
  }
}

void mpi_types(ompi_datatype_t* type) {
#include "mca/mpi_types.h.example"
}

void ob1_messages(unsigned char* message) {
#include "mca/ob1_messages.h.example"
}

void parameters(mca_base_component_t component) {
#include "mca/parameters.h.example"
}

extern mca_pml_base_module_send_fn_t counted_send;
bool ob1(bool threads) {
#include "mca/pml_hooks/ob1.h.example"
  return true;
}

void communicator_names(const ompi_communicator_t* comm, int rank) {
#include "mca/pml_hooks/communicator_names.h.example"
  (void)name;
  (void)from;
}

void calls(void){
#include "mca/pml_hooks/calls.h.example"
}

lfc_channel_sender* channel_ends(ompi_communicator_t* comm, int peer, int tag) {
  lfc_channel_sender* sender = NULL;
#include "mca/pml_hooks/channel_ends.h.example"
  return sender;
}

void channel_hooks(bool threads) {
#include "mca/pml_hooks/channel_hooks.h.example"
}

void observer(const ompi_communicator_t* comm, int source, int tag) {
#include "mca/pml_hooks/observer.h.example"
}

void pml_hooks(int ranks, bool threads, unsigned all) {
#include "mca/pml_hooks/pml_hooks.h.example"
}

void recorder(const char* file, bool threads, bool all) {
#include "mca/pml_hooks/recorder.h.example"
}

void report(bool all, ompi_communicator_t* world) {
#include "mca/pml_hooks/report.h.example"
}

void requests(void* buffer, size_t count, ompi_datatype_t* type, int source, int tag,
              ompi_communicator_t* comm, ompi_request_t* request, ompi_request_start_fn_t start) {
#include "mca/pml_hooks/requests.h.example"
}

bool send_on_channel(lfc_channel_sender* sender);
void routes(ompi_communicator_t* comm, int peer, int tag) {
#include "mca/pml_hooks/routes.h.example"
}

void waits(const ompi_request_t* request) {
#include "mca/pml_hooks/waits.h.example"
}

#include "mca/progress.h.example"

void unknown_parameters(void) {
#include "mca/unknown_parameters.h.example"
  {}
}
