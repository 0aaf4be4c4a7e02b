// Calls one collective after the other, small and large: steady work for tests that disturb a job. If a call fails,
// the rank prints "lost rank=R call=NAME after=N: MPI's own words" and ends. Rank 0 prints "at work" after the
// first hundred calls.
//
//   coll_steady [--only NAME] [--seconds S]     S (default 0.2) for each; names are in the table below
#include "check.h"

enum { kLargest = 300000, kSizes = 4 };
static const int sizes[kSizes] = {8, 2000, 65536, kLargest};

static unsigned char* in;
static unsigned char* out;

static int wait_for(int status, MPI_Request* request) {
  return status == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : status;
}

static int do_bcast(int size, int root, MPI_Comm comm) {
  return MPI_Bcast(out, size, MPI_BYTE, root, comm);
}
static int do_barrier(int size, int root, MPI_Comm comm) {
  (void)size;
  (void)root;
  return MPI_Barrier(comm);
}
static int do_reduce(int size, int root, MPI_Comm comm) {
  return MPI_Reduce(in, out, size / 4, MPI_INT, MPI_SUM, root, comm);
}
static int do_allreduce(int size, int root, MPI_Comm comm) {
  (void)root;
  return MPI_Allreduce(in, out, size / 4, MPI_INT, MPI_SUM, comm);
}
static int do_allgather(int size, int root, MPI_Comm comm) {
  (void)root;
  return MPI_Allgather(in, size / ranks, MPI_BYTE, out, size / ranks, MPI_BYTE, comm);
}
static int do_gather(int size, int root, MPI_Comm comm) {
  return MPI_Gather(in, size / ranks, MPI_BYTE, out, size / ranks, MPI_BYTE, root, comm);
}
static int do_scatter(int size, int root, MPI_Comm comm) {
  return MPI_Scatter(in, size / ranks, MPI_BYTE, out, size / ranks, MPI_BYTE, root, comm);
}
static int do_ibcast(int size, int root, MPI_Comm comm) {
  MPI_Request request;
  return wait_for(MPI_Ibcast(out, size, MPI_BYTE, root, comm, &request), &request);
}
static int do_iallreduce(int size, int root, MPI_Comm comm) {
  (void)root;
  MPI_Request request;
  return wait_for(MPI_Iallreduce(in, out, size / 8, MPI_DOUBLE, MPI_MAX, comm, &request), &request);
}
static int do_ireduce(int size, int root, MPI_Comm comm) {
  MPI_Request request;
  return wait_for(MPI_Ireduce(in, out, size / 4, MPI_INT, MPI_BOR, root, comm, &request), &request);
}
static int do_ibarrier(int size, int root, MPI_Comm comm) {
  (void)size;
  (void)root;
  MPI_Request request;
  return wait_for(MPI_Ibarrier(comm, &request), &request);
}
static int do_iallgather(int size, int root, MPI_Comm comm) {
  (void)root;
  MPI_Request request;
  return wait_for(
      MPI_Iallgather(in, size / ranks, MPI_BYTE, out, size / ranks, MPI_BYTE, comm, &request),
      &request);
}

static const struct {
  const char* name;
  int (*call)(int size, int root, MPI_Comm comm);
} calls[] = {
    {"bcast", do_bcast},         {"barrier", do_barrier},       {"reduce", do_reduce},
    {"allreduce", do_allreduce}, {"allgather", do_allgather},   {"gather", do_gather},
    {"scatter", do_scatter},     {"ibcast", do_ibcast},         {"ibarrier", do_ibarrier},
    {"ireduce", do_ireduce},     {"iallreduce", do_iallreduce}, {"iallgather", do_iallgather},
};
enum { kCalls = sizeof calls / sizeof calls[0] };

static void check(int call, long after, int status) {
  if (status == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, words, &length);
  printf("lost rank=%d call=%s after=%ld: %s\n", me, calls[call].name, after, words);
  fflush(stdout);
  _exit(3);
}

int main(int argc, char** argv) {
  double seconds = 0.2;
  const char* only = NULL;
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  in = calloc(1, kLargest);
  out = calloc(1, kLargest);
  require(in != NULL && out != NULL, "no memory");
  int tried = 0;
  for (int call = 0; call < kCalls; ++call) {
    if (only != NULL && strcmp(only, calls[call].name) != 0) continue;
    ++tried;
    const double end = MPI_Wtime() + seconds;
    long done = 0;
    for (int more = 1; more != 0;) {
      if (me == 0 && tried == 1 && done == 100) {
        puts("at work");
        fflush(stdout);
      }
      for (int i = 0; i < 100; ++i, ++done) {
        doing("%s no. %ld", calls[call].name, done);
        check(call, done,
              calls[call].call(sizes[done % kSizes], (int)(done % ranks), MPI_COMM_WORLD));
      }
      more = MPI_Wtime() < end;
      check(call, done, MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    if (me == 0) printf("%s: %ld\n", calls[call].name, done);
  }
  require(tried > 0, "no collective called '%s'", only == NULL ? "" : only);
  free(in);
  free(out);
  return check_end();
}
