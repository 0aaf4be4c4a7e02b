// Corner cases of MPI: errors that are reported late hold up no rank, and places beyond 64 bits are outside the
// window. Empty parts of shared memory have no address, and a flush with MPI_PROC_NULL has no target.
#include "check.h"

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

static void expect(const char* what, int code, int class) {
  require(class_of(code) == class, "%s: error class %d, not %d", what, class_of(code), class);
}

// A dynamic window in a fence epoch that has not ended. Rank 0 has put to memory that is not attached at rank 1,
// and has received the error.
static MPI_Win with_error(void) {
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  const int64_t value = 1;
  if (me == 0)
    expect("put to nothing", MPI_Put(&value, 1, MPI_INT64_T, 1, 4096, 1, MPI_INT64_T, win), 0);
  // Ranks that find all others in the barrier still serve the put and receive its error.
  const struct timespec moment = {0, 50000000};
  for (int i = 0; i < 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    nanosleep(&moment, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return win;
}

static void late_errors(void) {
  doing("fences, one of which tells an error");
  MPI_Win win = with_error();
  int told = 0;
  for (int i = 0; i < 20; ++i) {
    const int code = MPI_Win_fence(0, win);
    if (code == MPI_SUCCESS) continue;
    expect("fence", code, MPI_ERR_RMA_RANGE);
    ++told;
  }
  require(told == (me == 0), "told %d times", told);
  MPI_Win_free(&win);

  doing("MPI_Win_free that tells an error");
  win = with_error();
  const int code = MPI_Win_free(&win);
  require(code == MPI_SUCCESS || (me == 0 && class_of(code) == MPI_ERR_RMA_RANGE),
          "free: error class %d", class_of(code));
}

static void places(void) {
  doing("places beyond 64 bits");
  int32_t memory[16] = {0}, value[2] = {7, 7}, result = 0;
  MPI_Win win;
  MPI_Request request;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Datatype apart;
  MPI_Type_vector(2, 1, 2, MPI_INT32_T, &apart);
  MPI_Type_commit(&apart);
  MPI_Win_lock_all(0, win);
  for (int target = 0; target < 2; ++target)
    for (int shift = 61; shift <= 62; ++shift) {
      const MPI_Aint far = (MPI_Aint)(UINT64_C(1) << shift);
      const int range = MPI_ERR_RMA_RANGE;
      expect("put", MPI_Put(value, 1, MPI_INT32_T, target, far, 1, MPI_INT32_T, win), range);
      expect("vector", MPI_Put(value, 2, MPI_INT32_T, target, far, 1, apart, win), range);
      expect("get", MPI_Get(&result, 1, MPI_INT32_T, target, far, 1, MPI_INT32_T, win), range);
      expect("rput", MPI_Rput(value, 1, MPI_INT32_T, target, far, 1, MPI_INT32_T, win, &request),
             range);
      expect("accumulate",
             MPI_Accumulate(value, 1, MPI_INT32_T, target, far, 1, MPI_INT32_T, MPI_SUM, win),
             range);
      expect("fetch", MPI_Fetch_and_op(value, &result, MPI_INT32_T, target, far, MPI_SUM, win),
             range);
      expect("swap", MPI_Compare_and_swap(value, memory, &result, MPI_INT32_T, target, far, win),
             range);
    }
  doing("flush of nobody");
  expect("flush of PROC_NULL", MPI_Win_flush(MPI_PROC_NULL, win), MPI_SUCCESS);
  expect("flush_local of PROC_NULL", MPI_Win_flush_local(MPI_PROC_NULL, win), MPI_SUCCESS);
  expect("flush beyond", MPI_Win_flush(ranks, win), MPI_ERR_RANK);
  expect("flush_local beyond", MPI_Win_flush_local(1 << 30, win), MPI_ERR_RANK);
  expect("flush of -7", MPI_Win_flush(-7, win), MPI_ERR_RANK);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Type_free(&apart);
  for (int i = 0; i < 16; ++i) require(memory[i] == 0, "word %d is %d", i, memory[i]);
}

// Only the second rank has memory in it.
static void shared_parts(void) {
  doing("shared memory of which most have none");
  MPI_Comm host;
  MPI_Win win;
  int size = 0, rank = 0, unit = 0;
  int64_t* at = NULL;
  MPI_Aint bytes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_rank(host, &rank);
  for (int owner = -1; owner < 2 && owner < size; ++owner) {
    MPI_Win_allocate_shared(rank == owner ? 64 : 0, 8, MPI_INFO_NULL, host, &at, &win);
    for (int other = 0; other < size; ++other) {
      at = (int64_t*)1;
      MPI_Win_shared_query(win, other, &bytes, &unit, &at);
      require(bytes == (other == owner ? 64 : 0) && (at != NULL) == (other == owner),
              "rank %d of owner %d: %ld bytes at %p", other, owner, (long)bytes, (void*)at);
    }
    int64_t* lowest = (int64_t*)1;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &lowest);
    if (owner >= 0) MPI_Win_shared_query(win, owner, &bytes, &unit, &at);
    require(bytes == (owner >= 0 ? 64 : 0) && lowest == (owner >= 0 ? at : NULL),
            "the lowest of owner %d: %ld bytes at %p", owner, (long)bytes, (void*)lowest);
    MPI_Win_free(&win);
  }
  MPI_Comm_free(&host);
}

// Two regions side by side, and an operation across their border.
static void touching_regions(void) {
  doing("an operation across attached regions");
  int64_t* memory = allocate(64 * sizeof *memory);
  memset(memory, 0, 64 * sizeof *memory);
  MPI_Win win;
  MPI_Aint address = 0;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, memory + 32, 32 * sizeof *memory);
  MPI_Win_attach(win, memory, 32 * sizeof *memory);
  MPI_Get_address(memory + 28, &address);
  MPI_Bcast(&address, 1, MPI_AINT, 1, MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (me == 0) {
    const int64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t back[8] = {0};
    MPI_Put(values, 8, MPI_INT64_T, 1, address, 8, MPI_INT64_T, win);
    MPI_Win_flush(1, win);
    MPI_Get(back, 8, MPI_INT64_T, 1, address, 8, MPI_INT64_T, win);
    MPI_Win_flush(1, win);
    require(memcmp(values, back, sizeof back) == 0, "what was put is not what was got");
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory);
  MPI_Win_detach(win, memory + 32);
  MPI_Win_free(&win);
  free(memory);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  places();
  shared_parts();
  touching_regions();
  late_errors();
  return check_end();
}
