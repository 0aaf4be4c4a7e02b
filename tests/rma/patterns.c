// Patterns that programs build out of one-sided operations: a rank that polls its own window, locks made of
// atomics, workers that take tasks from counters, a list in a dynamic window to which all ranks append, all ranks
// writing to all.
//   --pattern NAME   only that
//   --threads        with MPI_THREAD_MULTIPLE, which changes only the paths that LFC takes
#include "check.h"

enum { kRounds = 10, kTasks = 400, kNodes = 8, kMostRanks = 1024 };

static const int64_t kOne = 1;

static int64_t fetch(MPI_Op op, int64_t operand, int target, MPI_Aint at, MPI_Win win) {
  int64_t old = -1;
  MPI_Fetch_and_op(&operand, &old, MPI_INT64_T, target, at, op, win);
  MPI_Win_flush(target, win);
  return old;
}
static int64_t load(int target, MPI_Aint at, MPI_Win win) {
  return fetch(MPI_NO_OP, 0, target, at, win);
}
static int64_t swap_if(int64_t expected, int64_t wanted, int target, MPI_Aint at, MPI_Win win) {
  int64_t old = -1;
  MPI_Compare_and_swap(&wanted, &expected, &old, MPI_INT64_T, target, at, win);
  MPI_Win_flush(target, win);
  return old;
}

static int64_t* open_window(bool created, int words, MPI_Win* win) {
  const MPI_Aint bytes = words * (MPI_Aint)sizeof(int64_t);
  int64_t* memory;
  if (created) {
    memory = allocate((size_t)bytes);
    memset(memory, 0, (size_t)bytes);
    MPI_Win_create(memory, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win);
  } else {
    MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, win);
    memset(memory, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_lock_all(0, *win);
  return memory;
}
static void close_window(bool created, int64_t* memory, MPI_Win* win) {
  MPI_Win_unlock_all(*win);
  MPI_Win_free(win);
  if (created) free(memory);
}

// Rank 0 polls its own memory by operations, until all others have added to it.
static void own_window(bool created) {
  MPI_Win win;
  int64_t* memory = open_window(created, 1, &win);
  if (me == 0) {
    while (load(0, 0, win) < (int64_t)kRounds * (ranks - 1)) continue;
  } else {
    for (int i = 0; i < kRounds; ++i) {
      MPI_Accumulate(&kOne, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
      MPI_Win_flush(0, win);
    }
  }
  close_window(created, memory, &win);
}

// Two locks at rank 0: a ticket lock (words 0 and 1), and a word that is swapped (2). The protected value at the
// last rank is read and written back, so two ranks inside at once would lose an increment.
static void take_ticket(MPI_Win win) {
  const int64_t mine = fetch(MPI_SUM, 1, 0, 0, win);
  while (load(0, 1, win) != mine) continue;
}
static void give_ticket(MPI_Win win) { fetch(MPI_SUM, 1, 0, 1, win); }
static void take_word(MPI_Win win) {
  while (swap_if(0, me + 1, 0, 2, win) != 0) continue;
}
static void give_word(MPI_Win win) {
  require(swap_if(me + 1, 0, 0, 2, win) == me + 1, "somebody else has the lock");
}
static void own_locks(bool created) {
  static const struct {
    void (*take)(MPI_Win), (*give)(MPI_Win);
  } locks[] = {{take_ticket, give_ticket}, {take_word, give_word}};
  MPI_Win win;
  int64_t* memory = open_window(created, 4, &win);
  for (int which = 0; which < 2; ++which) {
    for (int i = 0; i < kRounds; ++i) {
      int64_t value = -1;
      doing("lock %d, round %d", which, i);
      locks[which].take(win);
      MPI_Get(&value, 1, MPI_INT64_T, ranks - 1, 3, 1, MPI_INT64_T, win);
      MPI_Win_flush(ranks - 1, win);
      ++value;
      MPI_Put(&value, 1, MPI_INT64_T, ranks - 1, 3, 1, MPI_INT64_T, win);
      MPI_Win_flush(ranks - 1, win);
      locks[which].give(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int64_t sum = load(ranks - 1, 3, win);
    require(sum == (int64_t)(which + 1) * kRounds * ranks, "lock %d: %lld increments", which,
            (long long)sum);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close_window(created, memory, &win);
}

// Word 0 of rank 0 is the next task, word 1 the number of finished ones, word 2 the sum of the results; then the
// rank of each task. Rank 0 takes no task.
static void workers(bool created) {
  MPI_Win win;
  int64_t* memory = open_window(created, 3 + kTasks, &win);
  if (me != 0 || ranks == 1) {
    for (int64_t task; (task = fetch(MPI_SUM, 1, 0, 0, win)) < kTasks;) {
      const int64_t result = task * task, who = me + 1;
      MPI_Accumulate(&result, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, MPI_SUM, win);
      MPI_Accumulate(&who, 1, MPI_INT64_T, 0, 3 + task, 1, MPI_INT64_T, MPI_SUM, win);
      MPI_Win_flush(0, win);
      fetch(MPI_SUM, 1, 0, 1, win);
    }
  }
  if (me == 0) {
    while (load(0, 1, win) < kTasks) continue;
    int64_t sum = 0;
    for (int64_t task = 0; task < kTasks; ++task) {
      const int64_t who = load(0, 3 + task, win);
      require(who >= 1 && who <= ranks, "task %lld has been done by %lld", (long long)task,
              (long long)who - 1);
      sum += task * task;
    }
    require(load(0, 2, win) == sum, "the results' sum is wrong");
  }
  close_window(created, memory, &win);
}

// A list in a dynamic window: a link is its owner's rank + 1 in the upper bits and an address.
struct node {
  int64_t next;
  int64_t value;
};
static int64_t link_of(const struct node* node) {
  MPI_Aint address;
  MPI_Get_address(node, &address);
  return ((int64_t)(me + 1) << 48) | (int64_t)address;
}
static int owner_of(int64_t link) { return (int)(link >> 48) - 1; }
static MPI_Aint address_of(int64_t link) { return (MPI_Aint)(link & 0xffffffffffff); }

static void check_list(int64_t head, MPI_Win win) {
  static int64_t next_of[kMostRanks];
  int64_t count = 0;
  memset(next_of, 0, sizeof next_of);
  for (int64_t at = load(owner_of(head), address_of(head), win); at != 0; ++count) {
    const int owner = owner_of(at);
    int64_t value = -1;
    MPI_Get(&value, 1, MPI_INT64_T, owner, address_of(at) + (MPI_Aint)offsetof(struct node, value),
            1, MPI_INT64_T, win);
    MPI_Win_flush(owner, win);
    require(value == next_of[owner], "node %lld of rank %d comes after %lld of them",
            (long long)value, owner, (long long)next_of[owner]);
    ++next_of[owner];
    at = load(owner, address_of(at), win);
  }
  require(count == (int64_t)kNodes * ranks, "%lld nodes", (long long)count);
}

static void list(bool created) {
  if (created) return;  // a dynamic window is neither
  MPI_Win win;
  struct node* nodes[kNodes + 1];
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i <= kNodes; ++i) {
    nodes[i] = allocate(sizeof(struct node));
    *nodes[i] = (struct node){0, i};
  }
  MPI_Win_attach(win, nodes[kNodes], sizeof(struct node));
  int64_t head = link_of(nodes[kNodes]);
  MPI_Bcast(&head, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  int64_t last = head;
  for (int i = 0; i < kNodes; ++i) {
    doing("list: append of node %d", i);
    MPI_Win_attach(win, nodes[i], sizeof(struct node));
    MPI_Win_sync(win);
    const int64_t own = link_of(nodes[i]);
    for (int64_t next; (next = swap_if(0, own, owner_of(last), address_of(last), win)) != 0;)
      last = next;
    last = own;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  doing("list: walk");
  check_list(head, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  for (int i = 0; i <= kNodes; ++i) {
    MPI_Win_detach(win, nodes[i]);
    free(nodes[i]);
  }
  MPI_Win_free(&win);
}

// Exclusive locks of one target beside locks of all targets, which each rank takes in a different order. A rank
// that waits for an exclusive lock must not hold up a rank that already holds other locks.
static void locks_of_all(bool created) {
  MPI_Win win;
  int64_t* memory = open_window(created, 2, &win);
  MPI_Win_unlock_all(win);
  const int rounds = 20 * kRounds / ranks + kRounds;
  int64_t got[kMostRanks];
  for (int i = 0; i < rounds * ranks; ++i) {
    const int alone = (me + i) % ranks;
    doing("locks of one and all: round %d", i);
    int64_t value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, alone, 0, win);
    MPI_Get(&value, 1, MPI_INT64_T, alone, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(alone, win);
    ++value;
    MPI_Put(&value, 1, MPI_INT64_T, alone, 0, 1, MPI_INT64_T, win);
    MPI_Win_unlock(alone, win);
    if (i % ranks != 0) continue;
    MPI_Win_lock_all(0, win);
    for (int j = 0; j < ranks; ++j)
      MPI_Fetch_and_op(&kOne, &got[j], MPI_INT64_T, (me * 7 + i / ranks + j) % ranks, 1, MPI_SUM,
                       win);
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  require(load(me, 0, win) == (int64_t)rounds * ranks, "%lld increments under a lock, not %d",
          (long long)load(me, 0, win), rounds * ranks);
  require(load(me, 1, win) == (int64_t)rounds * ranks, "%lld sums, not %d",
          (long long)load(me, 1, win), rounds * ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  close_window(created, memory, &win);
}

static bool on_one_host(void) {
  MPI_Comm host;
  int here = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  return here == ranks;
}

// All ranks poll a word of rank 0 in epochs of lock_all until it is set. Rank 0 sets it under an exclusive lock.
static void writer_beside_pollers(bool created) {
  if (!on_one_host()) return;
  MPI_Win win;
  int64_t* memory = open_window(created, 1, &win);
  MPI_Win_unlock_all(win);
  for (int64_t round = 1; round <= kRounds; ++round) {
    doing("a writer beside pollers: round %d", (int)round);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t seen = 0;
    if (me == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      MPI_Put(&round, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
      MPI_Win_unlock(0, win);
    }
    while (seen < round) {
      MPI_Win_lock_all(0, win);
      MPI_Get(&seen, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
      MPI_Win_unlock_all(win);
    }
  }
  MPI_Win_lock_all(0, win);
  close_window(created, memory, &win);
}

// Rank 0 holds two exclusive locks at a time, which it takes in either order. The others lock all, in an order that
// no program can know.
static void locks_in_any_order(bool created) {
  if (!on_one_host() || ranks < 3) return;
  MPI_Win win;
  int64_t* memory = open_window(created, 2, &win);
  MPI_Win_unlock_all(win);
  const int rounds = (created ? 1 : 10) * (20 * kRounds / ranks + kRounds);
  for (int i = 0; i < rounds; ++i) {
    const int first = i % 2 == 0 ? 2 : 1, second = 3 - first;
    doing("locks in any order: round %d", i);
    if (me == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win);
      MPI_Put(&kOne, 1, MPI_INT64_T, first, 0, 1, MPI_INT64_T, win);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, second, 0, win);
      MPI_Put(&kOne, 1, MPI_INT64_T, second, 0, 1, MPI_INT64_T, win);
      MPI_Win_unlock(second, win);
      MPI_Win_unlock(first, win);
    } else {
      MPI_Win_lock_all(0, win);
      for (int to = 0; to < ranks; ++to)
        MPI_Accumulate(&kOne, 1, MPI_INT64_T, to, 1, 1, MPI_INT64_T, MPI_SUM, win);
      MPI_Win_unlock_all(win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  require(load(me, 1, win) == (int64_t)rounds * (ranks - 1), "%lld sums",
          (long long)load(me, 1, win));
  MPI_Barrier(MPI_COMM_WORLD);
  close_window(created, memory, &win);
}

// Several locks at a time, which all ranks take in one order, and some of them shared. The operations come in
// another one.
static void several_locks(bool created) {
  MPI_Win win;
  int64_t* memory = open_window(created, 2, &win);
  MPI_Win_unlock_all(win);
  int64_t changes[kMostRanks] = {0}, values[kMostRanks];
  for (int i = 0; i < 20 * kRounds; ++i) {
    uint64_t drawn = key_of(me, i, 0);
    const int first = (int)(drawn % (uint64_t)ranks);
    const int last = first + 2 < ranks ? first + 2 : ranks - 1;
    doing("several locks: round %d, %d to %d", i, first, last);
    for (int at = first; at <= last; ++at)
      MPI_Win_lock((drawn >> at & 4) != 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, at, 0, win);
    for (int at = last; at >= first; --at) {
      const bool shared = (drawn >> at & 4) != 0;
      ++changes[at];
      if (shared) values[at] = fetch(MPI_SUM, 1, at, 0, win);
      if (!shared) MPI_Get(&values[at], 1, MPI_INT64_T, at, 0, 1, MPI_INT64_T, win);
    }
    for (int at = first; at <= last; ++at) {
      if ((drawn >> at & 4) == 0) {
        MPI_Win_flush(at, win);
        ++values[at];
        MPI_Put(&values[at], 1, MPI_INT64_T, at, 0, 1, MPI_INT64_T, win);
      }
      MPI_Win_unlock(at, win);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, changes, ranks, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  require(load(me, 0, win) == changes[me], "%lld changes, not %lld", (long long)load(me, 0, win),
          (long long)changes[me]);
  MPI_Barrier(MPI_COMM_WORLD);
  close_window(created, memory, &win);
}

// All ranks send to all: by messages, by a collective, and by puts.
static void all_to_all(bool created) {
  MPI_Win win;
  int64_t* memory = open_window(created, ranks, &win);
  int64_t* const out = allocate((size_t)ranks * sizeof *out);
  int64_t* const in = allocate((size_t)ranks * sizeof *in);
  MPI_Request* const requests = allocate(2 * (size_t)ranks * sizeof *requests);
  for (int way = 0; way < 3; ++way) {
    doing("all to all, way %d", way);
    for (int i = 0; i < ranks; ++i) out[i] = (int64_t)key_of(me, i, (uint64_t)way);
    if (way == 0) {
      for (int i = 0; i < ranks; ++i) {
        MPI_Irecv(&in[i], 1, MPI_INT64_T, i, 1, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(&out[i], 1, MPI_INT64_T, i, 1, MPI_COMM_WORLD, &requests[2 * i + 1]);
      }
      MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
    } else if (way == 1) {
      MPI_Alltoall(out, 1, MPI_INT64_T, in, 1, MPI_INT64_T, MPI_COMM_WORLD);
    } else {
      for (int i = 0; i < ranks; ++i) MPI_Put(&out[i], 1, MPI_INT64_T, i, me, 1, MPI_INT64_T, win);
      MPI_Win_flush_all(win);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_sync(win);
      memcpy(in, memory, (size_t)ranks * sizeof *in);
    }
    for (int i = 0; i < ranks; ++i)
      require(in[i] == (int64_t)key_of(i, me, (uint64_t)way), "way %d: wrong from %d", way, i);
  }
  free(requests);
  free(in);
  free(out);
  close_window(created, memory, &win);
}

static const struct {
  const char* name;
  void (*run)(bool created);
} patterns[] = {{"own-window", own_window},
                {"locks", own_locks},
                {"locks-of-all", locks_of_all},
                {"several-locks", several_locks},
                {"workers", workers},
                {"list", list},
                {"all-to-all", all_to_all},
                {"writer-beside-pollers", writer_beside_pollers},
                {"locks-in-any-order", locks_in_any_order}};

int main(int argc, char** argv) {
  check_start(&argc, &argv,
              has_option(argc, argv, "--threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  require(ranks <= kMostRanks, "too many ranks");
  const char* only = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--pattern") == 0) only = argv[i + 1];
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
    if (only != NULL && strcmp(only, patterns[i].name) != 0) continue;
    for (int created = 0; created < 2; ++created) {
      doing("%s, %s window", patterns[i].name, created ? "created" : "allocated");
      const double start = MPI_Wtime();
      patterns[i].run(created != 0);
      MPI_Barrier(MPI_COMM_WORLD);
      if (me == 0)
        printf("%s, %s: %.3f s\n", patterns[i].name, created ? "created" : "allocated",
               MPI_Wtime() - start);
    }
  }
  return check_end();
}
