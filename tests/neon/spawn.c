// Windows over a job and its spawned children: NEON and notified access in all directions, over memory that local peers
// map and memory that they do not. Then the windows are freed, and the jobs disconnect.
//
//   neon_spawn [--refused]
//
// --refused: the windows are emulated, so all ranks get MPI_ERR_UNSUPPORTED_OPERATION.
#include "children.h"

#include <mpix_neon.h>

enum { kMost = 16, kTag = 7, kRounds = 5 };

static MPI_Comm both;
static MPI_Win win;
static unsigned char* memory;
static int rank, size;  // in `both`
static int refused;

static void open_window(int allocated, MPI_Aint bytes) {
  if (allocated) {
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, both, &memory, &win);
  } else {
    memory = allocate((size_t)bytes);
    MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, both, &win);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void close_window(int allocated) {
  doing("MPI_Win_free");
  MPI_Win_free(&win);
  if (!allocated) free(memory);
}

// Each rank announces a buffer to all others, and each of them fills a part of it.
static void announced(int bytes) {
  int others[kMost], count = 0;
  MPI_Request buffer, puts[kMost];
  unsigned char* out = allocate((size_t)bytes * (size_t)size);
  for (int i = 0; i < size; ++i)
    if (i != rank) others[count++] = i;
  require(MPIX_Neon_announce_init(0, (MPI_Aint)bytes * size, count, others, kTag, 0, win,
                                  &buffer) == MPI_SUCCESS,
          "announce_init");
  for (int round = 0; round < kRounds; ++round) {
    doing("round %d of announced buffers, %d bytes from each rank", round, bytes);
    MPI_Start(&buffer);
    for (int i = 0; i < count; ++i) {
      unsigned char* part = out + (size_t)bytes * (size_t)others[i];
      fill(part, (size_t)bytes, key_of(rank, others[i], (uint64_t)round));
      require(MPIX_Neon_put(part, bytes, MPI_BYTE, others[i], kTag, (MPI_Aint)bytes * rank, bytes,
                            MPI_BYTE, MPIX_NEON_FINAL, win, &puts[i]) == MPI_SUCCESS,
              "put");
    }
    MPI_Wait(&buffer, MPI_STATUS_IGNORE);
    MPI_Waitall(count, puts, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i)
      verify(memory + (size_t)bytes * (size_t)others[i], (size_t)bytes,
             key_of(others[i], rank, (uint64_t)round), others[i]);
  }
  doing("notifications alone");
  MPI_Start(&buffer);
  for (int i = 0; i < count; ++i)
    require(MPIX_Neon_notify(others[i], kTag, win) == MPI_SUCCESS, "notify");
  MPI_Wait(&buffer, MPI_STATUS_IGNORE);
  MPI_Request_free(&buffer);
  free(out);
}

// Counter 0 counts puts, and counter 1 gets.
static void notified(int bytes) {
  unsigned char* data = allocate((size_t)bytes);
  doing("put_notify of %d bytes among all ranks", bytes);
  require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2) == MPI_SUCCESS, "set_num_notify");
  for (int i = 1; i < size; ++i) {
    const int to = (rank + i) % size;
    fill(data, (size_t)bytes, key_of(rank, to, 1));
    require(MPIX_Put_notify(data, bytes, MPI_BYTE, to, (MPI_Aint)bytes * rank, bytes, MPI_BYTE, 0,
                            win) == MPI_SUCCESS,
            "put_notify");
  }
  require(MPIX_Win_wait_notify(win, 0, (uint64_t)size - 1) == MPI_SUCCESS, "wait_notify");
  for (int i = 0; i < size; ++i)
    if (i != rank) verify(memory + (size_t)bytes * (size_t)i, (size_t)bytes, key_of(i, rank, 1), i);
  MPI_Barrier(both);
  doing("get_notify of %d bytes among all ranks", bytes);
  for (int i = 1; i < size; ++i) {
    const int from = (rank + i) % size, part = (from + 1) % size;
    require(MPIX_Get_notify(data, bytes, MPI_BYTE, from, (MPI_Aint)bytes * part, bytes, MPI_BYTE, 1,
                            win) == MPI_SUCCESS,
            "get_notify");
    verify(data, (size_t)bytes, key_of(part, from, 1), from);
  }
  require(MPIX_Win_wait_notify(win, 1, (uint64_t)size - 1) == MPI_SUCCESS, "wait_notify");
  free(data);
}

static void windows(int allocated) {
  const int bytes = 100000;  // of each rank: too many for the eager path
  doing("window that is %s", allocated ? "allocated" : "created");
  open_window(allocated, (MPI_Aint)bytes * size);
  const int error = MPIX_Neon_attach(win);
  if (refused) {
    require(error == MPI_ERR_UNSUPPORTED_OPERATION, "attached with %d, not refused", error);
  } else {
    int level = 0;
    require(error == MPI_SUCCESS, "not attached: %d", error);
    MPIX_Neon_query(win, &level);
    require(level >= MPIX_NEON_NATIVE, "served at level %d", level);
    announced(8);
    announced(bytes);
    notified(8);
    notified(bytes);
  }
  close_window(allocated);
}

// `inter` leads to the other job.
static void together(MPI_Comm inter, int high) {
  doing("merge");
  MPI_Intercomm_merge(inter, high, &both);
  MPI_Comm_rank(both, &rank);
  MPI_Comm_size(both, &size);
  require(size <= kMost, "%d ranks are more than %d", size, kMost);
  windows(1);
  windows(0);
  doing("disconnect");
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&inter);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  refused = has_option(argc, argv, "--refused");
  return run_with_children(argc, argv, together);
}
