// A job whose ranks may not share memory, or not copy it from each other: messages, collectives and
// windows go another way, and a shared window, which cannot, is refused with its own error.
//
//   mpirun -n 2 fault_refused [later CALLS | hide | apart] shared|unshared
//
// later: from MPI_Init on these calls are refused (tests/refuse.h). hide: after MPI_Init no process may examine another
// one: as root, the user changes; else the process is not dumpable. apart: without neighbourhood collectives, for which
// each rank must be able to open boards of all others. The last word is the
// expected result of MPI_Win_allocate_shared: success, or MPI_ERR_RMA_SHARED.
#include "../refuse.h"

#include "check.h"

enum { kEach = 50000, kMost = 8 };
static bool apart;
static int in[kMost * kEach], out[kMost * kEach];

static int value(int from, int to, int i) { return from * 1000000 + to * kEach + i; }

static void prepare(void) {
  for (int i = 0; i < ranks * kEach; ++i) {
    in[i] = value(me, i / kEach, i % kEach);
    out[i] = -1;
  }
}

static void check_blocks(const char* call) {
  for (int i = 0; i < ranks * kEach; ++i)
    require(out[i] == value(i / kEach, me, i % kEach), "%s: word %d is %d", call, i, out[i]);
}

static void exchange(void) {
  MPI_Request requests[2 * kMost];
  prepare();
  doing("messages");
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Irecv(out + rank * kEach, kEach, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[2 * rank]);
    MPI_Isend(in + rank * kEach, kEach, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[2 * rank + 1]);
  }
  MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
  check_blocks("messages");
}

static void all_to_all(void) {
  MPI_Request requests[2];
  prepare();
  doing("alltoall");
  MPI_Alltoall(in, kEach, MPI_INT, out, kEach, MPI_INT, MPI_COMM_WORLD);
  check_blocks("alltoall");
  static int again[kMost * kEach];
  prepare();
  doing("two alltoalls at a time");
  MPI_Ialltoall(in, kEach, MPI_INT, out, kEach, MPI_INT, MPI_COMM_WORLD, &requests[0]);
  MPI_Ialltoall(in, kEach, MPI_INT, again, kEach, MPI_INT, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check_blocks("ialltoall");
  require(memcmp(out, again, (size_t)ranks * kEach * sizeof out[0]) == 0, "the second differs");
}

// Each rank is a neighbour of all ranks; the lists of edges are not known in advance.
static void neighbours(MPI_Comm graph) {
  if (apart) return;
  prepare();
  doing("neighbour alltoall");
  MPI_Neighbor_alltoall(in, kEach, MPI_INT, out, kEach, MPI_INT, graph);
  check_blocks("neighbour alltoall");
}

// The ranks add to two words of the last one: the first rank to one word at a time, the others to both. They may change
// mapped memory in different ways, which must exclude each other.
static void add_together(const char* what, MPI_Win win, int* memory) {
  enum { kTimes = 8000 };
  const int last = ranks - 1, ones[2] = {1, 1};
  int before;
  doing("%s: accumulates", what);
  memory[0] = memory[1] = 0;
  MPI_Win_fence(0, win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kTimes; ++i) {
    if (me != 0) {
      MPI_Accumulate(ones, 2, MPI_INT, last, 0, 2, MPI_INT, MPI_SUM, win);
      continue;
    }
    for (int word = 0; word < 2; ++word) {
      MPI_Fetch_and_op(ones, &before, MPI_INT, last, word, MPI_SUM, win);
      MPI_Win_flush(last, win);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  for (int word = 0; word < 2 && me == last; ++word)
    require(memory[word] == ranks * kTimes, "%s: word %d is %d, not %d", what, word, memory[word],
            ranks * kTimes);
}

// Each rank puts into the window of the next one, and gets it back.
static void access_window(const char* what, MPI_Win win, int* memory) {
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  prepare();
  doing("%s: put and get", what);
  MPI_Win_fence(0, win);
  MPI_Put(in, kEach, MPI_INT, next, 0, kEach, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kEach; ++i)
    require(memory[i] == value(before, 0, i), "%s: word %d is %d", what, i, memory[i]);
  MPI_Get(out, kEach, MPI_INT, next, 0, kEach, MPI_INT, win);
  MPI_Win_fence(0, win);
  require(memcmp(out, in, kEach * sizeof in[0]) == 0, "%s: what was put does not come back", what);
  add_together(what, win, memory);
  MPI_Win_free(&win);
}

static void windows(bool shared) {
  static int memory[kEach];
  int* allocated;
  MPI_Win win;
  doing("windows");
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  access_window("created window", win, memory);
  MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
  access_window("allocated window", win, allocated);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int class = MPI_SUCCESS;
  const int error = MPI_Win_allocate_shared(sizeof memory, sizeof(int), MPI_INFO_NULL,
                                            MPI_COMM_WORLD, &allocated, &win);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  require(class == (shared ? MPI_SUCCESS : MPI_ERR_RMA_SHARED),
          "MPI_Win_allocate_shared: error class %d", class);
  if (error == MPI_SUCCESS) access_window("shared window", win, allocated);
}

static void hide(void) {
  const bool hidden =
      geteuid() == 0 ? setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0
                     : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
  require(hidden, "this process cannot hide: %s", strerror(errno));
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks <= kMost, "at most %d ranks", kMost);
  apart = has_option(argc, argv, "apart");
  int targets[kMost], weights[kMost];
  MPI_Comm graph;
  for (int i = 0; i < ranks; ++i) {
    targets[i] = i;
    weights[i] = 1;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, targets, weights, ranks, targets, weights,
                                 MPI_INFO_NULL, 0, &graph);
  neighbours(graph);  // a board that has not been opened before cannot be opened later
  all_to_all();
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2 && strcmp(argv[1], "later") == 0)
    require(refuse_calls_of(argv[2], EPERM, true), "%s: %s", argv[2], strerror(errno));
  if (has_option(argc, argv, "hide")) hide();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    exchange();
    all_to_all();
    neighbours(graph);
  }
  MPI_Comm_free(&graph);
  windows(has_option(argc, argv, "shared"));
  return check_end();
}
