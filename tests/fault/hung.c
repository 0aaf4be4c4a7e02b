// Jobs that hang on purpose, each in another way, for lfc-look to explain: tests/fault/hung.sh.
//   fault_hung MODE        rank 0 prints `hung` in the final state; the job never ends by itself
#include "../mpi/check.h"

#include <lfc_ordered.h>
#include <mpix_neon.h>
#include <sched.h>

enum { kWords = 1024, kTag = 7, kOtherTag = 8 };

// Outside MPI, until the test ends the job.
static void sleep_on(void) {
  for (;;) pause_seconds(1);
}
static void compute_on(void) {
  for (volatile uint64_t rounds = 0;; ++rounds) continue;
}
// Rank 0 prints it before it waits, when the others have left MPI: a rank that is still in a barrier would serve
// it.
static void say_hung(void) {
  pause_seconds(0.3);
  printf("hung\n");
  fflush(stdout);
}
static void wait_for_message(int from) {
  int word;
  MPI_Recv(&word, 1, MPI_INT, from, kOtherTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void connect_all(void) { MPI_Barrier(MPI_COMM_WORLD); }

// --- Messages ---

static void receive(void) {
  int word = 0;
  if (me == 0) say_hung();
  if (me == 0) MPI_Ssend(&word, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  wait_for_message(1 - me);
}

// Small messages until no more go; rank 1 calls `rank_one`.
static void flood(void (*rank_one)(void)) {
  if (me == 1) rank_one();
  if (me == 0) say_hung();
  char bytes[8] = "";
  for (;;) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
}
static void stop(void) { raise(SIGSTOP); }
static void credit(void) { flood(sleep_on); }
static void ring(void) { flood(compute_on); }
static void stopped(void) { flood(stop); }

// The test cuts the wire when it reads `hung`.
static void cable(void) {
  int word = 0;
  if (me == 1) wait_for_message(0);
  say_hung();
  for (;;) {
    pause_seconds(0.2);
    MPI_Send(&word, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    int flag;
    MPI_Iprobe(1, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

static void outside(void) {
  if (me == 1) compute_on();
  say_hung();
  wait_for_message(1);
}

// --- One-sided ---

static void lock(void) {
  int64_t* memory;
  MPI_Win win;
  MPI_Win_allocate(kWords, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  if (me == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1) sleep_on();
  if (me == 2) wait_for_message(0);
  say_hung();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
  MPI_Win_unlock(2, win);
}

static void complete(void) {
  int64_t* memory;
  MPI_Win win;
  MPI_Group world, other;
  const int partner = 1 - me;
  MPI_Win_allocate(kWords, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &partner, &other);
  if (me == 1) {
    MPI_Win_start(other, 0, win);
    sleep_on();
  }
  MPI_Win_post(other, 0, win);
  say_hung();
  MPI_Win_wait(win);
}

// A put that LFC in rank 1 must serve, but rank 1 has no thread for that and stays outside MPI.
static void thread(void) {
  static int64_t memory[kWords];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 1) sleep_on();
  say_hung();
  int64_t value = 1, old;
  MPI_Fetch_and_op(&value, &old, MPI_INT64_T, 1, 0, MPI_SUM, win);
  MPI_Win_flush(1, win);
}

// --- Collectives, NEON, ordered broadcast ---

static void collective(void) {
  if (me == 2) sleep_on();
  if (me == 0) say_hung();
  MPI_Barrier(MPI_COMM_WORLD);
}

static void buffer(void) {
  int64_t* memory;
  MPI_Win win;
  MPI_Win_allocate(kWords, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPIX_Neon_attach(win);
  if (me == 1) sleep_on();
  const int origin = 1;
  MPI_Request request;
  MPIX_Neon_announce_init(0, kWords, 1, &origin, kTag, 0, win, &request);
  MPI_Start(&request);
  say_hung();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void take(void* context, int sender, uint64_t number, const void* data, size_t size) {
  (void)context, (void)sender, (void)number, (void)data, (void)size;
}
static void ordered(void) {
  lfc_ordered* order;
  const struct lfc_ordered_options options = {.window = 8};
  if (lfc_ordered_open(MPI_COMM_WORLD, take, NULL, &options, &order) != LFC_ORDERED_OK)
    fail("there is no ordered broadcast");
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 2) sleep_on();
  if (me == 0) say_hung();
  for (;;) lfc_ordered_bcast(order, &me, sizeof me, NULL);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } modes[] = {
      {"receive", receive}, {"credit", credit},         {"ring", ring},     {"stopped", stopped},
      {"cable", cable},     {"outside", outside},       {"lock", lock},     {"complete", complete},
      {"thread", thread},   {"collective", collective}, {"buffer", buffer}, {"ordered", ordered}};
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  connect_all();
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i)
    if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) modes[i].run();
  fail("no mode, or it did not hang: %s", argc > 1 ? argv[1] : "");
}
