// A benchmark of mpi_bench: a function that runs a number of units (round trips, windows, ...) on
// every rank.
//
//   double run_mine(Point* p, long units) {
//     const double start = MPI_Wtime();
//     for (long i = 0; i < units; i++) {
//       if (p->verify && rank == 0) fill(p->out, p->size, i);
//       ... send p->out, receive into p->in ...
//       if (p->verify && rank == 1) check(p->in, p->size, i);
//     }
//     return rank == 0 ? MPI_Wtime() - start : 0;
//   }
//
// The same code is timed (verify == 0) and checked (verify == 1). Each benchmark has a line in the
// table in table.c.
#ifndef LFC_PERF_BENCH_H
#define LFC_PERF_BENCH_H

#include <mpi.h>
#include <stddef.h>

enum { kTag = 1, kAckTag = 2 };
// Bytes that a burst of one-sided operations writes again and again.
enum { kBurstWindow = 64 << 10 };

// Properties of a benchmark.
enum {
  kWindows = 1,  // large messages: fewer in flight
  kEights = 2,   // sizes are multiples of 8
  // The depth is the number of operations of a unit, which share memory. The peak of memory is printed.
  kBurst = 4,
  kRounds = 8,  // each of 30 repeats has one unit
};

typedef struct Point {
  size_t size;
  int depth;      // messages in flight
  int pairs;      // pairs of ranks at work
  int verify;     // fill before sending, check after receiving
  size_t stride;  // between the buffers of messages in flight; 0: they share one
  char* out;
  char* in;
  double pause;  // seconds after which a message sent has arrived for sure
  MPI_Request* requests;
  MPI_Win window;
  char* exposed;  // the window's memory
  MPI_Request announcement;
} Point;

typedef struct Bench {
  const char* name;
  const char* what;
  const char* sizes;
  const char* depths;
  const char* unit;
  int (*begin)(Point*);               // may be null; 0: this MPI cannot do it
  double (*run)(Point*, long units);  // seconds, or 0 on ranks whose clock does not count
  void (*end)(Point*);                // may be null
  double (*value)(const Point*, double seconds_per_unit);
  int flags;
} Bench;

extern const Bench benches[];
extern const int bench_count;

extern int rank, ranks;
extern int allocate_windows;
extern int rewrite_sent;    // the sender writes its buffer anew before each message
extern double clock_cost;   // seconds that one reading of the clock takes
extern double least_pause;  // seconds to let a message arrive, at least
extern char where[256];     // the current measurement, for messages

// Contents that depend on the message and on the place in it. check() ends the job if they are
// wrong.
void fill(char* data, size_t size, long seed);
void check(const char* data, size_t size, long seed);

void sort(double* values, int count);

double run_latency(Point* p, long units);
double run_persistent(Point* p, long units);
double run_stream(Point* p, long units);
double run_both_ways(Point* p, long units);
double run_halo_started(Point* p, long units);
double run_many(Point* p, long units);

double run_bcast(Point* p, long units);
double run_bcast_barrier(Point* p, long units);
double run_ibcast(Point* p, long units);
double run_barrier(Point* p, long units);
double run_ibarrier(Point* p, long units);
double run_bcast_gap(Point* p, long units);
double run_skewed(Point* p, long units);
int begin_leaf(Point* p);
double run_leaf(Point* p, long units);
double run_leaf_late(Point* p, long units);
double run_allgather(Point* p, long units);
double run_iallgather(Point* p, long units);
// Checks that the first and the last of `count` doubles are this sum; ends the job if not.
void check_sum(const double* in, int count, double sum);
double run_allreduce(Point* p, long units);
double run_iallreduce(Point* p, long units);
double run_scan(Point* p, long units);
double run_iscan(Point* p, long units);
double run_alltoall(Point* p, long units);
double run_ialltoall(Point* p, long units);
double run_alltoallv(Point* p, long units);
double run_ialltoallv(Point* p, long units);
double run_gather(Point* p, long units);
double run_igather(Point* p, long units);
double run_gatherv(Point* p, long units);
double run_igatherv(Point* p, long units);
double run_scatter(Point* p, long units);
double run_iscatter(Point* p, long units);
double run_scatterv(Point* p, long units);
double run_iscatterv(Point* p, long units);
double run_reduce_scatter(Point* p, long units);
double run_ireduce_scatter(Point* p, long units);
int begin_neighbor(Point* p);
double run_neighbor(Point* p, long units);
void end_neighbor(Point* p);

int begin_bcast_started(Point* p);
int begin_allreduce_started(Point* p);
int begin_allgather_started(Point* p);
int begin_alltoall_started(Point* p);
int begin_barrier_started(Point* p);
double run_bcast_started(Point* p, long units);
double run_allreduce_started(Point* p, long units);
double run_allgather_started(Point* p, long units);
double run_alltoall_started(Point* p, long units);
double run_barrier_started(Point* p, long units);
void end_started(Point* p);
void end_bcast_started(Point* p);

// Exposes this memory of rank 1, or as much of the window's own with --allocate; sets p->window and p->exposed. Returns
// 0 if the MPI cannot do it.
int expose(Point* p, char* memory, size_t bytes);
// Exposes it, and begins a passive epoch to all ranks.
int begin_window_of(Point* p, char* memory, size_t bytes);
int begin_window(Point* p);
void end_window(Point* p);
// Keeps rank 1 inside MPI until rank 0 has finished. Returns the seconds since `start` on rank 0, and 0 elsewhere.
double finish_one_sided(double start);
double run_put(Point* p, long units);
double run_get(Point* p, long units);
double run_fetch_add(Point* p, long units);
double run_sum_int(Point* p, long units);
double run_sum_char(Point* p, long units);
double run_max_double(Point* p, long units);
double run_replace_char(Point* p, long units);
double run_maxloc_double(Point* p, long units);
double run_maxloc_short(Point* p, long units);
double run_fetch_sum_int(Point* p, long units);
int begin_locked(Point* p);
double run_lock_put(Point* p, long units);
double run_lock_sum(Point* p, long units);
void end_locked(Point* p);
int begin_burst(Point* p);
double run_put_burst(Point* p, long units);
double run_put_burst_apart(Point* p, long units);
double run_sum_burst(Point* p, long units);
void end_burst(Point* p);
double run_put_bw(Point* p, long units);
double run_get_bw(Point* p, long units);
double run_sum_bw(Point* p, long units);
int begin_both_ways(Point* p);
double run_put_bibw(Point* p, long units);
double run_get_bibw(Point* p, long units);
double run_sum_bibw(Point* p, long units);
void end_both_ways(Point* p);
int begin_notified(Point* p);
int begin_notified_vector(Point* p);
double run_notified_vector(Point* p, long units);
void end_notified_vector(Point* p);
double run_notified(Point* p, long units);
int begin_flushed(Point* p);
double run_flushed(Point* p, long units);
int begin_announced(Point* p);
double run_announced(Point* p, long units);
double run_announced_apart(Point* p, long units);
void end_announced(Point* p);
int begin_copied(Point* p);
double run_copied(Point* p, long units);
void end_copied(Point* p);
int begin_early(Point* p);
double run_early_call(Point* p, long units);
double run_early_arrival(Point* p, long units);
int begin_pscw(Point* p);
double run_pscw(Point* p, long units);
void end_pscw(Point* p);

int begin_overhead(Point* p);
double run_send_overhead(Point* p, long units);
double run_receive_overhead(Point* p, long units);
double run_send_started(Point* p, long units);
double run_receive_started(Point* p, long units);
double run_gap(Point* p, long units);

#endif
