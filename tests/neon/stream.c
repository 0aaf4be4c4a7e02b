// Announced and notified puts of checked bytes from each even rank to the next, while a test delays or cuts one of
// several rails: no notification overtakes a byte of its put, also if they travel over different rails.
//
// --mebibytes N: how much (default 8; 64 with --long); halfway.h has the other options.
#include "check.h"
#include "halfway.h"

#include <mpix_neon.h>

enum { kLargest = 1 << 20, kTag = 3, kRounds = 8 };
enum { kFilled, kRead };  // counters of the notified window

static MPI_Win announced, notified;
static unsigned char *announced_memory, *notified_memory, *data;

// Both ranks compute the same sizes: of a large put, then of some small ones.
static size_t size_of(uint64_t number) {
  uint64_t state = seed + number;
  return number % 4 == 0 ? kLargest - random_below(&state, 4096) : 1 + random_below(&state, 32768);
}

// In two pieces, of which the second one notifies.
static void put_announced(int target, size_t size, uint64_t number) {
  MPI_Request requests[2];
  uint64_t state = seed * 3 + number;
  const int first = (int)random_below(&state, size + 1);
  const int rest = (int)size - first;
  fill(data, size, key_of(me, target, number));
  require(MPIX_Neon_put(data, first, MPI_BYTE, target, kTag, 0, first, MPI_BYTE,
                        MPIX_NEON_NON_FINAL, announced, &requests[0]) == MPI_SUCCESS,
          "put");
  require(MPIX_Neon_put(data + first, rest, MPI_BYTE, target, kTag, first, rest, MPI_BYTE,
                        MPIX_NEON_FINAL, announced, &requests[1]) == MPI_SUCCESS,
          "final put");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  memset(data, 0xee, size);  // ours again
}

static void put_notified(int target, size_t size, uint64_t number) {
  if (number > 0) MPIX_Win_wait_notify(notified, kRead, number);
  fill(data, size, key_of(target, me, number));
  require(MPIX_Put_notify(data, (int)size, MPI_BYTE, target, 0, (int)size, MPI_BYTE, kFilled,
                          notified) == MPI_SUCCESS,
          "put_notify");
  memset(data, 0xee, size);
}

static void take(int origin, size_t size, uint64_t number, MPI_Request* announcement) {
  MPI_Start(announcement);
  require(MPI_Wait(announcement, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait for an announcement");
  verify(announced_memory, size, key_of(origin, me, number), origin);
  require(MPIX_Win_wait_notify(notified, kFilled, number + 1) == MPI_SUCCESS, "wait_notify");
  verify(notified_memory, size, key_of(me, origin, number), origin);
  require(
      MPIX_Put_notify(NULL, 0, MPI_BYTE, origin, 0, 0, MPI_BYTE, kRead, notified) == MPI_SUCCESS,
      "put_notify of nothing");
}

static void stream(int peer, bool origin, size_t all) {
  MPI_Request announcement = MPI_REQUEST_NULL;
  if (!origin)
    require(MPIX_Neon_announce_init(0, kLargest, 1, &peer, kTag, 0, announced, &announcement) ==
                MPI_SUCCESS,
            "announce_init");
  bool told = origin;
  uint64_t number = 0;
  for (size_t done = 0; goes_on(peer, origin, done, all);) {
    for (int i = 0; i < kRounds; ++i, ++number) {
      const size_t size = size_of(number);
      doing("round %llu with %d: %zu bytes", (unsigned long long)number, peer, size);
      if (origin) {
        put_announced(peer, size, number);
        put_notified(peer, size, number);
      } else {
        take(peer, size, number, &announcement);
      }
      done += 2 * size;
    }
    mark(done, all, &told);
  }
  if (origin)
    MPIX_Win_wait_notify(notified, kRead, number);
  else
    MPI_Request_free(&announcement);
}

static void open_window(unsigned char** memory, MPI_Win* win) {
  MPI_Win_allocate(kLargest, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win);
  MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
  memset(*memory, 0, kLargest);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks % 2 == 0, "needs an even number of ranks");
  const size_t all = (size_t)option(argc, argv, "--mebibytes", long_run ? 64 : 8) << 20;
  read_until(argc, argv);
  open_window(&announced_memory, &announced);
  open_window(&notified_memory, &notified);
  require(MPIX_Neon_attach(announced) == MPI_SUCCESS, "attach");
  require(MPIX_Win_set_num_notify(notified, MPI_INFO_NULL, 2) == MPI_SUCCESS, "set_num_notify");
  data = allocate(kLargest);
  MPI_Barrier(MPI_COMM_WORLD);
  stream(me ^ 1, me % 2 == 0, all);
  free(data);
  doing("MPI_Win_free");
  MPI_Win_free(&announced);
  MPI_Win_free(&notified);
  return check_end();
}
