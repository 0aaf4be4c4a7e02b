// Accumulates of many elements against accumulates of few on the same elements: no update is lost, whichever path
// each one takes. All ranks work on all ranks' windows at once: fetch_and_op, compare_and_swap, short and long
// accumulates and get_accumulates, of one type for each part of the window. They begin with single elements alone,
// so that a later long one meets all ranks at the same elements. At the end the window must contain the sum of all
// contributions.
#include "check.h"

enum { kWords = 1024, kKinds = 4, kFlavors = 2 };

static const MPI_Datatype kTypes[kKinds] = {MPI_INT64_T, MPI_INT32_T, MPI_UINT8_T, MPI_DOUBLE};
static const size_t kSizes[kKinds] = {8, 4, 1, 8};

static int64_t* added;  // by this rank: [target][kind][word]
static uint64_t state;

static unsigned draw(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

static int64_t* place(int target, int kind, int word) {
  return added + ((size_t)target * kKinds + (size_t)kind) * kWords + word;
}

static MPI_Aint offset_of(int kind) { return (MPI_Aint)kind * kWords * 8; }

static void store(void* to, int kind, int index, int value) {
  switch (kind) {
    case 0: ((int64_t*)to)[index] = value; break;
    case 1: ((int32_t*)to)[index] = value; break;
    case 2: ((uint8_t*)to)[index] = (uint8_t)value; break;
    default: ((double*)to)[index] = value; break;
  }
}

static int64_t load(const void* from, int kind, int index) {
  switch (kind) {
    case 0: return ((const int64_t*)from)[index];
    case 1: return ((const int32_t*)from)[index];
    case 2: return ((const uint8_t*)from)[index];
    default: return (int64_t)((const double*)from)[index];
  }
}

// Adds to words [first, first + count) by one call, or to one of them by compare_and_swap.
static void add(MPI_Win win, int target, int kind, int first, int count, int how) {
  static int64_t operands[kWords], before[kWords];
  const MPI_Datatype type = kTypes[kind];
  const MPI_Aint at = offset_of(kind) + (MPI_Aint)first * (MPI_Aint)kSizes[kind];
  for (int i = 0; i < count; ++i) {
    const int value = 1 + (int)draw(3);
    store(operands, kind, i, value);
    *place(target, kind, first + i) += value;
  }
  if (how == 0 && count == 1) {
    MPI_Fetch_and_op(operands, before, type, target, at, MPI_SUM, win);
  } else if (how == 1 && count == 1 && kind != 3) {
    int64_t seen = 0, wanted = 0, found = 0;
    MPI_Fetch_and_op(NULL, &seen, type, target, at, MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    for (;;) {
      const int64_t value = load(&seen, kind, 0);
      store(&wanted, kind, 0, (int)(value + load(operands, kind, 0)));
      MPI_Compare_and_swap(&wanted, &seen, &found, type, target, at, win);
      MPI_Win_flush(target, win);
      if (load(&found, kind, 0) == value) break;
      seen = found;
    }
  } else if (how <= 2) {
    MPI_Get_accumulate(operands, count, type, before, count, type, target, at, count, type, MPI_SUM,
                       win);
  } else {
    MPI_Accumulate(operands, count, type, target, at, count, type, MPI_SUM, win);
  }
  MPI_Win_flush(target, win);
}

static void check_sums(MPI_Win win, const char* memory, const char* flavor) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  const int count = ranks * kKinds * kWords;
  int64_t* all = allocate((size_t)count * sizeof *all);
  MPI_Allreduce(added, all, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (int kind = 0; kind < kKinds; ++kind)
    for (int word = 0; word < kWords; ++word) {
      int64_t expected = all[((size_t)me * kKinds + (size_t)kind) * kWords + (size_t)word];
      if (kind == 2) expected &= 255;
      const int64_t found = load(memory + offset_of(kind), kind, word);
      require(found == expected, "%s window, kind %d, word %d: %lld, not %lld", flavor, kind, word,
              (long long)found, (long long)expected);
    }
  free(all);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const double seconds = long_run ? 60 : 2;  // a loss shows within a fraction of one
  const MPI_Aint bytes = (MPI_Aint)kKinds * kWords * 8;
  state = scramble(seed * 1000 + (uint64_t)me);
  added = allocate((size_t)ranks * kKinds * kWords * sizeof *added);
  for (int flavor = 0; flavor < kFlavors; ++flavor) {
    const char* const name = flavor == 0 ? "allocated" : "created";
    MPI_Win win;
    char* memory = NULL;
    if (flavor == 0) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
      memory = allocate((size_t)bytes);
      MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    memset(memory, 0, (size_t)bytes);
    memset(added, 0, (size_t)ranks * kKinds * kWords * sizeof *added);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    doing("%s window: single elements", name);
    for (int i = 0; i < 200; ++i)
      add(win, (int)draw((unsigned)ranks), i % kKinds, (int)draw(8), 1, (int)draw(4));
    doing("%s window: all sizes", name);
    const double end = MPI_Wtime() + seconds / kFlavors;
    long done = 0;
    for (; MPI_Wtime() < end; ++done) {
      const unsigned size = draw(8);
      const int count = size == 0   ? kWords / 8 + (int)draw(kWords / 2)
                        : size == 1 ? 2 + (int)draw(20)
                                    : 1;
      add(win, (int)draw((unsigned)ranks), (int)draw(kKinds), (int)draw(16), count, (int)draw(5));
    }
    MPI_Win_flush_all(win);
    check_sums(win, memory, name);
    if (me == 0) printf("%s window: %ld operations of rank 0 of all sizes\n", name, done);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    if (flavor == 1) free(memory);
  }
  free(added);
  return check_end();
}
