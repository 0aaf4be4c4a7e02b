// One-sided operations: rank 0 accesses the memory of rank 1, which waits inside MPI.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

int expose(Point* p, char* memory, size_t bytes) {
  char* base = NULL;
  int made;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (allocate_windows)
    made = MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &p->window);
  else
    made = MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p->window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  int ok = made == MPI_SUCCESS;
  MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!ok) return 0;
  p->exposed = allocate_windows ? base : memory;
  memset(p->exposed, 0, bytes);
  return 1;
}

int begin_window_of(Point* p, char* memory, size_t bytes) {
  if (!expose(p, memory, bytes)) return 0;
  MPI_Win_lock_all(MPI_MODE_NOCHECK, p->window);
  MPI_Win_sync(p->window);
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}

int begin_window(Point* p) { return begin_window_of(p, p->in, p->size * (size_t)p->depth); }

// Each operation has an epoch of its own.
int begin_locked(Point* p) {
  const int made = expose(p, p->in, p->size);
  MPI_Barrier(MPI_COMM_WORLD);
  return made;
}

void end_window(Point* p) {
  MPI_Win_unlock_all(p->window);
  MPI_Win_free(&p->window);
}

void end_locked(Point* p) { MPI_Win_free(&p->window); }

double finish_one_sided(double start) {
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

// --- Accumulates ---

typedef struct Combined {
  MPI_Datatype type;
  MPI_Op operation;
  size_t element;  // bytes, gaps included
  int fetch;
} Combined;

typedef struct DoubleInt {
  double value;
  int index;
} DoubleInt;

typedef struct ShortInt {
  short value;
  int index;
} ShortInt;

static void combine_and_flush(Point* p, const Combined* what) {
  const int count = (int)(p->size / what->element);
  if (what->fetch)
    MPI_Get_accumulate(p->out, count, what->type, p->in, count, what->type, 1, 0, count, what->type,
                       what->operation, p->window);
  else
    MPI_Accumulate(p->out, count, what->type, 1, 0, count, what->type, what->operation, p->window);
  MPI_Win_flush(1, p->window);
}

// Fills p->out with pairs; the gaps inside them are 0.
static void fill_pairs(Point* p, const Combined* what) {
  memset(p->out, 0, p->size);
  for (size_t i = 0; i < p->size / what->element; i++) {
    char* const pair = p->out + i * what->element;
    if (what->type == MPI_DOUBLE_INT)
      *(DoubleInt*)pair = (DoubleInt){(double)(i + 1), (int)i};
    else
      *(ShortInt*)pair = (ShortInt){(short)(i % 30000 + 1), (int)i};
  }
}

// Checks an operation on a target that was set to 0: the result must be the operands.
static void check_combined(Point* p, const Combined* what, long seed) {
  memset(p->out, 0, p->size);
  MPI_Put(p->out, (int)p->size, MPI_BYTE, 1, 0, (int)p->size, MPI_BYTE, p->window);
  MPI_Win_flush(1, p->window);
  fill(p->out, p->size, seed);
  if (what->operation == MPI_MAX)
    for (size_t i = 0; i < p->size / sizeof(double); i++) ((double*)p->out)[i] = (double)(i + 1);
  if (what->operation == MPI_MAXLOC) fill_pairs(p, what);
  char* const expected = malloc(p->size);
  memcpy(expected, p->out, p->size);
  combine_and_flush(p, what);
  get_and_flush(p, p->out);
  if (memcmp(p->out, expected, p->size) != 0) {
    fprintf(stderr, "mpi_bench: WRONG VALUES in %s\n", where);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  free(expected);
}

static double run_combined(Point* p, long units, Combined what) {
  if (!p->verify) memset(p->out, 0, p->size);  // zeros, so that sums do not overflow
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify)
      check_combined(p, &what, i);
    else
      combine_and_flush(p, &what);
  }
  return finish_one_sided(start);
}

double run_sum_int(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_INT, MPI_SUM, sizeof(int), 0});
}

double run_sum_char(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_SIGNED_CHAR, MPI_SUM, 1, 0});
}

double run_max_double(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_DOUBLE, MPI_MAX, sizeof(double), 0});
}

double run_replace_char(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_CHAR, MPI_REPLACE, 1, 0});
}

double run_maxloc_double(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_DOUBLE_INT, MPI_MAXLOC, sizeof(DoubleInt), 0});
}

double run_maxloc_short(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_SHORT_INT, MPI_MAXLOC, sizeof(ShortInt), 0});
}

double run_fetch_sum_int(Point* p, long units) {
  return run_combined(p, units, (Combined){MPI_INT, MPI_SUM, sizeof(int), 1});
}

// --- An epoch for each operation ---

double run_lock_put(Point* p, long units) {
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    if (p->verify) fill(p->out, p->size, i);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, p->window);
    MPI_Put(p->out, (int)p->size, MPI_BYTE, 1, 0, (int)p->size, MPI_BYTE, p->window);
    MPI_Win_unlock(1, p->window);
    if (!p->verify) continue;
    memset(p->out, 0, p->size);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p->window);
    get_and_flush(p, p->out);
    MPI_Win_unlock(1, p->window);
    check(p->out, p->size, i);
  }
  return finish_one_sided(start);
}

static void fetch_locked(Point* p, int* value) {
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p->window);
  MPI_Get(value, 1, MPI_INT, 1, 0, 1, MPI_INT, p->window);
  MPI_Win_unlock(1, p->window);
}

double run_lock_sum(Point* p, long units) {
  const int one = 1;
  int before = 0, after = 0;
  if (p->verify && rank == 0) fetch_locked(p, &before);
  const double start = MPI_Wtime();
  for (long i = 0; rank == 0 && i < units; i++) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p->window);
    MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, p->window);
    MPI_Win_unlock(1, p->window);
  }
  if (p->verify && rank == 0) {
    fetch_locked(p, &after);
    if (after - before != units) {
      fprintf(stderr, "mpi_bench: WRONG VALUE in %s: the sum is %d, not %ld\n", where,
              after - before, units);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  return finish_one_sided(start);
}
