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

static void put_final(Point* p) {
  MPI_Request put;
  MPIX_Neon_put(p->out, (int)p->size, MPI_BYTE, 1 - rank, kTag, 0, (int)p->size, MPI_BYTE,
                MPIX_NEON_FINAL, p->window, &put);
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

void end_announced(Point* p) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (p->announcement != MPI_REQUEST_NULL) MPI_Request_free(&p->announcement);
  end_window(p);
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
