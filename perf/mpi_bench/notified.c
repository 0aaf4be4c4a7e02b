// Producer and consumer: ranks 0 and 1 in turn write into each other's memory and notify the other. If the LFC engine
// serves the window, they use its notifications. Otherwise they use put, flush and a message.
#include <mpi.h>
#include <mpix_neon.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int natively;   // the window has NEON's calls
static uint64_t seen;  // notifications

static int begin_of(Point* p, char* memory, size_t bytes) {
  if (!begin_window_of(p, memory, bytes)) return 0;
  int level = MPIX_NEON_ABSENT;
  MPIX_Neon_attach(p->window);
  MPIX_Neon_query(p->window, &level);
  natively = level >= MPIX_NEON_NATIVE;
  if (rank == 0)
    printf("{\"info\":\"%s\",\"tells\":\"%s\"}\n", where,
           natively ? "natively" : "by put, flush, send");
  return 1;
}

static int begin(Point* p) { return begin_of(p, p->in, p->size); }

static void put_flush_and_send(Point* p, int count, MPI_Datatype type) {
  MPI_Put(p->out, (int)p->size, MPI_BYTE, 1 - rank, 0, count, type, p->window);
  MPI_Win_flush(1 - rank, p->window);
  MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD);
}

static void put_bytes_and_send(Point* p) { put_flush_and_send(p, (int)p->size, MPI_BYTE); }

static void await_message(Point* p) {
  MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_sync(p->window);
}

static void put_notify(Point* p) {
  MPIX_Put_notify(p->out, (int)p->size, MPI_BYTE, 1 - rank, 0, (int)p->size, MPI_BYTE, 0,
                  p->window);
}

static void await_counter(Point* p) { MPIX_Win_wait_notify(p->window, 0, ++seen); }

static void put_announced(Point* p, int flags, MPI_Request* put) {
  MPIX_Neon_put(p->out, (int)p->size, MPI_BYTE, 1 - rank, kTag, 0, (int)p->size, MPI_BYTE, flags,
                p->window, put);
}

static void put_final(Point* p) {
  MPI_Request put;
  put_announced(p, MPIX_NEON_FINAL, &put);
  MPI_Wait(&put, MPI_STATUS_IGNORE);
}

// The notification is a call of its own.
static void put_and_notify(Point* p) {
  MPI_Request put;
  put_announced(p, MPIX_NEON_NON_FINAL, &put);
  MPIX_Neon_notify(1 - rank, kTag, p->window);
  MPI_Wait(&put, MPI_STATUS_IGNORE);
}

// The other side does not write again before this side has written.
static void await_announced(Point* p) {
  MPI_Wait(&p->announcement, MPI_STATUS_IGNORE);
  MPI_Start(&p->announcement);
}

// `received` is where the bytes of the other rank are after here().
static double ping_pong(Point* p, long units, void (*there)(Point*), void (*here)(Point*),
                        const char* received) {
  const double start = MPI_Wtime();
  for (long turn = 0; rank < 2 && turn < 2 * units; turn++) {
    if (turn % 2 == rank) {
      if (p->verify) fill(p->out, p->size, turn);
      there(p);
    } else {
      here(p);
      if (p->verify) check(received, p->size, turn);
    }
  }
  return rank == 0 ? MPI_Wtime() - start : 0;
}

int begin_notified(Point* p) {
  if (!begin(p)) return 0;
  seen = 0;
  if (natively) MPIX_Win_set_num_notify(p->window, MPI_INFO_NULL, 1);
  return 1;
}

double run_notified(Point* p, long units) {
  return natively ? ping_pong(p, units, put_notify, await_counter, p->exposed)
                  : ping_pong(p, units, put_bytes_and_send, await_message, p->exposed);
}

int begin_flushed(Point* p) { return begin_window_of(p, p->in, p->size); }

double run_flushed(Point* p, long units) {
  return ping_pong(p, units, put_bytes_and_send, await_message, p->exposed);
}

int begin_announced(Point* p) {
  if (!begin(p)) return 0;
  p->announcement = MPI_REQUEST_NULL;
  if (natively && rank < 2) {
    const int peer = 1 - rank;
    MPIX_Neon_announce_init(0, (MPI_Aint)p->size, 1, &peer, kTag, 0, p->window, &p->announcement);
    MPI_Start(&p->announcement);
  }
  return 1;
}

double run_announced(Point* p, long units) {
  return natively ? ping_pong(p, units, put_final, await_announced, p->exposed)
                  : ping_pong(p, units, put_bytes_and_send, await_message, p->exposed);
}

double run_announced_apart(Point* p, long units) {
  return natively ? ping_pong(p, units, put_and_notify, await_announced, p->exposed)
                  : ping_pong(p, units, put_bytes_and_send, await_message, p->exposed);
}

void end_announced(Point* p) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (p->announcement != MPI_REQUEST_NULL) MPI_Request_free(&p->announcement);
  end_window(p);
}

// --- Before NEON's announcement. Messages keep the order, so the calls alone are timed. ---

int begin_early(Point* p) {
  if (!begin(p)) return 0;
  if (!natively) {
    end_window(p);
    return 0;
  }
  p->announcement = MPI_REQUEST_NULL;
  const int peer = 0;
  if (rank == 1)
    MPIX_Neon_announce_init(0, (MPI_Aint)p->size, 1, &peer, kTag, 0, p->window, &p->announcement);
  return 1;
}

// Rank 0 puts before rank 1 makes its NEON announcement. Returns the time of the call of rank 0, or the time of rank 1
// from its NEON announcement until the data is there.
static double put_early(Point* p, long units, int timed) {
  double seconds = 0;
  for (long i = 0; rank < 2 && i < units; i++) {
    if (p->verify && rank == 0) fill(p->out, p->size, i);
    MPI_Request put = MPI_REQUEST_NULL;
    if (rank == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double start = MPI_Wtime();
    if (rank == 0) {
      put_announced(p, MPIX_NEON_FINAL, &put);
    } else {
      MPI_Start(&p->announcement);
      MPI_Wait(&p->announcement, MPI_STATUS_IGNORE);
    }
    if (rank == timed) seconds += MPI_Wtime() - start;
    if (rank == 0) {
      MPI_Send(NULL, 0, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD);
      MPI_Wait(&put, MPI_STATUS_IGNORE);
      MPI_Recv(NULL, 0, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      if (p->verify) check(p->exposed, p->size, i);
      MPI_Send(NULL, 0, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD);
    }
  }
  return seconds;
}

double run_early_call(Point* p, long units) { return put_early(p, units, 0); }
double run_early_arrival(Point* p, long units) { return put_early(p, units, 1); }

// --- Active target: post, start, complete, wait ---

static MPI_Group peer_group;

int begin_pscw(Point* p) {
  if (!expose(p, p->in, p->size)) return 0;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int peer = rank < 2 ? 1 - rank : rank;
  MPI_Group_incl(world, 1, &peer, &peer_group);
  MPI_Group_free(&world);
  return 1;
}

static void put_in_epoch(Point* p) {
  MPI_Win_start(peer_group, 0, p->window);
  MPI_Put(p->out, (int)p->size, MPI_BYTE, 1 - rank, 0, (int)p->size, MPI_BYTE, p->window);
  MPI_Win_complete(p->window);
}

static void await_epoch(Point* p) {
  MPI_Win_post(peer_group, 0, p->window);
  MPI_Win_wait(p->window);
}

double run_pscw(Point* p, long units) {
  return ping_pong(p, units, put_in_epoch, await_epoch, p->exposed);
}

void end_pscw(Point* p) {
  MPI_Group_free(&peer_group);
  MPI_Win_free(&p->window);
}

// --- To a vector: blocks of 8 bytes with gaps of 8 bytes ---

enum { kBlock = 8 };
static MPI_Datatype vector;
static char* strided;  // the memory that is exposed

int begin_notified_vector(Point* p) {
  const int blocks = (int)(p->size / kBlock);
  strided = calloc(2, p->size);
  if (!strided) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Type_vector(blocks, kBlock, 2 * kBlock, MPI_BYTE, &vector);
  MPI_Type_commit(&vector);
  seen = 0;
  if (!begin_of(p, strided, 2 * p->size)) return 0;
  if (natively) MPIX_Win_set_num_notify(p->window, MPI_INFO_NULL, 1);
  return 1;
}

static void put_vector(Point* p) {
  if (natively)
    MPIX_Put_notify(p->out, (int)p->size, MPI_BYTE, 1 - rank, 0, 1, vector, 0, p->window);
  else
    put_flush_and_send(p, 1, vector);
}

static void await_vector(Point* p) {
  if (natively)
    await_counter(p);
  else
    await_message(p);
  for (size_t at = 0; p->verify && at < p->size; at += kBlock)
    memcpy(p->in + at, p->exposed + 2 * at, kBlock);
}

double run_notified_vector(Point* p, long units) {
  return ping_pong(p, units, put_vector, await_vector, p->in);
}

void end_notified_vector(Point* p) {
  end_window(p);
  MPI_Type_free(&vector);
  free(strided);
}
