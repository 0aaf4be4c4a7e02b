// Large messages whose receivers measure which path is faster. Buffers are written before each message, not
// written, written with the same values, or several in turn; one message at a time and many at a time.
#include "check.h"

enum { kLargest = 1 << 20, kAtOnce = 16 };
enum Habit { kOnce, kAlways, kSameValues, kInTurn, kHabits };
static const char* const habits[] = {"written once", "written always", "written with the same",
                                     "taken in turn"};
static const size_t sizes[] = {60 * 1024, 100 * 1024, kLargest};

static unsigned char *out, *in;

static size_t room_of(size_t size) { return size * 2 <= kLargest ? 2 : 1; }

// The number of the contents of message i.
static uint64_t contents(enum Habit habit, int i) {
  return habit == kAlways ? (uint64_t)i : habit == kInTurn ? (uint64_t)(i % 2) : 0;
}
static unsigned char* buffer(enum Habit habit, size_t size, int i) {
  return habit == kInTurn && room_of(size) == 2 ? out + size * (size_t)(i % 2) : out;
}

static void prepare(enum Habit habit, size_t size, int peer, int i) {
  const bool first = i < (habit == kInTurn ? (int)room_of(size) : 1);
  if (habit == kAlways || habit == kSameValues || first || (habit == kInTurn && room_of(size) == 1))
    fill(buffer(habit, size, i), size, key_of(me, peer, contents(habit, i)));
}

static void one_by_one(int peer, enum Habit habit, size_t size, int messages) {
  for (int i = 0; i < messages; ++i) {
    for (int turn = 0; turn < 2; ++turn) {
      if ((me & 1) == turn) {
        prepare(habit, size, peer, i);
        MPI_Send(buffer(habit, size, i), (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD);
      } else {
        MPI_Recv(in, (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        verify(in, size, key_of(peer, me, contents(habit, i)), peer);
      }
    }
  }
}

// All messages from one buffer, each into a separate one.
static void together(int peer, size_t size, int rounds) {
  MPI_Request requests[2 * kAtOnce];
  for (int round = 0; round < rounds; ++round) {
    fill(out, size, key_of(me, peer, (uint64_t)round));
    for (int i = 0; i < kAtOnce; ++i)
      MPI_Irecv(in + (size_t)i * size, (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < kAtOnce; ++i)
      MPI_Isend(out, (int)size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[kAtOnce + i]);
    MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; ++i)
      verify(in + (size_t)i * size, size, key_of(peer, me, (uint64_t)round), peer);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int peer = me ^ 1;
  out = allocate(kLargest);
  in = allocate((size_t)kLargest * kAtOnce);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && peer < ranks; ++s) {
    for (int phase = 0; phase < 2 * kHabits; ++phase) {
      const enum Habit habit = (enum Habit)(phase % kHabits);
      doing("%zu bytes one by one, buffers %s", sizes[s], habits[habit]);
      one_by_one(peer, habit, sizes[s], sizes[s] == kLargest ? 8 : 40);
    }
    doing("%zu bytes, %d at a time", sizes[s], kAtOnce);
    together(peer, sizes[s], sizes[s] == kLargest ? 2 : 6);
  }
  free(out);
  free(in);
  return check_end();
}
