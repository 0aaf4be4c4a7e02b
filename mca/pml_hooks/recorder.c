/* Notes the program's calls of the PML, and gathers the notes of all ranks. */
#include "recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "communicator_names.h"
#include "lfc/lfc.h"
#include "ob1.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/proc/proc.h"

static struct {
  const char* file; /* NULL: not installed */
  bool agreed;
} recorder;

/* --- Notes --- */

/* Names a message. False: it is not recorded. Not recorded are the library's own messages, those to other jobs, and
 * those on inter-communicators. */
static bool name(ompi_communicator_t* comm, int peer, int tag, struct lfc_recorded* what) {
  if (tag < MPI_ANY_TAG || peer < MPI_ANY_SOURCE || OMPI_COMM_IS_INTER(comm)) return false;
  what->comm = lfc_name_of(comm);
  what->comm_size = ompi_comm_size(comm);
  what->peer = lfc_world_rank(comm, peer);
  what->tag = tag == MPI_ANY_TAG ? -1 : tag;
  return what->peer != MPI_UNDEFINED;
}

static void note(struct lfc_recorded what, size_t count, const ompi_datatype_t* type,
                 ompi_communicator_t* comm, int peer, int tag) {
  size_t each = 0;
  if (!name(comm, peer, tag, &what)) return;
  if (type != NULL) (void)opal_datatype_type_size(&type->super, &each);
  lfc_recording_note(
      &what, count * each,
      type == NULL || opal_datatype_is_contiguous_memory_layout(&type->super, (int32_t)count));
}

static enum lfc_recorded_mode mode_of(mca_pml_base_send_mode_t mode) {
  switch (mode) {
    case MCA_PML_BASE_SEND_READY: return LFC_RECORDED_READY;
    case MCA_PML_BASE_SEND_SYNCHRONOUS: return LFC_RECORDED_SYNCHRONOUS;
    case MCA_PML_BASE_SEND_BUFFERED: return LFC_RECORDED_BUFFERED;
    default: return LFC_RECORDED_STANDARD;
  }
}

static void note_send(size_t count, const ompi_datatype_t* type, int peer, int tag,
                      mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  note((struct lfc_recorded){.kind = LFC_RECORDED_SEND, .mode = mode_of(mode)}, count, type, comm,
       peer, tag);
}

static void note_receive(size_t count, const ompi_datatype_t* type, int peer, int tag,
                         ompi_communicator_t* comm) {
  note((struct lfc_recorded){.kind = LFC_RECORDED_RECEIVE}, count, type, comm, peer, tag);
}

static void note_probe(int peer, int tag, ompi_communicator_t* comm) {
  note((struct lfc_recorded){.kind = LFC_RECORDED_PROBE}, 0, NULL, comm, peer, tag);
}

/* --- The calls --- */

static int record_isend(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                        mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                        ompi_request_t** request) {
  note_send(count, type, peer, tag, mode, comm);
  return lfc_ob1.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

static int record_send(const void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                       mca_pml_base_send_mode_t mode, ompi_communicator_t* comm) {
  note_send(count, type, peer, tag, mode, comm);
  return lfc_ob1.pml_send(buffer, count, type, peer, tag, mode, comm);
}

static int record_irecv(void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                        ompi_communicator_t* comm, ompi_request_t** request) {
  note_receive(count, type, peer, tag, comm);
  return lfc_ob1.pml_irecv(buffer, count, type, peer, tag, comm, request);
}

static int record_recv(void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                       ompi_communicator_t* comm, ompi_status_public_t* status) {
  note_receive(count, type, peer, tag, comm);
  return lfc_ob1.pml_recv(buffer, count, type, peer, tag, comm, status);
}

/* A probe that finds nothing is not noted: programs repeat it until it finds a message. */
static int record_iprobe(int peer, int tag, ompi_communicator_t* comm, int* found,
                         ompi_status_public_t* status) {
  const int result = lfc_ob1.pml_iprobe(peer, tag, comm, found, status);
  if (result == OMPI_SUCCESS && *found) note_probe(peer, tag, comm);
  return result;
}

static int record_improbe(int peer, int tag, ompi_communicator_t* comm, int* found,
                          struct ompi_message_t** message, ompi_status_public_t* status) {
  const int result = lfc_ob1.pml_improbe(peer, tag, comm, found, message, status);
  if (result == OMPI_SUCCESS && *found) note_probe(peer, tag, comm);
  return result;
}

static int record_probe(int peer, int tag, ompi_communicator_t* comm,
                        ompi_status_public_t* status) {
  note_probe(peer, tag, comm);
  return lfc_ob1.pml_probe(peer, tag, comm, status);
}

static int record_mprobe(int peer, int tag, ompi_communicator_t* comm,
                         struct ompi_message_t** message, ompi_status_public_t* status) {
  note_probe(peer, tag, comm);
  return lfc_ob1.pml_mprobe(peer, tag, comm, message, status);
}

/* --- Persistent requests: each start is a message --- */

static int record_start(size_t count, ompi_request_t** requests);

/* The function that starts a request identifies its mode. */
static int start_ready(size_t count, ompi_request_t** requests) {
  return record_start(count, requests);
}
static int start_synchronous(size_t count, ompi_request_t** requests) {
  return record_start(count, requests);
}
static int start_buffered(size_t count, ompi_request_t** requests) {
  return record_start(count, requests);
}
static const ompi_request_start_fn_t starts[] = {[LFC_RECORDED_STANDARD] = record_start,
                                                 [LFC_RECORDED_READY] = start_ready,
                                                 [LFC_RECORDED_SYNCHRONOUS] = start_synchronous,
                                                 [LFC_RECORDED_BUFFERED] = start_buffered};

static void note_start(const ompi_request_t* request) {
  const mca_pml_base_request_t* base = (const mca_pml_base_request_t*)request;
  struct lfc_recorded what = {.kind = LFC_RECORDED_RECEIVE, .persistent = true};
  if (base->req_type == MCA_PML_REQUEST_SEND) {
    what.kind = LFC_RECORDED_SEND;
    while (starts[what.mode] != request->req_start && what.mode < LFC_RECORDED_BUFFERED)
      ++what.mode;
  }
  note(what, base->req_count, base->req_datatype, base->req_comm, base->req_peer, base->req_tag);
}

/* The PML may replace the request that it starts. */
static int record_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == NULL || requests[i]->req_type != OMPI_REQUEST_PML) continue;
    const ompi_request_start_fn_t start = requests[i]->req_start;
    note_start(requests[i]);
    const int result = lfc_ob1.pml_start(1, &requests[i]);
    if (result != OMPI_SUCCESS) return result;
    requests[i]->req_start = start;
  }
  return OMPI_SUCCESS;
}

static int record_isend_init(const void* buffer, size_t count, ompi_datatype_t* type, int peer,
                             int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t* comm,
                             ompi_request_t** request) {
  const int result = lfc_ob1.pml_isend_init(buffer, count, type, peer, tag, mode, comm, request);
  if (result == OMPI_SUCCESS) (*request)->req_start = starts[mode_of(mode)];
  return result;
}

static int record_irecv_init(void* buffer, size_t count, ompi_datatype_t* type, int peer, int tag,
                             ompi_communicator_t* comm, ompi_request_t** request) {
  const int result = lfc_ob1.pml_irecv_init(buffer, count, type, peer, tag, comm, request);
  if (result == OMPI_SUCCESS) (*request)->req_start = record_start;
  return result;
}

/* --- The file --- */

/* The least rank on this node. */
static int node_of(ompi_communicator_t* world) {
  const int me = ompi_comm_rank(world);
  for (int rank = 0; rank < me; ++rank)
    if (OPAL_PROC_ON_LOCAL_NODE(ompi_comm_peer_lookup(world, rank)->super.proc_flags)) return rank;
  return me;
}

static bool write_text(FILE* file, const char* text) {
  return file == NULL || fputs(text, file) >= 0;
}

static bool write_others(FILE* file, ompi_communicator_t* world) {
  bool written = true;
  for (int rank = 1; rank < ompi_comm_size(world); ++rank) {
    uint64_t size = 0;
    if (lfc_ob1.pml_recv(&size, sizeof size, MPI_BYTE, rank, LFC_GATHER_TAG, world,
                         MPI_STATUS_IGNORE) != OMPI_SUCCESS)
      return false;
    char* text = malloc(size + 1);
    if (text == NULL) return false;
    if (lfc_ob1.pml_recv(text, size, MPI_BYTE, rank, LFC_GATHER_TAG, world, MPI_STATUS_IGNORE) !=
        OMPI_SUCCESS)
      size = 0;
    text[size] = '\0';
    written = write_text(file, text) && written;
    free(text);
  }
  return written;
}

static void gather(ompi_communicator_t* world) {
  char* text = lfc_recording_text(ompi_comm_rank(world), node_of(world));
  const char* own_text = text == NULL ? "" : text;
  if (ompi_comm_rank(world) != 0) {
    uint64_t size = strlen(own_text);
    (void)lfc_ob1.pml_send(&size, sizeof size, MPI_BYTE, 0, LFC_GATHER_TAG,
                           MCA_PML_BASE_SEND_STANDARD, world);
    (void)lfc_ob1.pml_send(own_text, size, MPI_BYTE, 0, LFC_GATHER_TAG, MCA_PML_BASE_SEND_STANDARD,
                           world);
  } else {
    char title[512];
    lfc_recording_title(ompi_comm_size(world), title, sizeof title);
    FILE* file = fopen(recorder.file, "w");
    bool written = file != NULL && write_text(file, title) && write_text(file, own_text);
    written = write_others(file, world) && written;
    if (file != NULL && fclose(file) != 0) written = false;
    if (!written)
      opal_output(0, "coll lfc: the recording cannot be written to %s: %s", recorder.file,
                  strerror(errno));
  }
  free(text);
}

static int record_add_comm(ompi_communicator_t* comm) {
  lfc_names_add(comm);
  return lfc_ob1.pml_add_comm(comm);
}

/* MPI ends: all ranks have come here, and messages can still be sent. */
static int record_del_comm(ompi_communicator_t* comm) {
  lfc_names_drop(comm);
  if (comm == &ompi_mpi_comm_world.comm && recorder.agreed) gather(comm);
  return lfc_ob1.pml_del_comm(comm);
}

/* --- Begin and end --- */

bool lfc_recorder_install(const char* file, bool threads) {
  if (!lfc_ob1_take_over(threads)) return false;
  if (!lfc_recording_open()) {
    lfc_ob1_give_back();
    return false;
  }
  recorder.file = file;
  recorder.agreed = false;
  mca_pml.pml_isend = record_isend;
  mca_pml.pml_send = record_send;
  mca_pml.pml_irecv = record_irecv;
  mca_pml.pml_recv = record_recv;
  mca_pml.pml_iprobe = record_iprobe;
  mca_pml.pml_probe = record_probe;
  mca_pml.pml_improbe = record_improbe;
  mca_pml.pml_mprobe = record_mprobe;
  mca_pml.pml_start = record_start;
  mca_pml.pml_isend_init = record_isend_init;
  mca_pml.pml_irecv_init = record_irecv_init;
  mca_pml.pml_add_comm = record_add_comm;
  mca_pml.pml_del_comm = record_del_comm;
  return true;
}

bool lfc_recorder_ready(void) { return recorder.file != NULL; }

void lfc_recorder_agreed(bool all) {
  recorder.agreed = all;
  if (all || recorder.file == NULL) return;
  lfc_ob1_give_back();
  lfc_recorder_remove();
}

void lfc_recorder_remove(void) {
  if (recorder.file == NULL) return;
  recorder.file = NULL;
  lfc_names_clear();
  lfc_recording_close();
}
