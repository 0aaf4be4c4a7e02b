// Litmus tests: two ranks run two steps each at the same time, and each step completes before the next begins. A
// step writes or reads one of two locations, by every kind of operation, through one window or two, in the memory
// of a rank. An outcome is right if some order of the completed steps gives it. For instance, the two ranks must
// not both read the values from before the two writes. A processor whose loads overtake stores would permit that.
//   --rounds N   of each combination of window, writing and reading operation (10,000); a tenth where frames carry all
//   --threads    the second step of a rank is another thread's
// If there are more than two ranks, the others are idle.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

enum { kSteps = 2, kLine = 64, kRoundBytes = 2 * kLine, kOutcomes = 16 };

// --- The shapes, and the outcomes that MPI allows for each ---

struct step {
  enum { kNothing, kWrite, kRead } what;
  int location;
};
static const struct shape {
  const char* name;
  struct step steps[2][kSteps];
} kShapes[] = {
    {"store buffering", {{{kWrite, 0}, {kRead, 1}}, {{kWrite, 1}, {kRead, 0}}}},
    {"message passing", {{{kWrite, 0}, {kWrite, 1}}, {{kRead, 1}, {kRead, 0}}}},
    {"store buffering", {{{kWrite, 0}, {kRead, 1}}, {{kWrite, 1}, {kRead, 0}}}},
    {"load buffering", {{{kRead, 0}, {kWrite, 1}}, {{kRead, 1}, {kWrite, 0}}}},
    {"store buffering", {{{kWrite, 0}, {kRead, 1}}, {{kWrite, 1}, {kRead, 0}}}},
    {"two reads", {{{kWrite, 0}, {kNothing, 0}}, {{kRead, 0}, {kRead, 0}}}},
};
enum { kShapeCount = sizeof kShapes / sizeof kShapes[0] };

// A bit for each outcome that an order of the steps gives. Bit 2 * side + step of an outcome: that read saw the write.
static unsigned allowed_outcomes(const struct shape* shape) {
  unsigned allowed = 0;
  for (unsigned order = 0; order < 16; ++order) {  // the rank that takes each of four turns
    int next[2] = {0, 0}, written[2] = {0, 0};
    unsigned outcome = 0;
    for (int turn = 0; turn < 2 * kSteps; ++turn) {
      const int side = order >> turn & 1;
      if (next[side] == kSteps) break;
      const int number = next[side]++;
      const struct step step = shape->steps[side][number];
      if (step.what == kWrite) written[step.location] = 1;
      if (step.what == kRead && written[step.location]) outcome |= 1u << (2 * side + number);
    }
    if (next[0] == kSteps && next[1] == kSteps) allowed |= 1u << outcome;
  }
  return allowed;
}

// --- The operations ---

static const int kOnes[2] = {1, 1};
static const long double kLongOne = 1;
static const struct {
  double value;
  int index;
} kPair = {1, 1};
static char sink[64];

static void put(int to, MPI_Aint at, MPI_Win win) {
  MPI_Put(kOnes, 1, MPI_INT, to, at, 1, MPI_INT, win);
}
static void put_apart(int to, MPI_Aint at, MPI_Win win) {
  static MPI_Datatype apart = MPI_DATATYPE_NULL;
  if (apart == MPI_DATATYPE_NULL) {
    MPI_Type_vector(2, 1, 3, MPI_INT, &apart);
    MPI_Type_commit(&apart);
  }
  MPI_Put(kOnes, 2, MPI_INT, to, at, 1, apart, win);
}
static void rput(int to, MPI_Aint at, MPI_Win win) {
  MPI_Request request;
  MPI_Rput(kOnes, 1, MPI_INT, to, at, 1, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void accumulate_one(int to, MPI_Aint at, MPI_Win win) {
  MPI_Accumulate(kOnes, 1, MPI_INT, to, at, 1, MPI_INT, MPI_SUM, win);
}
static void accumulate_two(int to, MPI_Aint at, MPI_Win win) {
  MPI_Accumulate(kOnes, 2, MPI_INT, to, at, 2, MPI_INT, MPI_SUM, win);
}
static void accumulate_long_double(int to, MPI_Aint at, MPI_Win win) {
  MPI_Accumulate(&kLongOne, 1, MPI_LONG_DOUBLE, to, at, 1, MPI_LONG_DOUBLE, MPI_SUM, win);
}
static void accumulate_pair(int to, MPI_Aint at, MPI_Win win) {
  MPI_Accumulate(&kPair, 1, MPI_DOUBLE_INT, to, at, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
}
static void fetch_and_add(int to, MPI_Aint at, MPI_Win win) {
  MPI_Fetch_and_op(kOnes, sink, MPI_INT, to, at, MPI_SUM, win);
}
static void replace_two(int to, MPI_Aint at, MPI_Win win) {
  MPI_Get_accumulate(kOnes, 2, MPI_INT, sink, 2, MPI_INT, to, at, 2, MPI_INT, MPI_REPLACE, win);
}
static void fetch_pair(int to, MPI_Aint at, MPI_Win win) {
  MPI_Fetch_and_op(&kPair, sink, MPI_DOUBLE_INT, to, at, MPI_REPLACE, win);
}
static void swap(int to, MPI_Aint at, MPI_Win win) {
  static const int zero = 0;
  MPI_Compare_and_swap(kOnes, &zero, sink, MPI_INT, to, at, win);
}

static void get(char* result, int bytes, int from, MPI_Aint at, MPI_Win win) {
  MPI_Get(result, bytes, MPI_BYTE, from, at, bytes, MPI_BYTE, win);
}
static void rget(char* result, int bytes, int from, MPI_Aint at, MPI_Win win) {
  MPI_Request request;
  MPI_Rget(result, bytes, MPI_BYTE, from, at, bytes, MPI_BYTE, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void fetch(char* result, int bytes, int from, MPI_Aint at, MPI_Win win) {
  const int count = bytes / (int)sizeof(int);
  MPI_Get_accumulate(NULL, 0, MPI_INT, result, count, MPI_INT, from, at, count, MPI_INT, MPI_NO_OP,
                     win);
}

typedef void write_call(int to, MPI_Aint at, MPI_Win win);
typedef void read_call(char* result, int bytes, int from, MPI_Aint at, MPI_Win win);
static const struct {
  const char* name;
  int bytes;  // that a read looks at
  write_call* call;
  read_call* read;  // or fetch()
} kWrites[] = {
    {"put", 4, put, get},
    {"put in pieces", 4, put_apart, get},
    {"rput", 4, rput, rget},
    {"accumulate of an int", 4, accumulate_one, get},
    {"accumulate of two ints", 8, accumulate_two, get},
    {"accumulate of a long double", 16, accumulate_long_double, get},
    {"accumulate of a pair", 12, accumulate_pair, get},
    {"fetch_and_op", 4, fetch_and_add, get},
    {"get_accumulate of two ints", 8, replace_two, get},
    {"fetch_and_op of a pair", 12, fetch_pair, get},
    {"compare_and_swap", 4, swap, get},
};
enum { kWriteCount = sizeof kWrites / sizeof kWrites[0] };

// --- One combination ---

enum { kAllocated, kShared, kCreated, kFlavorCount };
static const char* const kFlavors[] = {"allocated", "shared", "created"};

static struct {
  MPI_Win wins[2];
  char* memory[2];
  int windows;  // 1: all goes through the first
  int write;
  int fetches;  // reads by fetch()
  long rounds;
  bool threads;
} now;

// The rank whose memory contains the location: its reader's in store buffering, its writer's, or one for both.
static int owner(long round, int location) {
  switch (round / 16 % 3) {
    case 0: return 1 - location;
    case 1: return location;
    default: return (int)(round / 48 % 2);
  }
}

static void complete(long round, int target, MPI_Win win) {
  switch (round / 8 % 4) {
    case 1: MPI_Win_flush_all(win); break;
    case 3:
      MPI_Win_unlock_all(win);
      MPI_Win_lock_all(0, win);
      break;
    default: MPI_Win_flush(target, win);
  }
}

// Does the step of this rank. True: it has read what was written.
static bool take_step(long round, int number) {
  const struct step step = kShapes[round % kShapeCount].steps[me][number];
  const int target = owner(round, step.location);
  const MPI_Win win = now.wins[now.windows == 2 ? step.location : 0];
  const MPI_Aint at = (MPI_Aint)round * kRoundBytes + step.location * kLine;
  char result[16] = {0};
  if (step.what == kNothing) return false;
  if (step.what == kWrite) {
    kWrites[now.write].call(target, at, win);
  } else {
    read_call* const read = now.fetches ? fetch : kWrites[now.write].read;
    read(result, kWrites[now.write].bytes, target, at, win);
  }
  complete(round, target, win);
  for (size_t i = 0; i < sizeof result; ++i)
    if (result[i] != 0) return true;
  return false;
}

// The second steps, if another thread takes them: it receives the round's number, and returns it.
static atomic_long handed = -1, returned = -1;
static atomic_bool second_saw;

static void* take_second_steps(void* unused) {
  (void)unused;
  state_slot = 1;
  for (long round = 0; round < now.rounds; ++round) {
    while (atomic_load_explicit(&handed, memory_order_acquire) != round) sched_yield();
    atomic_store_explicit(&second_saw, take_step(round, 1), memory_order_relaxed);
    atomic_store_explicit(&returned, round, memory_order_release);
  }
  return NULL;
}

static bool have_second_step_taken(long round) {
  atomic_store_explicit(&handed, round, memory_order_release);
  while (atomic_load_explicit(&returned, memory_order_acquire) != round) sched_yield();
  return atomic_load_explicit(&second_saw, memory_order_relaxed);
}

// Both ranks leave within some 100 ns. The other one may need this rank's calls to get here.
static void meet(long round) {
  const int64_t number = round + 1;
  const MPI_Aint at = now.rounds * kRoundBytes;
  const volatile int64_t* mine = (const volatile int64_t*)(now.memory[0] + at);
  MPI_Put(&number, 1, MPI_INT64_T, 1 - me, at, 1, MPI_INT64_T, now.wins[0]);
  MPI_Win_flush(1 - me, now.wins[0]);
  for (unsigned looks = 1; *mine < number; ++looks)
    if (looks % 256 == 0) MPI_Win_sync(now.wins[0]);
}

static long judge(const unsigned char* mine, const unsigned char* others) {
  long wrong = 0;
  for (int which = 0; which < kShapeCount; ++which) {
    const unsigned allowed = allowed_outcomes(&kShapes[which]);
    long counts[kOutcomes] = {0}, rounds = 0;
    for (long round = which; round < now.rounds; round += kShapeCount, ++rounds)
      ++counts[mine[round] | others[round]];
    for (int outcome = 0; outcome < kOutcomes; ++outcome) {
      if ((allowed >> outcome & 1) != 0 || counts[outcome] == 0) continue;
      wrong += counts[outcome];
      if (me == 0)
        printf("%s, %s, %s, %d windows: outcome %d in %ld of %ld rounds\n", kShapes[which].name,
               kWrites[now.write].name, now.fetches ? "no_op" : "get", now.windows, outcome,
               counts[outcome], rounds);
    }
  }
  return wrong;
}

static long run(MPI_Comm both) {
  unsigned char *mine = allocate((size_t)now.rounds), *others = allocate((size_t)now.rounds);
  pthread_t second;
  for (int i = 0; i < 2; ++i) memset(now.memory[i], 0, (size_t)now.rounds * kRoundBytes + kLine);
  for (int i = 0; i < 2; ++i) MPI_Win_sync(now.wins[i]);
  handed = returned = -1;
  if (now.threads) pthread_create(&second, NULL, take_second_steps, NULL);
  MPI_Barrier(both);
  for (long round = 0; round < now.rounds; ++round) {
    meet(round);
    const unsigned first = take_step(round, 0);
    const unsigned last = now.threads ? have_second_step_taken(round) : take_step(round, 1);
    mine[round] = (unsigned char)((first | last << 1) << (2 * me));
  }
  if (now.threads) pthread_join(second, NULL);
  MPI_Sendrecv(mine, (int)now.rounds, MPI_BYTE, 1 - me, 0, others, (int)now.rounds, MPI_BYTE,
               1 - me, 0, both, MPI_STATUS_IGNORE);
  const long wrong = judge(mine, others);
  free(mine);
  free(others);
  return wrong;
}

static void make_windows(int flavor, MPI_Comm both) {
  const MPI_Aint bytes = (MPI_Aint)now.rounds * kRoundBytes + kLine;
  for (int i = 0; i < 2; ++i) {
    if (flavor == kCreated) {
      now.memory[i] = allocate((size_t)bytes);
      MPI_Win_create(now.memory[i], bytes, 1, MPI_INFO_NULL, both, &now.wins[i]);
    } else if (flavor == kAllocated) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, both, &now.memory[i], &now.wins[i]);
    } else {
      MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, both, &now.memory[i], &now.wins[i]);
    }
    MPI_Win_lock_all(0, now.wins[i]);
  }
}

static void free_windows(int flavor) {
  for (int i = 0; i < 2; ++i) {
    MPI_Win_unlock_all(now.wins[i]);
    MPI_Win_free(&now.wins[i]);
    if (flavor == kCreated) free(now.memory[i]);
  }
}

static long test_flavor(int flavor, long rounds, MPI_Comm both) {
  long wrong = 0;
  now.rounds = rounds;
  make_windows(flavor, both);
  for (now.windows = 1; now.windows <= 2; ++now.windows)
    for (now.write = 0; now.write < kWriteCount; ++now.write)
      for (now.fetches = 0; now.fetches < 2; ++now.fetches) {
        doing("%s windows: %d, %s, %s", kFlavors[flavor], now.windows, kWrites[now.write].name,
              now.fetches ? "no_op" : "get");
        wrong += run(both);
      }
  free_windows(flavor);
  if (me == 0)
    printf("%s windows: %ld outcomes that no order of the steps gives\n", kFlavors[flavor], wrong);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Comm both, host;
  int on_host = 0;
  now.threads = has_option(argc, argv, "--threads");
  patience = 170;
  check_start(&argc, &argv, now.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  const long rounds = option(argc, argv, "--rounds", 10000);
  require(ranks >= 2, "needs two ranks");
  MPI_Comm_split(MPI_COMM_WORLD, me < 2 ? 0 : MPI_UNDEFINED, me, &both);
  if (both != MPI_COMM_NULL) {
    MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &on_host);
    long wrong = 0;
    for (int flavor = 0; flavor < kFlavorCount; ++flavor) {
      if (flavor == kShared && on_host != 2) continue;
      const bool mapped = flavor != kCreated && on_host == 2;
      wrong += test_flavor(flavor, mapped ? rounds : rounds / 10, both);
    }
    require(wrong == 0, "%ld outcomes that no order of the steps gives", wrong);
    MPI_Comm_free(&host);
    MPI_Comm_free(&both);
  }
  return check_end();
}
