// Producer and consumer: ranks 0 and 1 in turn write into each other's memory and notify the other. If the LFC engine
// serves the window, they use its notifications. Otherwise they use put, flush and a message.
#include <mpi.h>
#include <mpix_neon.h>
#include <stdint.h>
#include <stdio.h>

#include "bench.h"

static int natively;   // the window has NEON's calls
static uint64_t seen;  // notifications

static int begin(Point* p) {
  if (!begin_window(p)) return 0;
  int level = MPIX_NEON_ABSENT;
  MPIX_Neon_attach(p->window);
  MPIX_Neon_query(p->window, &level);
  natively = level >= MPIX_NEON_NATIVE;
  if (rank == 0)
    printf("{\"info\":\"%s\",\"tells\":\"%s\"}\n", where,
           natively ? "natively" : "by put, flush, send");
  return 1;
}

static void put_flush_and_send(Point* p) {
  MPI_Put(p->out, (int)p->size, MPI_BYTE, 1 - rank, 0, (int)p->size, MPI_BYTE, p->window);
  MPI_Win_flush(1 - rank, p->window);
  MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD);
}

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

static double ping_pong(Point* p, long units, void (*there)(Point*), void (*here)(Point*)) {
  const double start = MPI_Wtime();
  for (long turn = 0; rank < 2 && turn < 2 * units; turn++) {
    if (turn % 2 == rank) {
      if (p->verify) fill(p->out, p->size, turn);
      there(p);
    } else {
      here(p);
      if (p->verify) check(p->exposed, p->size, turn);
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
  return natively ? ping_pong(p, units, put_notify, await_counter)
                  : ping_pong(p, units, put_flush_and_send, await_message);
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
  return natively ? ping_pong(p, units, put_final, await_announced)
                  : ping_pong(p, units, put_flush_and_send, await_message);
}

void end_announced(Point* p) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (p->announcement != MPI_REQUEST_NULL) MPI_Request_free(&p->announcement);
  end_window(p);
}
