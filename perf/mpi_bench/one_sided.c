// One-sided: rank 0 works on the memory of rank 1, which waits inside MPI.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

int begin_window(Point* p) {
  const MPI_Aint bytes = (MPI_Aint)p->size;
  char* base = NULL;
  int made;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (allocate_windows)
    made = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &p->window);
  else
    made = MPI_Win_create(p->in, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p->window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  int ok = made == MPI_SUCCESS;
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!ok) return 0;
  if (!allocate_windows) base = p->in;
  p->exposed = base;
  memset(base, 0, p->size);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, p->window);
  MPI_Win_sync(p->window);
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}

void end_window(Point* p) {
  MPI_Win_unlock_all(p->window);
  MPI_Win_free(&p->window);
}

// Rank 1 stays inside MPI, where its side of the transport runs, until rank 0 has finished.
static double finish_one_sided(double start) {
  const double seconds = MPI_Wtime() - start;
  if (rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return rank == 0 ? seconds : 0;
}

static void get_and_flush(Point* p, char* into) {
  MPI_Get(into, (int)p->size, MPI_BYTE, 1, 0, (int)p->size, MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
}

static void put_and_flush(Point* p) {
  MPI_Put(p->out, (int)p->size, MPI_BYTE, 1, 0, (int)p->size, MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
}

double run_put(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify) fill(p->out, p->size, i);
    put_and_flush(p);
    if (!p->verify) continue;
    memset(p->out, 0, p->size);
    get_and_flush(p, p->out);
    check(p->out, p->size, i);
  }
  return finish_one_sided(start);
}

double run_get(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify) {
      fill(p->out, p->size, i);
      put_and_flush(p);
      memset(p->out, 0, p->size);
    }
    get_and_flush(p, p->out);
    if (p->verify) check(p->out, p->size, i);
  }
  return finish_one_sided(start);
}

double run_fetch_add(Point* p, long units) {
  long long one = 1, before = 0, expected = -1;
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, 1, 0, MPI_SUM, p->window);
    MPI_Win_flush(1, p->window);
    if (!p->verify) continue;
    if (expected >= 0 && before != expected) {
      fprintf(stderr, "mpi_bench: WRONG VALUE in %s: fetched %lld, not %lld\n", where, before,
              expected);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    expected = before + 1;
  }
  return finish_one_sided(start);
}
