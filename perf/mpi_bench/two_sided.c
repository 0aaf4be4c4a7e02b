// Messages: latency, bandwidth, message rate, many peers; and one collective operation.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

// Prepares the buffer to send: checked contents, new contents (--rewrite), or those of the message before.
static void prepare(const Point* p, char* data, long seed) {
  if (p->verify) {
    fill(data, p->size, seed);
  } else if (rewrite_sent) {
    memset(data, (int)seed, p->size);
  }
}

double run_latency(Point* p, long units) {
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (rank == 1) MPI_Recv(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (p->verify && rank == 1) check(p->in, p->size, i);
    prepare(p, p->out, rank == 0 ? i : ~i);
    MPI_Send(p->out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Recv(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->verify) check(p->in, p->size, ~i);
    }
  }
  return rank == 0 ? MPI_Wtime() - start : 0;
}

static void one_shot(MPI_Request* request) {
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

double run_persistent(Point* p, long units) {
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  MPI_Request send, receive;
  MPI_Send_init(p->out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &send);
  MPI_Recv_init(p->in, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &receive);
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (rank == 1) one_shot(&receive);
    if (p->verify && rank == 1) check(p->in, p->size, i);
    prepare(p, p->out, rank == 0 ? i : ~i);
    one_shot(&send);
    if (rank == 0) {
      one_shot(&receive);
      if (p->verify) check(p->in, p->size, ~i);
    }
  }
  const double seconds = MPI_Wtime() - start;
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  return rank == 0 ? seconds : 0;
}

// A unit is a window of messages and an empty reply.
double run_stream(Point* p, long units) {
  const int size = (int)p->size;
  if (rank >= 2 * p->pairs) return 0;
  const int sender = rank < p->pairs, peer = sender ? rank + p->pairs : rank - p->pairs;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int k = 0; k < p->depth; k++) {
      if (sender) {
        char* out = p->out + (size_t)k * p->stride;
        prepare(p, out, i * p->depth + k + rank);
        MPI_Isend(out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[k]);
      } else {
        MPI_Irecv(p->in + (size_t)k * p->stride, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
                  &p->requests[k]);
      }
    }
    MPI_Waitall(p->depth, p->requests, MPI_STATUSES_IGNORE);
    if (sender) {
      MPI_Recv(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      continue;
    }
    for (int k = 0; p->verify && k < p->depth; k++)
      check(p->in + (size_t)k * p->stride, p->size, i * p->depth + k + peer);
    MPI_Send(NULL, 0, MPI_BYTE, peer, kAckTag, MPI_COMM_WORLD);
  }
  return sender ? MPI_Wtime() - start : 0;
}

double run_both_ways(Point* p, long units) {
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int k = 0; k < p->depth; k++)
      MPI_Irecv(p->in + (size_t)k * p->stride, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
                &p->requests[k]);
    for (int k = 0; k < p->depth; k++) {
      char* out = p->out + (size_t)k * p->stride;
      prepare(p, out, i * p->depth + k + rank);
      MPI_Isend(out, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[p->depth + k]);
    }
    MPI_Waitall(2 * p->depth, p->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; p->verify && k < p->depth; k++)
      check(p->in + (size_t)k * p->stride, p->size, i * p->depth + k + peer);
  }
  return MPI_Wtime() - start;
}

// Rank 0 sends to all other ranks, and each of them replies.
double run_halo_started(Point* p, long units) {
  const int size = (int)p->size, peer = 1 - rank;
  if (rank > 1) return 0;
  for (int k = 0; k < p->depth; k++) {
    MPI_Recv_init(p->in + (size_t)k * p->stride, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
                  &p->requests[k]);
    MPI_Send_init(p->out + (size_t)k * p->stride, size, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
                  &p->requests[p->depth + k]);
  }
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    for (int k = 0; k < p->depth; k++)
      prepare(p, p->out + (size_t)k * p->stride, i * p->depth + k + rank);
    MPI_Startall(2 * p->depth, p->requests);
    MPI_Waitall(2 * p->depth, p->requests, MPI_STATUSES_IGNORE);
    for (int k = 0; p->verify && k < p->depth; k++)
      check(p->in + (size_t)k * p->stride, p->size, i * p->depth + k + peer);
  }
  const double seconds = MPI_Wtime() - start;
  for (int k = 0; k < 2 * p->depth; k++) MPI_Request_free(&p->requests[k]);
  return seconds;
}

double run_many(Point* p, long units) {
  const int size = (int)p->size;
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    if (rank != 0) {
      MPI_Recv(p->in, size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (p->verify) check(p->in, p->size, i + rank);
      prepare(p, p->out, ~(i + rank));
      MPI_Send(p->out, size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
      continue;
    }
    for (int r = 1; r < ranks; r++)
      MPI_Irecv(p->in + (size_t)r * p->stride, size, MPI_BYTE, r, kTag, MPI_COMM_WORLD,
                &p->requests[r - 1]);
    for (int r = 1; r < ranks; r++) {
      char* out = p->out + (size_t)r * p->stride;
      prepare(p, out, i + r);
      MPI_Isend(out, size, MPI_BYTE, r, kTag, MPI_COMM_WORLD, &p->requests[ranks + r - 2]);
    }
    MPI_Waitall(2 * (ranks - 1), p->requests, MPI_STATUSES_IGNORE);
    for (int r = 1; p->verify && r < ranks; r++)
      check(p->in + (size_t)r * p->stride, p->size, ~(i + r));
  }
  return rank == 0 ? MPI_Wtime() - start : 0;
}
