// MPI's one-sided communication, contents checked: put, get, accumulate, get_accumulate,
// fetch_and_op, compare_and_swap, rput and rget; with fence, post/start/complete/wait, lock,
// lock_all and flush; on created, allocated and dynamic windows.
//
// compare_and_swap at oneself and on allocated windows runs only with --swap-everywhere: stock osc/rdma (4.1.4)
// crashes there, since it takes its own mapping's address for the target's. Dynamic windows across hosts run only
// with --dynamic (see below).
// Stock btl tcp has no window at all with Debian's settings: it needs --mca osc pt2pt.
#include "check.h"

// A rank's window memory, in 64-bit words.
enum {
  kSlot = 20000,        // words each origin may put into, at origin * kSlot
  kCounters = 64,       // words all origins work on together, behind the slots
  kAccumulated = 1500,  // words all origins accumulate into, behind the counters
};

typedef enum { created, allocated, dynamic, kinds } Kind;
static const char* const kind_names[] = {"created", "allocated", "dynamic"};

static Kind kind;
static MPI_Win win;
static int64_t* memory;
static MPI_Aint* bases;  // dynamic: where each rank's memory is
static size_t words;
static int64_t *out, *in;
static bool swap_everywhere;

static size_t counters_at(void) { return (size_t)ranks * kSlot; }
static size_t accumulated_at(void) { return counters_at() + kCounters; }

// Displacement of a word in the target's window.
static MPI_Aint at(int target, size_t word) {
  return kind == dynamic ? bases[target] + (MPI_Aint)(word * sizeof *memory) : (MPI_Aint)word;
}

static void make_window(Kind which) {
  kind = which;
  words = accumulated_at() + kAccumulated;
  doing("%s window", kind_names[kind]);
  const MPI_Aint bytes = (MPI_Aint)(words * sizeof *memory);
  switch (kind) {
    case created:
      memory = allocate((size_t)bytes);
      MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      break;
    case allocated:
      MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
      break;
    default: {
      MPI_Aint base;
      memory = allocate((size_t)bytes);
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      MPI_Win_attach(win, memory, bytes);
      MPI_Get_address(memory, &base);
      MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
    }
  }
  memset(memory, 0, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void free_window(void) {
  doing("%s window: free", kind_names[kind]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (kind == dynamic) MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  if (kind != allocated) free(memory);
}

static void expect(const char* what, int peer, size_t word, int64_t got, int64_t expected) {
  require(got == expected, "%s window, %s, peer %d: word %zu is %llx, not %llx", kind_names[kind],
          what, peer, word, (unsigned long long)got, (unsigned long long)expected);
}

static void check_words(const char* what, int peer, const int64_t* data, size_t n, uint64_t key) {
  for (size_t i = 0; i < n; ++i) expect(what, peer, i, data[i], (int64_t)word_at(key, i));
}

static const size_t lengths[] = {1, 2, 33, 500, 513, 5000, kSlot};
enum { kLengths = sizeof lengths / sizeof *lengths };

// Each rank puts into its slot at every rank, then reads its neighbours' slots back.
static void fenced(void) {
  for (size_t l = 0; l < kLengths; ++l) {
    const size_t n = lengths[l];
    doing("%s window, fence: put %zu words", kind_names[kind], n);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    int64_t* mine = allocate((size_t)ranks * n * sizeof *mine);
    for (int target = 0; target < ranks; ++target) {
      fill(mine + (size_t)target * n, n * sizeof *mine, key_of(me, target, l));
      MPI_Put(mine + (size_t)target * n, (int)n, MPI_INT64_T, target,
              at(target, (size_t)me * kSlot), (int)n, MPI_INT64_T, win);
    }
    MPI_Win_fence(0, win);
    for (int origin = 0; origin < ranks; ++origin)
      check_words("put, fence", origin, memory + (size_t)origin * kSlot, n, key_of(origin, me, l));
    doing("%s window, fence: get %zu words", kind_names[kind], n);
    MPI_Win_fence(MPI_MODE_NOPUT, win);
    for (int target = 0; target < ranks; ++target)
      MPI_Get(mine + (size_t)target * n, (int)n, MPI_INT64_T, target,
              at(target, (size_t)((target + 1) % ranks) * kSlot), (int)n, MPI_INT64_T, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win);
    for (int target = 0; target < ranks; ++target)
      check_words("get, fence", target, mine + (size_t)target * n, n,
                  key_of((target + 1) % ranks, target, l));
    free(mine);
  }
}

// Non-contiguous on both sides: every other word from here to every third word there.
static void strided(void) {
  enum { kItems = 700 };
  const int to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
  MPI_Datatype second, third;
  MPI_Type_vector(kItems, 1, 2, MPI_INT64_T, &second);
  MPI_Type_vector(kItems, 1, 3, MPI_INT64_T, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  doing("%s window: strided put", kind_names[kind]);
  MPI_Win_fence(0, win);
  memset(memory + (size_t)from * kSlot, 0, kSlot * sizeof *memory);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kItems; ++i)
    out[2 * i] = (int64_t)word_at(key_of(me, to, 77), (size_t)i), out[2 * i + 1] = -1;
  MPI_Put(out, 1, second, to, at(to, (size_t)me * kSlot), 1, third, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 3 * kItems - 2; ++i)
    expect("strided put", from, (size_t)i, memory[(size_t)from * kSlot + (size_t)i],
           i % 3 == 0 ? (int64_t)word_at(key_of(from, me, 77), (size_t)i / 3) : 0);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

// Each rank accumulates at every rank.
static void accumulated(void) {
  const size_t first = accumulated_at();
  const MPI_Op op[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_BOR};
  for (int which = 0; which < 4; ++which) {
    doing("%s window: accumulate %d", kind_names[kind], which);
    MPI_Win_fence(0, win);
    memset(memory + first, 0, kAccumulated * sizeof *memory);
    MPI_Win_fence(0, win);
    for (size_t i = 0; i < kAccumulated; ++i)
      out[i] = (int64_t)(word_at(key_of(me, 0, (uint64_t)which), i) >> 16);
    for (int target = 0; target < ranks; ++target)
      MPI_Accumulate(out, kAccumulated, MPI_INT64_T, target, at(target, first), kAccumulated,
                     MPI_INT64_T, op[which], win);
    MPI_Win_fence(0, win);
    for (size_t i = 0; i < kAccumulated; ++i) {
      int64_t expected = 0;
      for (int origin = 0; origin < ranks; ++origin) {
        const int64_t v = (int64_t)(word_at(key_of(origin, 0, (uint64_t)which), i) >> 16);
        switch (which) {
          case 0: expected += v; break;
          case 1: expected = v > expected ? v : expected; break;
          case 2: expected ^= v; break;
          default: expected |= v;
        }
      }
      expect("accumulate", -1, i, memory[first + i], expected);
    }
  }
  // get_accumulate: the old values together are the values before each of the additions.
  doing("%s window: get_accumulate", kind_names[kind]);
  MPI_Win_fence(0, win);
  memset(memory + first, 0, kAccumulated * sizeof *memory);
  MPI_Win_fence(0, win);
  for (size_t i = 0; i < kAccumulated; ++i) out[i] = (int64_t)1 << (me % 60);
  MPI_Get_accumulate(out, kAccumulated, MPI_INT64_T, in, kAccumulated, MPI_INT64_T, 0, at(0, first),
                     kAccumulated, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (size_t i = 0; i < kAccumulated; ++i) {
    require((in[i] & out[i]) == 0 && in[i] < (int64_t)1 << ranks,
            "%s window, get_accumulate: word %zu was %llx before", kind_names[kind], i,
            (unsigned long long)in[i]);
    if (me == 0) expect("get_accumulate", -1, i, memory[first + i], ((int64_t)1 << ranks) - 1);
  }
}

// Post, start, complete, wait with both neighbours.
static void scheduled(void) {
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  const int neighbours[2] = {left, right};
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, left == right ? 1 : 2, neighbours, &group);
  for (size_t l = 0; l < kLengths; ++l) {
    const size_t n = lengths[l];
    doing("%s window, post/start: %zu words to %d", kind_names[kind], n, right);
    MPI_Win_post(group, 0, win);
    MPI_Win_start(group, 0, win);
    fill(out, n * sizeof *out, key_of(me, right, l + 20));
    MPI_Put(out, (int)n, MPI_INT64_T, right, at(right, (size_t)me * kSlot), (int)n, MPI_INT64_T,
            win);
    MPI_Win_complete(win);
    doing("%s window, wait: %zu words from %d", kind_names[kind], n, left);
    if (l % 2 == 0) {
      MPI_Win_wait(win);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(win, &flag);
    }
    check_words("put, post/start", left, memory + (size_t)left * kSlot, n,
                key_of(left, me, l + 20));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

// Each rank reads, adds one and writes at every rank, under an exclusive lock: no increment is lost.
static void exclusive(void) {
  enum { kRounds = 20 };
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < ranks; ++i) {
      const int target = (me + i) % ranks;
      int64_t value = -1;
      doing("%s window: exclusive lock of %d, round %d", kind_names[kind], target, round);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
      MPI_Get(&value, 1, MPI_INT64_T, target, at(target, counters_at()), 1, MPI_INT64_T, win);
      MPI_Win_flush(target, win);
      ++value;
      MPI_Put(&value, 1, MPI_INT64_T, target, at(target, counters_at()), 1, MPI_INT64_T, win);
      MPI_Win_unlock(target, win);
    }
  doing("%s window: barrier after exclusive locks", kind_names[kind]);
  MPI_Barrier(MPI_COMM_WORLD);
  int64_t value = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
  MPI_Get(&value, 1, MPI_INT64_T, me, at(me, counters_at()), 1, MPI_INT64_T, win);
  MPI_Win_unlock(me, win);
  expect("exclusive lock", me, 0, value, (int64_t)kRounds * ranks);
}

// Counting by compare_and_swap: rank 0 at rank 1, all others at rank 0.
static void swaps(void) {
  enum { kSwaps = 50 };
  const size_t word = counters_at() + 9;
  const int counter = me == 0 && !swap_everywhere ? 1 : 0;
  int64_t seen = 0;
  for (int done = 0; done < kSwaps;) {
    const int64_t wanted = seen + 1;
    int64_t old = -1;
    doing("%s window: compare_and_swap %d at %d", kind_names[kind], done, counter);
    MPI_Compare_and_swap(&wanted, &seen, &old, MPI_INT64_T, counter, at(counter, word), win);
    MPI_Win_flush(counter, win);
    if (old == seen) ++done;
    seen = old == seen ? wanted : old;
  }
  doing("%s window: barrier after compare_and_swap", kind_names[kind]);
  MPI_Barrier(MPI_COMM_WORLD);
  int64_t total = -1, unused = 0;
  MPI_Fetch_and_op(&unused, &total, MPI_INT64_T, 0, at(0, word), MPI_NO_OP, win);
  MPI_Win_flush_all(win);
  expect("compare_and_swap", 0, 0, total, (int64_t)kSwaps * (swap_everywhere ? ranks : ranks - 1));
}

// Passive target under lock_all: put, flush, notify by a message; atomics of all ranks at rank 0.
static void passive(void) {
  enum { kTickets = 50 };
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  const size_t tickets_at = counters_at() + 8;
  MPI_Win_lock_all(0, win);
  for (size_t l = 0; l < kLengths; ++l) {
    const size_t n = lengths[l];
    int token = (int)l;
    doing("%s window: put %zu words to %d, flush", kind_names[kind], n, right);
    fill(out, n * sizeof *out, key_of(me, right, l + 40));
    if (l % 2 == 0) {
      MPI_Put(out, (int)n, MPI_INT64_T, right, at(right, (size_t)me * kSlot), (int)n, MPI_INT64_T,
              win);
    } else {
      MPI_Request request;
      MPI_Rput(out, (int)n, MPI_INT64_T, right, at(right, (size_t)me * kSlot), (int)n, MPI_INT64_T,
               win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_flush(right, win);
    doing("%s window: token from %d", kind_names[kind], left);
    MPI_Sendrecv_replace(&token, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_sync(win);
    check_words("put, flush", left, memory + (size_t)left * kSlot, n, key_of(left, me, l + 40));
    doing("%s window: rget %zu words from %d", kind_names[kind], n, right);
    MPI_Request request;
    memset(in, 0, n * sizeof *in);
    MPI_Rget(in, (int)n, MPI_INT64_T, right, at(right, (size_t)me * kSlot), (int)n, MPI_INT64_T,
             win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_words("rget", right, in, n, key_of(me, right, l + 40));
    MPI_Barrier(MPI_COMM_WORLD);
  }

  // Every ticket is drawn once.
  int* drawn = calloc((size_t)(kTickets * ranks), sizeof *drawn);
  for (int i = 0; i < kTickets; ++i) {
    const int64_t one = 1;
    int64_t ticket = -1;
    doing("%s window: fetch_and_op %d", kind_names[kind], i);
    MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, at(0, tickets_at), MPI_SUM, win);
    MPI_Win_flush(0, win);
    require(ticket >= 0 && ticket < kTickets * ranks, "%s window: ticket %lld", kind_names[kind],
            (long long)ticket);
    ++drawn[ticket];
  }
  MPI_Allreduce(MPI_IN_PLACE, drawn, kTickets * ranks, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kTickets * ranks; ++i)
    require(drawn[i] == 1, "%s window: ticket %d was drawn %d times", kind_names[kind], i,
            drawn[i]);
  free(drawn);

  if (kind != allocated || swap_everywhere) swaps();

  // Swap, and the narrow types.
  int32_t old32 = -1;
  const int32_t new32 = 100 + me;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Fetch_and_op(&new32, &old32, MPI_INT32_T, right, at(right, counters_at() + 10), MPI_REPLACE,
                   win);
  MPI_Win_flush(right, win);
  require(old32 == 0, "%s window: 32-bit swap at %d found %d", kind_names[kind], right, old32);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Fetch_and_op(&new32, &old32, MPI_INT32_T, right, at(right, counters_at() + 10), MPI_SUM, win);
  MPI_Win_flush(right, win);
  require(old32 == new32, "%s window: 32-bit add at %d found %d, not %d", kind_names[kind], right,
          old32, new32);
  MPI_Win_unlock_all(win);
}

// Open MPI 4.1's osc/rdma waits for itself in a dynamic window of several hosts, over any BTL: it
// holds the target's regions_lock exclusively when it goes on to take it shared
// (ompi_osc_rdma_find_dynamic_region and ompi_osc_rdma_refresh_dynamic_region).
static bool dynamic_windows_hang(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  MPI_Comm host;
  int on_host = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_host);
  MPI_Comm_free(&host);
  int several = on_host < ranks;
  MPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return several != 0 && strstr(version, "Open MPI v4.1") != NULL;
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const bool skip_dynamic = !has_option(argc, argv, "--dynamic") && dynamic_windows_hang();
  if (skip_dynamic && me == 0)
    printf("dynamic windows left out: Open MPI 4.1's osc/rdma deadlocks on them across hosts\n");
  require(ranks >= 2 && ranks < 60, "needs 2 to 59 ranks");
  swap_everywhere = has_option(argc, argv, "--swap-everywhere");
  out = allocate(kSlot * sizeof *out);
  in = allocate(kSlot * sizeof *in);
  bases = allocate((size_t)ranks * sizeof *bases);
  const long rounds = option(argc, argv, "--rounds", long_run ? 20 : 1);
  for (long round = 0; round < rounds; ++round)
    for (Kind which = created; which < kinds; ++which) {
      if (which == dynamic && skip_dynamic) continue;
      make_window(which);
      fenced();
      strided();
      accumulated();
      scheduled();
      exclusive();
      passive();
      free_window();
    }
  free(bases), free(in), free(out);
  return check_end();
}
