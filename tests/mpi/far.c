// Messages around the two eager limits (of peers on this node, and of others) to every other rank, near and far in
// one job. Some are contiguous, others have gaps on either side. They are sent in all modes, received expected and
// unexpected, probed, and truncated. The first message of each peer comes over a connection that did not exist
// before.
//
// A large message that is received into gaps must be requested by its receiver, over the module that carried its
// RTS.
#include "check.h"

enum { kMost = 65792 + 64, kModes = 4, kReceives = 4 };

static const size_t limits[] = {49152, 62464, 65536, 65792};
static const int around[] = {-40, -32, -24, -16, -15, -14, -13, -12, -8, -1, 0, 1, 8, 40};

static unsigned char *out, *in, *sparse_out, *sparse_in;
static void* attached;

// Every second byte.
static MPI_Datatype gaps_of(size_t size) {
  MPI_Datatype gaps;
  MPI_Type_vector((int)size, 1, 2, MPI_BYTE, &gaps);
  MPI_Type_commit(&gaps);
  return gaps;
}

static void start_send(size_t size, bool gaps, int mode, int to, MPI_Request* request) {
  static int (*const modes[kModes])(const void*, int, MPI_Datatype, int, int, MPI_Comm,
                                    MPI_Request*) = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  if (!gaps) {
    modes[mode](out, (int)size, MPI_BYTE, to, 1, MPI_COMM_WORLD, request);
    return;
  }
  MPI_Datatype type = gaps_of(size);
  for (size_t i = 0; i < size; ++i) sparse_out[2 * i] = out[i];
  modes[mode](sparse_out, 1, type, to, 1, MPI_COMM_WORLD, request);
  MPI_Type_free(&type);
}

static void start_receive(size_t size, bool gaps, int from, MPI_Request* request) {
  if (!gaps) {
    MPI_Irecv(in, kMost, MPI_BYTE, from, 1, MPI_COMM_WORLD, request);
    return;
  }
  MPI_Datatype type = gaps_of(size);
  memset(sparse_in, 0, 2 * size);
  MPI_Irecv(sparse_in, 1, type, from, 1, MPI_COMM_WORLD, request);
  MPI_Type_free(&type);
}

static void check_received(size_t size, bool gaps, uint64_t key, int from) {
  for (size_t i = 0; gaps && i < size; ++i) {
    in[i] = sparse_in[2 * i];
    require(sparse_in[2 * i + 1] == 0, "a gap behind byte %zu has been written", i);
  }
  verify(in, size, key, from);
}

// After it the rank `from`, for which this one is `to`, has come here as well.
static void meet(int to, int from) {
  MPI_Request requests[2];
  MPI_Irecv(NULL, 0, MPI_BYTE, from, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(NULL, 0, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// `way` of the receive: 0 posted before, 1 after a probe, 2 matched by a probe, 3 from any source.
static void exchange(size_t size, int distance, int mode, int way, bool gaps_out, bool gaps_in) {
  const int to = (me + distance) % ranks, from = (me + ranks - distance) % ranks;
  const uint64_t number = size * 8 + (size_t)mode;
  MPI_Request sending, receiving;
  doing("%zu bytes to %d and from %d, mode %d, received in way %d, gaps %d to %d", size, to, from,
        mode, way, gaps_out, gaps_in);
  if (way == 3) MPI_Barrier(MPI_COMM_WORLD);  // else another exchange's message may be taken
  fill(out, size, key_of(me, to, number));
  if (way == 0 || mode == 3) start_receive(size, gaps_in, from, &receiving);
  if (mode == 3) meet(from, to);  // notifies the sender
  start_send(size, gaps_out, mode, to, &sending);
  if (way != 0 && mode != 3) {
    MPI_Status status;
    int count = 0;
    MPI_Message message;
    if (way == 1) MPI_Probe(from, 1, MPI_COMM_WORLD, &status);
    if (way == 2) MPI_Mprobe(from, 1, MPI_COMM_WORLD, &message, &status);
    if (way != 3) {
      MPI_Get_count(&status, MPI_BYTE, &count);
      require((size_t)count == size, "probed %d bytes", count);
    }
    if (way == 2) {
      MPI_Datatype type = gaps_in ? gaps_of(size) : MPI_BYTE;
      memset(sparse_in, 0, 2 * size);
      MPI_Imrecv(gaps_in ? sparse_in : in, gaps_in ? 1 : count, type, &message, &receiving);
      if (gaps_in) MPI_Type_free(&type);
    } else {
      start_receive(size, gaps_in, way == 3 ? MPI_ANY_SOURCE : from, &receiving);
    }
  }
  MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  check_received(size, gaps_in, key_of(from, me, number), from);
  if (way == 3) MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 sends to all ranks, which have no connection to it yet; then all reply at once.
static void strangers(size_t size) {
  MPI_Request request;
  for (int peer = 1; peer < ranks && me == 0; ++peer) {
    doing("the first message to %d", peer);
    fill(out, size, key_of(0, peer, size));
    start_send(size, false, 0, peer, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    start_receive(size, true, MPI_ANY_SOURCE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_received(size, true, key_of(peer, 0, size), peer);
  }
  if (me == 0) return;
  doing("the first message, of %zu bytes", size);
  start_receive(size, true, MPI_ANY_SOURCE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_received(size, true, key_of(0, me, size), 0);
  fill(out, size, key_of(me, 0, size));
  start_send(size, false, 0, 0, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void truncated(size_t size, int distance) {
  const int to = (me + distance) % ranks, from = (me + ranks - distance) % ranks;
  MPI_Request receiving, sending;
  int class = MPI_SUCCESS;
  doing("%zu bytes to %d and from %d, truncated", size, to, from);
  fill(out, size, key_of(me, to, size));
  MPI_Irecv(in, (int)size - 1, MPI_BYTE, from, 3, MPI_COMM_WORLD, &receiving);
  MPI_Isend(out, (int)size, MPI_BYTE, to, 3, MPI_COMM_WORLD, &sending);
  MPI_Error_class(MPI_Wait(&receiving, MPI_STATUS_IGNORE), &class);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  require(class == MPI_ERR_TRUNCATE, "a truncated message gave error class %d", class);
  verify(in, size - 1, key_of(from, me, size), from);
}

static void all_of(size_t size, int distance, int turn) {
  for (int gaps = 0; gaps < 4; ++gaps)
    exchange(size, distance, (turn + gaps) % kModes, (turn / kModes + gaps) % kReceives,
             (gaps & 1) != 0, (gaps & 2) != 0);
  truncated(size, distance);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  out = allocate(kMost);
  in = allocate(kMost);
  sparse_out = allocate(2 * kMost);
  sparse_in = allocate(2 * kMost);
  attached = allocate(2 * kMost + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(attached, 2 * kMost + MPI_BSEND_OVERHEAD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  strangers(kMost);
  MPI_Barrier(MPI_COMM_WORLD);
  int turn = 0;
  for (size_t l = 0; l < sizeof limits / sizeof *limits; ++l)
    for (size_t a = 0; a < sizeof around / sizeof *around; ++a, ++turn)
      for (int distance = 1; distance < ranks; ++distance)
        all_of((size_t)((long)limits[l] + around[a]), distance, turn + distance);
  int size = 0;
  MPI_Buffer_detach(&attached, &size);
  return check_end();
}
