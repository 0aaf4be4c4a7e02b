// LogGP: the overhead of one message at the sender (o_s) and at the receiver (o_r), and the distance
// between the messages of a stream. This gap is g for small messages, and grows by G per byte. The
// latency L is half the round trip - o_s - o_r.
#include <mpi.h>

#include "bench.h"

static void wait_without_mpi(double seconds) {
  const double start = MPI_Wtime();
  while (MPI_Wtime() - start < seconds) continue;
}

// Finds the most time that a message may take: ten round trips, and time for the scheduler.
int begin_overhead(Point* p) {
  run_latency(p, 10);
  double seconds = run_latency(p, 10);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  p->pause = seconds + least_pause;
  return 1;
}

// The sender sends when the receiver is idle and has received all messages. The receiver receives
// when all messages have arrived. Each times its own part: `timed` is the rank whose clock counts.
// A burst is shorter than an interruption by the system, so the median burst is one without.
static double run_overhead(Point* p, long units, int timed) {
  enum { kBursts = 4096 };
  static double bursts[kBursts];
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  for (long i = 0; i < units; i++) {
    if (rank == 0) {
      MPI_Recv(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->verify) fill(p->out, p->size, i);
    } else {
      MPI_Send(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD);
      wait_without_mpi(p->pause);
    }
    const double start = MPI_Wtime();
    for (int k = 0; k < p->depth; k++) {
      if (rank == 0)
        MPI_Send(p->out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
      else
        MPI_Recv(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    bursts[i % kBursts] = MPI_Wtime() - start - clock_cost;
    if (p->verify && rank == 1) check(p->in, p->size, i);
  }
  if (rank != timed) return 0;
  const int count = units < kBursts ? (int)units : kBursts;
  sort(bursts, count);
  return bursts[count / 2] * (double)units;
}
double run_send_overhead(Point* p, long units) { return run_overhead(p, units, 0); }
double run_receive_overhead(Point* p, long units) { return run_overhead(p, units, 1); }

// As run_overhead(), with persistent requests. The receiver's request is started before the message is sent, as in a
// ping-pong.
static double run_started(Point* p, long units, int timed) {
  const int size = (int)p->size, peer = 1 - rank;
  double own = 0;
  if (rank > 1) return 0;
  for (int k = 0; k < p->depth; k++) {
    if (rank == 0)
      MPI_Send_init(p->out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[k]);
    else
      MPI_Recv_init(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[k]);
  }
  for (long i = 0; i < units; i++) {
    double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Recv(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->verify) fill(p->out, p->size, i);
      start = MPI_Wtime();
    }
    for (int k = 0; k < p->depth; k++) MPI_Start(&p->requests[k]);
    own += MPI_Wtime() - start;
    if (rank == 1) {
      MPI_Send(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD);
      wait_without_mpi(p->pause);
    }
    start = MPI_Wtime();
    for (int k = 0; k < p->depth; k++) MPI_Wait(&p->requests[k], MPI_STATUS_IGNORE);
    own += MPI_Wtime() - start - 2 * clock_cost;
    if (p->verify && rank == 1) check(p->in, p->size, i);
  }
  for (int k = 0; k < p->depth; k++) MPI_Request_free(&p->requests[k]);
  return rank == timed ? own : 0;
}
double run_send_started(Point* p, long units) { return run_started(p, units, 0); }
double run_receive_started(Point* p, long units) { return run_started(p, units, 1); }

// A unit is a burst of blocking sends and one empty reply.
double run_gap(Point* p, long units) {
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int k = 0; k < p->depth; k++) {
      if (rank == 0) {
        if (p->verify) fill(p->out, p->size, i + k);
        MPI_Send(p->out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
      } else {
        MPI_Recv(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (p->verify) check(p->in, p->size, i + k);
      }
    }
    if (rank == 0)
      MPI_Recv(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD);
  }
  return rank == 0 ? MPI_Wtime() - start : 0;
}
