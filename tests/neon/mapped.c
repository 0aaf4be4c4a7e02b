// Announced buffers in windows that are mapped: puts by loads and stores, beside those that go by frames.
// Rank 0 is the target; all others are its origins.
//
//   mpirun -n 4 --mca pml ob1 --mca btl lfc --mca osc neon neon_mapped [--few]
#include "../mpi/variables.h"
#include "mpix_neon.h"

enum { kTag = 7, kMost = 1 << 20, kTags = 3000 };

static MPI_Win win;
static unsigned char* memory;
static unsigned char* data;
static int few;

static void open_window(size_t size) {
  MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, size);
  MPIX_Neon_attach(win);
}

static void put(const void* from, int size, int target, int tag, MPI_Aint offset, int flags) {
  MPI_Request request;
  MPIX_Neon_put(from, size, MPI_BYTE, target, tag, offset, size, MPI_BYTE, flags, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Ranks 0 and 1 put to each other in turn, as soon as each has seen the other's bytes. Without MPI_Barrier in between,
// every frame is one of NEON's.
static void without_frames(int size) {
  const int rounds = few ? 20 : 400;
  open_window(kMost);
  MPI_T_pvar_handle frames = variable_called("btl_lfc_frames_sent");
  MPI_Request ann = MPI_REQUEST_NULL;
  const int peer = 1 - me;
  if (me < 2) {
    MPIX_Neon_announce_init(0, size, 1, &peer, kTag, 0, win, &ann);
    MPI_Start(&ann);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = read_variable(frames);
  for (int turn = 0; me < 2 && turn < 2 * rounds; ++turn) {
    doing("turn %d, %d bytes", turn, size);
    if (turn % 2 == me) {
      // The last quarter apart, as the final put; a size below 4 has an empty one.
      const int last = size / 4;
      fill(data, (size_t)size, key_of(me, peer, (uint64_t)turn));
      put(data, size - last, peer, kTag, 0, MPIX_NEON_NON_FINAL);
      put(data + size - last, last, peer, kTag, size - last, MPIX_NEON_FINAL);
    } else {
      MPI_Wait(&ann, MPI_STATUS_IGNORE);
      verify(memory, (size_t)size, key_of(peer, me, (uint64_t)turn), peer);
      MPI_Start(&ann);
    }
  }
  const unsigned long long sent = read_variable(frames) - before;
  // Some may still belong to the barrier.
  require(few || sent < (unsigned)rounds / 10, "%llu frames for %d puts of %d bytes", sent, rounds,
          size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ann != MPI_REQUEST_NULL) MPI_Request_free(&ann);
  MPI_Win_free(&win);
}

// More announcements at a time than a table of entries has room for.
static void many_tags(void) {
  open_window((size_t)kTags * 8);
  static MPI_Request anns[kTags];
  const int one = 1;
  for (int round = 0; round < 2; ++round) {
    for (int tag = 0; me == 0 && tag < kTags; ++tag) {
      if (round == 0) MPIX_Neon_announce_init(tag * 8, 8, 1, &one, tag * 7, 0, win, &anns[tag]);
      MPI_Start(&anns[tag]);
    }
    if (round == 0) MPI_Barrier(MPI_COMM_WORLD);  // the second time, either side may come first
    for (int tag = kTags - 1; me == 1 && tag >= 0; --tag) {
      fill(data, 8, key_of(1, 0, (uint64_t)(round * kTags + tag)));
      put(data, 8, 0, tag * 7, 0, MPIX_NEON_FINAL);
    }
    if (me != 0) continue;
    doing("waitall of round %d", round);
    MPI_Waitall(kTags, anns, MPI_STATUSES_IGNORE);
    for (int tag = 0; tag < kTags; ++tag)
      verify(memory + tag * 8, 8, key_of(1, 0, (uint64_t)(round * kTags + tag)), 1);
  }
  for (int tag = 0; me == 0 && tag < kTags; ++tag) MPI_Request_free(&anns[tag]);
  MPI_Win_free(&win);
}

// Each origin fills its part in pieces of random sizes, and either side may be early.
static void skewed(void) {
  enum { kPart = 40000 };
  const int rounds = few ? 20 : 300;
  open_window((size_t)ranks * kPart);
  int origins[64];
  for (int rank = 1; rank < ranks; ++rank) origins[rank - 1] = rank;
  MPI_Request ann = MPI_REQUEST_NULL;
  if (me == 0) MPIX_Neon_announce_init(0, ranks * kPart, ranks - 1, origins, kTag, 0, win, &ann);
  uint64_t draw = seed + (uint64_t)me;
  for (int round = 0; round < rounds; ++round) {
    doing("round %d of skewed", round);
    if (random_below(&draw, 4) == 0) pause_seconds((double)random_below(&draw, 300) * 1e-6);
    if (me == 0) {
      MPI_Start(&ann);
      MPI_Wait(&ann, MPI_STATUS_IGNORE);
      for (int rank = 1; rank < ranks; ++rank)
        verify(memory + rank * kPart, kPart, key_of(rank, 0, (uint64_t)round), rank);
      memset(memory, 0xee, (size_t)ranks * kPart);
      continue;
    }
    fill(data, kPart, key_of(me, 0, (uint64_t)round));
    int at = 0;
    while (at < kPart) {
      int bytes = (int)random_below(&draw, 2 * kPart);
      if (bytes > kPart - at) bytes = kPart - at;
      put(data + at, bytes, 0, kTag, me * kPart + at,
          at + bytes == kPart ? MPIX_NEON_FINAL : MPIX_NEON_NON_FINAL);
      at += bytes;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (ann != MPI_REQUEST_NULL) MPI_Request_free(&ann);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  few = has_option(argc, argv, "--few");
  data = malloc(kMost);
  open_variables();
  const int sizes[] = {0, 1, 8, 100, 4096, 16384, 16385, 65536, 100000, kMost};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) without_frames(sizes[i]);
  many_tags();
  skewed();
  close_variables();
  free(data);
  return check_end();
}
