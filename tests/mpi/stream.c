// A stream of checked bytes from each even rank to the next, by every protocol of messages: eager, large (ob1 gets
// it), and not contiguous (in fragments); with --one-sided by MPI_Put and MPI_Get instead, with --collective between
// all ranks by collectives. Each message in flight has its own buffer.
//
// --mebibytes N: how much (default 8; 64 with --long); halfway.h has the other options.
#include "check.h"
#include "halfway.h"

enum { kWindow = 8, kLargest = 1 << 20 };

// Sizes of the messages, the same on both sides: a large one, then some small ones.
static size_t size_of(uint64_t number) {
  uint64_t state = seed + number;
  return number % 8 == 0 ? kLargest - random_below(&state, 4096) : 1 + random_below(&state, 16384);
}

static void contiguous(int peer, bool sender, size_t all) {
  unsigned char* buffers = allocate((size_t)kWindow * kLargest);
  MPI_Request requests[kWindow];
  bool told = sender;
  uint64_t number = 0;
  for (size_t done = 0; goes_on(peer, sender, done, all);) {
    const uint64_t first = number;
    for (int i = 0; i < kWindow; ++i, ++number) {
      unsigned char* buffer = buffers + (size_t)i * kLargest;
      const size_t size = size_of(number);
      doing("stream with %d: message %llu of %zu bytes", peer, (unsigned long long)number, size);
      if (sender) {
        fill(buffer, size, key_of(me, peer, number));
        MPI_Isend(buffer, (int)size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(buffer, kLargest, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[i]);
      }
      done += size;
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kWindow && !sender; ++i)
      verify(buffers + (size_t)i * kLargest, size_of(first + (uint64_t)i),
             key_of(peer, me, first + (uint64_t)i), peer);
    mark(done, all, &told);
  }
  free(buffers);
}

// Every second block of 64 bytes.
static void scattered(int peer, bool sender, size_t all) {
  enum { kBlock = 64, kBlocks = kLargest / kBlock };
  MPI_Datatype every_second;
  MPI_Type_vector(kBlocks, kBlock, 2 * kBlock, MPI_BYTE, &every_second);
  MPI_Type_commit(&every_second);
  unsigned char* spread = allocate(2 * (size_t)kLargest);
  unsigned char* packed = allocate(kLargest);
  uint64_t number = 1000000;
  for (size_t done = 0; done < all; done += kLargest, ++number) {
    doing("scattered message %llu with %d", (unsigned long long)number, peer);
    if (sender) {
      fill(packed, kLargest, key_of(me, peer, number));
      for (int i = 0; i < kBlocks; ++i)
        memcpy(spread + (size_t)i * 2 * kBlock, packed + (size_t)i * kBlock, kBlock);
      MPI_Send(spread, 1, every_second, peer, 2, MPI_COMM_WORLD);
    } else {
      MPI_Recv(spread, 1, every_second, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < kBlocks; ++i)
        memcpy(packed + (size_t)i * kBlock, spread + (size_t)i * 2 * kBlock, kBlock);
      verify(packed, kLargest, key_of(peer, me, number), peer);
    }
  }
  MPI_Type_free(&every_second);
  free(spread);
  free(packed);
}

// The even rank puts and gets back; the other one checks the put data after each round.
static void one_sided(int peer, bool origin, size_t all) {
  unsigned char* exposed = allocate(kLargest);
  unsigned char* mine = allocate(kLargest);
  memset(exposed, 0, kLargest);
  MPI_Win window;
  doing("MPI_Win_create");
  MPI_Win_create(exposed, kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  bool told = origin;
  uint64_t number = 2000000;
  for (size_t done = 0; goes_on(peer, origin, done, all); done += 2 * (size_t)kLargest, ++number) {
    doing("one-sided round %llu with %d", (unsigned long long)number, peer);
    if (origin) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window);
      fill(mine, kLargest, key_of(me, peer, number));
      MPI_Put(mine, kLargest, MPI_BYTE, peer, 0, kLargest, MPI_BYTE, window);
      MPI_Win_flush(peer, window);
      memset(mine, 0xee, kLargest);
      MPI_Get(mine, kLargest, MPI_BYTE, peer, 0, kLargest, MPI_BYTE, window);
      MPI_Win_unlock(peer, window);
      verify(mine, kLargest, key_of(me, peer, number), peer);
      MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 3, NULL, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    } else {
      MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 3, NULL, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
      verify(exposed, kLargest, key_of(peer, me, number), peer);
      MPI_Win_unlock(me, window);
      mark(done, all, &told);
    }
    // The next put comes after the target has checked the data.
    MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, 4, NULL, 0, MPI_BYTE, peer, 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  doing("MPI_Win_free");
  MPI_Win_free(&window);
  free(exposed);
  free(mine);
}

static void broadcast(unsigned char* data, uint64_t number) {
  const int root = (int)(number % (uint64_t)ranks);
  const uint64_t key = key_of(root, -1, number);
  if (root == me) fill(data, kLargest, key);
  MPI_Bcast(data, kLargest, MPI_BYTE, root, MPI_COMM_WORLD);
  verify(data, kLargest, key, root);
}

static void add_up(uint64_t* words, uint64_t number) {
  enum { kWords = kLargest / sizeof *words };
  fill(words, kLargest, key_of(me, -1, number));
  MPI_Allreduce(MPI_IN_PLACE, words, kWords, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += word_at(key_of(rank, -1, number), i);
    require(words[i] == sum, "word %zu of a sum is wrong (%s)", i, state_line[0]);
  }
}

static void exchange(unsigned char* out, unsigned char* in, uint64_t number) {
  const size_t part = kLargest / (size_t)ranks;
  for (int rank = 0; rank < ranks; ++rank)
    fill(out + (size_t)rank * part, part, key_of(me, rank, number));
  MPI_Alltoall(out, (int)part, MPI_BYTE, in, (int)part, MPI_BYTE, MPI_COMM_WORLD);
  for (int rank = 0; rank < ranks; ++rank)
    verify(in + (size_t)rank * part, part, key_of(rank, me, number), rank);
}

static void collective(size_t all) {
  unsigned char* out = allocate(kLargest);
  unsigned char* in = allocate(kLargest);
  bool told = me != ranks - 1;
  size_t done = 0;
  for (uint64_t number = 3000000;; number += 3) {
    int more = me == 0 && has_more(done, all);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!more) break;
    doing("collectives from %llu on", (unsigned long long)number);
    broadcast(out, number);
    add_up((uint64_t*)(void*)out, number + 1);
    exchange(out, in, number + 2);
    done += 3 * (size_t)kLargest;
    mark(done, all, &told);
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const size_t all = (size_t)option(argc, argv, "--mebibytes", long_run ? 64 : 8) << 20;
  read_until(argc, argv);
  if (has_option(argc, argv, "--collective")) {
    collective(all);
    return check_end();
  }
  require(ranks % 2 == 0, "needs an even number of ranks");
  const int peer = me ^ 1;
  const bool sender = me % 2 == 0;
  if (has_option(argc, argv, "--one-sided")) {
    one_sided(peer, sender, all);
  } else {
    contiguous(peer, sender, all);
    scattered(peer, sender, all / 4);
  }
  return check_end();
}
