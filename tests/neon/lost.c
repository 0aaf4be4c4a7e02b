// A rank kills itself (kill -9) while another one waits for it, in one of the ways in which one-sided communication
// waits. tests/fault/lost_member.sh checks the state of the others afterwards. A rank that returns from its wait,
// or waits for more than --limit seconds, prints that.
//
//   mpirun -n 3 neon_lost --wait NAME [--allocate]     rank 1 is killed; names: see `ways`
#include "check.h"
#include "mpix_neon.h"

enum { kVictim = 1, kRounds = 20, kBytes = 4096 };

static MPI_Win win;
static int64_t value, result;
static MPI_Group others;  // all but this rank

// The rank prints this itself, because an mpirun that continues after a loss drops some of the lines that it
// gathers.
static void tell(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d is told: %s\n", me, text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
static void told_of_window(MPI_Win* of, int* code, ...) {
  (void)of;
  tell(*code);
}
static void told_of_communicator(MPI_Comm* of, int* code, ...) {
  (void)of;
  tell(*code);
}

static void die_in_round(int round) {
  if (me == kVictim && round == kRounds) {
    struct timespec while_others_wait = {0, 200000000};
    nanosleep(&while_others_wait, NULL);
    raise(SIGKILL);
  }
}

static void put_to(int target) { MPI_Put(&value, 1, MPI_INT64_T, target, me, 1, MPI_INT64_T, win); }

static void at_fence(int round) {
  put_to((me + 1) % ranks);
  die_in_round(round);
  MPI_Win_fence(0, win);
}

static void before_post(int round) {
  die_in_round(round);
  MPI_Win_post(others, 0, win);
  MPI_Win_start(others, 0, win);
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != me) put_to(rank);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
}

static void before_complete(int round) {
  MPI_Win_post(others, 0, win);
  MPI_Win_start(others, 0, win);
  put_to((me + 1) % ranks);
  die_in_round(round);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
}

static void before_complete_test(int round) {
  MPI_Win_post(others, 0, win);
  MPI_Win_start(others, 0, win);
  die_in_round(round);
  MPI_Win_complete(win);
  for (int flag = 0; flag == 0;) MPI_Win_test(win, &flag);
}

static void with_lock(int round) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  put_to(0);
  MPI_Win_flush(0, win);
  die_in_round(round);
  MPI_Win_unlock(0, win);
}

static void as_target_of_unlock(int round) {
  die_in_round(round);
  MPI_Win_lock(MPI_LOCK_SHARED, kVictim, 0, win);
  put_to(kVictim);
  MPI_Win_unlock(kVictim, win);
  if (me == kVictim) MPI_Win_sync(win);
}

static void as_target_of_flush(int round) {
  die_in_round(round);
  MPI_Win_lock_all(0, win);
  put_to(kVictim);
  MPI_Get(&result, 1, MPI_INT64_T, kVictim, 0, 1, MPI_INT64_T, win);
  MPI_Win_flush(kVictim, win);
  MPI_Win_unlock_all(win);
}

static void as_target_of_fetch(int round) {
  die_in_round(round);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Fetch_and_op(&value, &result, MPI_INT64_T, kVictim, 8, MPI_SUM, win);
  MPI_Win_flush_local(kVictim, win);
  MPI_Win_unlock_all(win);
}

static void as_target_of_rget(int round) {
  die_in_round(round);
  MPI_Request request;
  MPI_Win_lock_all(0, win);
  MPI_Rget(&result, 1, MPI_INT64_T, kVictim, 0, 1, MPI_INT64_T, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
}

static MPI_Request announced = MPI_REQUEST_NULL;

static void before_final_put(int round) {
  if (announced == MPI_REQUEST_NULL) {
    const int left = (me + ranks - 1) % ranks;
    MPIX_Neon_announce_init(0, 8, 1, &left, 7, 0, win, &announced);
  }
  MPI_Start(&announced);
  die_in_round(round);
  MPIX_Neon_put(&value, 8, MPI_BYTE, (me + 1) % ranks, 7, 0, 8, MPI_BYTE, MPIX_NEON_FINAL, win,
                NULL);
  MPI_Wait(&announced, MPI_STATUS_IGNORE);
}

static void before_announcement(int round) {
  static char large[1 << 20];
  static MPI_Request request;
  die_in_round(round);
  if (round < kRounds) return;
  MPIX_Neon_put(large, sizeof large, MPI_BYTE, kVictim, 9, 0, sizeof large, MPI_BYTE,
                MPIX_NEON_FINAL, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void before_notification(int round) {
  die_in_round(round);
  MPIX_Put_notify(&value, 8, MPI_BYTE, (me + 1) % ranks, 0, 8, MPI_BYTE, 0, win);
  MPIX_Win_wait_notify(win, 0, (uint64_t)round + 1);
}

static const struct {
  const char* name;
  void (*round)(int round);
} ways[] = {
    {"fence", at_fence},
    {"post", before_post},
    {"complete", before_complete},
    {"test", before_complete_test},
    {"lock", with_lock},
    {"unlock", as_target_of_unlock},
    {"flush", as_target_of_flush},
    {"fetch", as_target_of_fetch},
    {"rget", as_target_of_rget},
    {"announcement", before_final_put},
    {"large-put", before_announcement},
    {"notification", before_notification},
};

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  void (*round)(int) = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way)
      if (strcmp(argv[i], "--wait") == 0 && strcmp(argv[i + 1], ways[way].name) == 0)
        round = ways[way].round;
  require(round != NULL && ranks >= 3, "usage: mpirun -n 3 neon_lost --wait NAME [--allocate]");
  char* memory = NULL;
  if (has_option(argc, argv, "--allocate"))
    MPI_Win_allocate(kBytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  else
    MPI_Win_create(memory = allocate(kBytes), kBytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Errhandler handlers[2];
  MPI_Win_create_errhandler(told_of_window, &handlers[0]);
  MPI_Comm_create_errhandler(told_of_communicator, &handlers[1]);
  MPI_Win_set_errhandler(win, handlers[0]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[1]);
  MPIX_Neon_attach(win);
  MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 1);
  MPI_Group all;
  MPI_Win_get_group(win, &all);
  MPI_Group_excl(all, 1, &me, &others);
  if (round == at_fence) MPI_Win_fence(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i <= kRounds; ++i) {
    doing("round %d", i);
    round(i);
  }
  // A rank that did not wait for the victim itself detects the loss here.
  doing("barrier after the last round");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("came back\n");
  return check_end();
}
