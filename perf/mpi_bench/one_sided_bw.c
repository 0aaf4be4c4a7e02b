// Bandwidth of one-sided operations, with the loops of the OSU micro-benchmarks: windows of 64 operations to places next
// to each other. One way (osu_put_bw, osu_get_bw): rank 0 issues a window and flushes. Both ways (osu_put_bibw): ranks 0
// and 1 each issue a window between MPI_Win_start and MPI_Win_complete.
#include <mpi.h>
#include <string.h>

#include "bench.h"

typedef enum Kind { kPut, kGet, kSum } Kind;

static MPI_Group partner;

static void issue(Point* p, Kind kind, int peer) {
  const int size = (int)p->size;
  for (int k = 0; k < p->depth; k++) {
    const size_t at = (size_t)k * p->size;
    char* const mine = p->out + at;
    const MPI_Aint theirs = (MPI_Aint)at;
    if (kind == kPut)
      MPI_Put(mine, size, MPI_BYTE, peer, theirs, size, MPI_BYTE, p->window);
    else if (kind == kGet)
      MPI_Get(mine, size, MPI_BYTE, peer, theirs, size, MPI_BYTE, p->window);
    else
      MPI_Accumulate(mine, size, MPI_SIGNED_CHAR, peer, theirs, size, MPI_SIGNED_CHAR, MPI_SUM,
                     p->window);
  }
}

static size_t window_bytes(const Point* p) { return p->size * (size_t)p->depth; }

static void put_all(Point* p) {
  MPI_Put(p->out, (int)window_bytes(p), MPI_BYTE, 1, 0, (int)window_bytes(p), MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
}

// A get must fetch the pattern; a put or a sum must write it where 0 was.
static void verified_way(Point* p, Kind kind, long seed) {
  const size_t bytes = window_bytes(p);
  memset(p->out, 0, bytes);
  if (kind == kGet) fill(p->out, bytes, seed);
  put_all(p);
  if (kind == kGet)
    memset(p->out, 0, bytes);
  else
    fill(p->out, bytes, seed);
  issue(p, kind, 1);
  MPI_Win_flush(1, p->window);
  if (kind != kGet) {
    memset(p->out, 0, bytes);
    MPI_Get(p->out, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, p->window);
    MPI_Win_flush(1, p->window);
  }
  check(p->out, bytes, seed);
}

static double run_one_way(Point* p, long units, Kind kind) {
  if (!p->verify) memset(p->out, 0, window_bytes(p));  // zeros, so that sums do not overflow
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify) {
      verified_way(p, kind, i);
      continue;
    }
    issue(p, kind, 1);
    MPI_Win_flush(1, p->window);
  }
  return finish_one_sided(start);
}

double run_put_bw(Point* p, long units) { return run_one_way(p, units, kPut); }
double run_get_bw(Point* p, long units) { return run_one_way(p, units, kGet); }
double run_sum_bw(Point* p, long units) { return run_one_way(p, units, kSum); }

// --- Both ways ---

int begin_both_ways(Point* p) {
  if (!expose(p, p->in, window_bytes(p))) return 0;
  MPI_Group all;
  const int peer = rank ^ 1;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, rank < 2 ? 1 : 0, &peer, &partner);
  MPI_Group_free(&all);
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}

void end_both_ways(Point* p) {
  MPI_Group_free(&partner);
  MPI_Win_free(&p->window);
}

static double run_ways(Point* p, long units, Kind kind) {
  if (rank > 1) return 0;
  const size_t bytes = window_bytes(p);
  const int peer = 1 - rank;
  if (!p->verify) memset(p->out, 0, bytes);
  const double start = MPI_Wtime();
  for (long i = 0; i < units; i++) {
    const long mine = 2 * i + rank, theirs = 2 * i + peer;
    if (p->verify) {
      memset(p->out, 0, bytes);
      memset(p->exposed, 0, bytes);
      fill(kind == kGet ? p->exposed : p->out, bytes, mine);
    }
    MPI_Win_post(partner, 0, p->window);
    MPI_Win_start(partner, 0, p->window);
    issue(p, kind, peer);
    MPI_Win_complete(p->window);
    MPI_Win_wait(p->window);
    if (p->verify) check(kind == kGet ? p->out : p->exposed, bytes, theirs);
  }
  return MPI_Wtime() - start;
}

double run_put_bibw(Point* p, long units) { return run_ways(p, units, kPut); }
double run_get_bibw(Point* p, long units) { return run_ways(p, units, kGet); }
double run_sum_bibw(Point* p, long units) { return run_ways(p, units, kSum); }
