// Epochs, one after the other and as MPI allows them. Calls that must not block do not block, and errors are
// reported as MPI requires, to the window's error handler.
#include "check.h"

enum { kWords = 64 };

static MPI_Win win;
static int64_t* memory;

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

static void expect_error(const char* what, int code, int class) {
  char text[MPI_MAX_ERROR_STRING] = "no error";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  require(class_of(code) == class, "%s: %s, not error class %d", what, text, class);
}

static void put_word(int target, MPI_Aint at, int64_t value) {
  static int64_t kept[1024];
  static int next;
  int64_t* slot = &kept[next++ % 1024];  // unchanged until the epoch ends
  *slot = value;
  const int code = MPI_Put(slot, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, win);
  require(code == MPI_SUCCESS, "put at %d: error class %d", target, class_of(code));
}

static MPI_Group group_of(int rank) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &rank, &group);
  MPI_Group_free(&world);
  return group;
}

// Rank 0 starts, puts and notifies rank 1, which posts only then: start and put must not wait for the post.
static void early_start(void) {
  int token = 0;
  if (me > 1) return;
  MPI_Group other = group_of(1 - me);
  for (int round = 0; round < 20; ++round) {
    doing("early start, round %d", round);
    if (me == 0) {
      MPI_Win_start(other, 0, win);
      for (int i = 0; i < 10; ++i) put_word(1, i, round * 100 + i);
      MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
      MPI_Win_complete(win);
    } else {
      MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < 10; ++i) memory[i] = -1;
      MPI_Win_post(other, 0, win);
      MPI_Win_wait(win);
      for (int i = 0; i < 10; ++i)
        require(memory[i] == round * 100 + i, "early start, round %d: word %d is %lld", round, i,
                (long long)memory[i]);
    }
  }
  // complete() without an operation waits for no rank.
  doing("complete without operations");
  if (me == 0) {
    MPI_Win_start(other, 0, win);
    MPI_Win_complete(win);
    MPI_Send(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  }
  // Both without a check.
  doing("post and start with nocheck");
  if (me == 1) {
    MPI_Win_post(other, MPI_MODE_NOCHECK, win);
    MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Win_wait(win);
    require(memory[5] == 77, "nocheck: word 5 is %lld", (long long)memory[5]);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_start(other, MPI_MODE_NOCHECK, win);
    put_word(1, 5, 77);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&other);
}

// All kinds in sequence on one window, all asserts that apply.
static void sequence(void) {
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  MPI_Group to = group_of(right), from = group_of(left);
  for (int round = 0; round < 10; ++round) {
    doing("sequence, round %d", round);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    put_word(right, 0, me + round);
    MPI_Win_fence(MPI_MODE_NOSTORE, win);
    put_word(right, 1, me + round + 1);
    MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, win);
    require(memory[0] == left + round && memory[1] == left + round + 1, "fence: %lld %lld",
            (long long)memory[0], (long long)memory[1]);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    put_word(right, 2, me * 10);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    require(memory[2] == left * 10, "post/start: %lld", (long long)memory[2]);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    put_word(right, 3, me * 100 + round);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, MPI_MODE_NOCHECK, win);
    require(memory[3] == left * 100 + round, "lock: %lld", (long long)memory[3]);
    MPI_Win_unlock(me, win);
    MPI_Win_lock_all(round % 2 ? MPI_MODE_NOCHECK : 0, win);
    put_word(right, 4, me * 1000 + round);
    MPI_Win_flush_local(right, win);
    MPI_Win_flush_local_all(win);
    MPI_Win_flush_all(win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    require(memory[4] == left * 1000 + round, "lock_all: %lld", (long long)memory[4]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

static int handled;
static void handler(MPI_Win* which, int* code, ...) {
  require(*which == win, "the error handler got another window");
  handled = *code;
}

static void errors(void) {
  int64_t value = 0;
  int flag = 0;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  doing("errors");
  expect_error("put without an epoch", MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win),
               MPI_ERR_RMA_SYNC);
  expect_error("fetch_and_op without an epoch",
               MPI_Fetch_and_op(&value, &value, MPI_INT64_T, 0, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
  expect_error("unlock without a lock", MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  expect_error("unlock_all without a lock", MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  expect_error("flush without a lock", MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  expect_error("flush_all without a lock", MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
  expect_error("complete without start", MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  expect_error("wait without post", MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  expect_error("test without post", MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  expect_error("second lock", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  expect_error("lock_all under a lock", MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  expect_error("put beyond the end",
               MPI_Put(&value, 1, MPI_INT64_T, 0, kWords, 1, MPI_INT64_T, win), MPI_ERR_RMA_RANGE);
  expect_error("get beyond the end",
               MPI_Get(&value, 1, MPI_INT64_T, 0, 1 << 20, 1, MPI_INT64_T, win), MPI_ERR_RMA_RANGE);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  expect_error("lock under lock_all", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  MPI_Win_unlock_all(win);
  expect_error("negative displacement", MPI_Put(&value, 1, MPI_INT64_T, 0, -1, 1, MPI_INT64_T, win),
               MPI_ERR_DISP);
  // A user's operation is refused.
  expect_error("no such rank", MPI_Put(&value, 1, MPI_INT64_T, ranks, 0, 1, MPI_INT64_T, win),
               MPI_ERR_RANK);

  MPI_Errhandler own;
  MPI_Win_create_errhandler(handler, &own);
  MPI_Win_set_errhandler(win, own);
  handled = MPI_SUCCESS;
  (void)MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
  expect_error("the error handler", handled, MPI_ERR_RMA_SYNC);
  MPI_Errhandler_free(&own);
  MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
}

// PROC_NULL, different units and sizes, nothing at all; attributes; info.
static void odd_windows(void) {
  MPI_Win odd;
  int64_t* base = NULL;
  const int unit = me % 2 ? 8 : 1;
  const MPI_Aint bytes = me % 2 ? 256 : 0;
  doing("windows of different sizes");
  MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &odd);
  void* attribute = NULL;
  int found = 0;
  MPI_Win_get_attr(odd, MPI_WIN_SIZE, &attribute, &found);
  require(found && *(MPI_Aint*)attribute == bytes, "MPI_WIN_SIZE");
  MPI_Win_get_attr(odd, MPI_WIN_MODEL, &attribute, &found);
  require(found && *(int*)attribute == MPI_WIN_UNIFIED, "MPI_WIN_MODEL");
  MPI_Win_get_attr(odd, MPI_WIN_DISP_UNIT, &attribute, &found);
  require(found && *(int*)attribute == unit, "MPI_WIN_DISP_UNIT");
  if (bytes != 0) memset(base, 0, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_fence(0, odd);
  const int64_t value = 1000 + me;
  MPI_Put(&value, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, odd);
  for (int target = 0; target < ranks; ++target) {
    MPI_Put(NULL, 0, MPI_INT64_T, target, 0, 0, MPI_INT64_T, odd);
    if (target % 2) MPI_Put(&value, 1, MPI_INT64_T, target, me, 1, MPI_INT64_T, odd);
  }
  MPI_Win_fence(0, odd);
  for (int origin = 0; me % 2 && origin < ranks; ++origin)
    require(base[origin] == 1000 + origin, "unit 8: word %d is %lld", origin,
            (long long)base[origin]);
  MPI_Win_free(&odd);

  doing("no_locks");
  MPI_Info info, shown;
  char text[16] = "";
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Info_set(info, "accumulate_ordering", "none");
  MPI_Info_set(info, "accumulate_ops", "same_op");
  MPI_Info_set(info, "same_disp_unit", "true");
  MPI_Win_allocate(64, 8, info, MPI_COMM_WORLD, &base, &odd);
  MPI_Win_set_errhandler(odd, MPI_ERRORS_RETURN);
  MPI_Win_get_info(odd, &shown);
  MPI_Info_get(shown, "no_locks", sizeof text - 1, text, &found);
  require(found && strcmp(text, "true") == 0, "no_locks is '%s' in the window's info",
          found ? text : "not");
  MPI_Info_free(&shown);
  MPI_Info_free(&info);
  // The lock is served, with one warning.
  expect_error("lock with no_locks", MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, odd), MPI_SUCCESS);
  int64_t there = -1;
  base[0] = 70 + me;
  MPI_Win_sync(odd);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&there, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, odd);
  expect_error("unlock with no_locks", MPI_Win_unlock(0, odd), MPI_SUCCESS);
  require(there == 70, "under a lock with no_locks: %lld", (long long)there);
  expect_error("lock_all with no_locks", MPI_Win_lock_all(0, odd), MPI_SUCCESS);
  expect_error("unlock_all with no_locks", MPI_Win_unlock_all(odd), MPI_SUCCESS);
  MPI_Win_free(&odd);

  doing("windows on parts of the processes");
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  int size = 0, rank = 0;
  MPI_Comm_size(half, &size);
  MPI_Comm_rank(half, &rank);
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, half, &base, &odd);
  MPI_Comm_free(&half);
  MPI_Win_fence(0, odd);
  const int64_t own = me;
  MPI_Put(&own, 1, MPI_INT64_T, (rank + 1) % size, 0, 1, MPI_INT64_T, odd);
  MPI_Win_fence(0, odd);
  require(base[0] % 2 == me % 2, "a put came from the other half");
  MPI_Win_free(&odd);
}

static void dynamic_windows(void) {
  MPI_Win dynamic;
  MPI_Aint places[2], theirs[2];
  int64_t *first = allocate(8000), *second = allocate(800);
  int64_t value = 4711 + me, back[2] = {0, 0};
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  doing("dynamic window");
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  MPI_Win_attach(dynamic, first, 8000);
  MPI_Win_attach(dynamic, second, 800);
  MPI_Get_address(first, &places[0]);
  MPI_Get_address(second, &places[1]);
  MPI_Sendrecv(places, 2, MPI_AINT, left, 0, theirs, 2, MPI_AINT, right, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  // One operation on two attached pieces.
  MPI_Datatype both;
  const int lengths[2] = {1, 1};
  MPI_Type_create_hindexed(2, lengths, theirs, MPI_INT64_T, &both);
  MPI_Type_commit(&both);
  const int64_t two[2] = {value, value + 1};
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, dynamic);
  MPI_Put(two, 2, MPI_INT64_T, right, 0, 1, both, dynamic);
  MPI_Win_flush(right, dynamic);
  MPI_Get(back, 2, MPI_INT64_T, right, 0, 1, both, dynamic);
  MPI_Win_unlock(right, dynamic);
  require(back[0] == value && back[1] == value + 1, "two pieces: %lld %lld", (long long)back[0],
          (long long)back[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  require(*first == 4711 + left && *second == 4712 + left, "two pieces: %lld %lld came",
          (long long)*first, (long long)*second);
  MPI_Type_free(&both);
  // A put to detached memory is refused: the target reports it, at the latest when the epoch ends.
  MPI_Win_detach(dynamic, second);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, dynamic);
  int code = MPI_Put(&value, 1, MPI_INT64_T, right, theirs[1], 1, MPI_INT64_T, dynamic);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(right, dynamic);
  expect_error("put into detached memory", code, MPI_ERR_RMA_RANGE);
  code = MPI_Get(&value, 1, MPI_INT64_T, right, theirs[1], 1, MPI_INT64_T, dynamic);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(right, dynamic);
  expect_error("get from detached memory", code, MPI_ERR_RMA_RANGE);
  MPI_Win_unlock(right, dynamic);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(dynamic, first);
  MPI_Win_free(&dynamic);
  free(first), free(second);
}

static void shared_windows(void) {
  MPI_Comm host;
  MPI_Win shared;
  int size = 0, rank = 0, unit = 0;
  doing("shared window");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_rank(host, &rank);
  for (int apart = 0; apart < 2; ++apart) {
    int64_t *own = NULL, *at = NULL;
    MPI_Aint bytes = 0;
    MPI_Info info;
    MPI_Info_create(&info);
    if (apart) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared(rank == 0 && size > 1 ? 0 : 24, 8, info, host, &own, &shared);
    MPI_Info_free(&info);
    MPI_Win_lock_all(0, shared);
    if (size == 1 || rank != 0)
      for (int i = 0; i < 3; ++i) own[i] = rank * 10 + i;
    MPI_Win_sync(shared);
    MPI_Barrier(host);
    MPI_Win_sync(shared);
    int64_t* expected_next = NULL;
    for (int other = size > 1; other < size; ++other) {
      MPI_Win_shared_query(shared, other, &bytes, &unit, &at);
      require(bytes == 24 && unit == 8 && at[2] == other * 10 + 2, "shared_query of %d", other);
      require(apart || expected_next == NULL || at == expected_next,
              "the parts are not contiguous");
      expected_next = at + 3;
    }
    MPI_Win_shared_query(shared, MPI_PROC_NULL, &bytes, &unit, &at);
    require(bytes == 24 && at[0] == (size > 1 ? 10 : 0), "shared_query of PROC_NULL");
    MPI_Win_unlock_all(shared);
    MPI_Win_free(&shared);
  }
  int64_t* at = NULL;
  MPI_Aint bytes = 0;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  expect_error("shared_query of a created window", MPI_Win_shared_query(win, 0, &bytes, &unit, &at),
               MPI_ERR_RMA_FLAVOR);
  expect_error("attach to a created window", MPI_Win_attach(win, memory, 8), MPI_ERR_RMA_FLAVOR);
  MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
  // Across hosts there is no shared memory.
  int all = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (size < all) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_error("shared window across hosts",
                 MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &shared),
                 MPI_ERR_RMA_SHARED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  MPI_Comm_free(&host);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  for (int flavor = 0; flavor < 2; ++flavor) {
    const MPI_Aint bytes = kWords * sizeof *memory;
    if (flavor == 0) {
      memory = allocate((size_t)bytes);
      MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
      MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    memset(memory, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    early_start();
    MPI_Barrier(MPI_COMM_WORLD);
    sequence();
    errors();
    MPI_Barrier(MPI_COMM_WORLD);
    if (flavor == 0) shared_windows();
    MPI_Win_free(&win);
    if (flavor == 0) free(memory);
  }
  odd_windows();
  dynamic_windows();
  return check_end();
}
