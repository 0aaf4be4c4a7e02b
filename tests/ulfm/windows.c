// Windows that lose a member: one rank after the other is killed, and the calls of the others must fail with the right
// class of error. The ranks that are left free the window and go on with one of their own.
//
//   ulfm_windows                        # four ranks; mpirun --with-ft ulfm
#include "survivors.h"

static MPI_Comm comm;  // of the ranks that are left
static int rank, size;
static MPI_Win win;
static int* base;

static bool is_victim(void) { return rank == size - 1; }

static void make_window(void) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  doing("window of %d ranks", size);
  require(MPI_Win_allocate((MPI_Aint)sizeof(int) * size, sizeof(int), MPI_INFO_NULL, comm, &base,
                           &win) == MPI_SUCCESS,
          "no window of %d ranks", size);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void go_on(void) {
  doing("free a window of %d ranks", size);
  (void)MPI_Win_free(&win);
  comm = shrink(comm);
  use(comm);
  make_window();
}

// Each rank puts its number to the next one, until a fence fails.
static void lose_in_fence(void) {
  int result = MPI_SUCCESS;
  for (int round = 0; result == MPI_SUCCESS; ++round) {
    doing("fence %d", round);
    if (is_victim() && round == 30) (void)raise(SIGKILL);
    result = MPI_Win_fence(0, win);
    if (!has_failed(result, MPI_ERR_PROC_FAILED, "fence") && round < 30)
      MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, rank, 1, MPI_INT, win);
  }
}

// The others wait for a lock that the victim has.
static void lose_with_lock(void) {
  doing("lock of the victim");
  if (is_victim()) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
  }
  MPI_Barrier(comm);
  if (is_victim()) (void)raise(SIGKILL);
  doing("lock that the victim has");
  int result = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);  // it need not wait yet
  if (result == MPI_SUCCESS) MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
  if (result == MPI_SUCCESS) result = MPI_Win_unlock(0, win);
  require_failed(result, MPI_ERR_PROC_FAILED, "lock");
}

static void lose_in_exposure(void) {
  MPI_Group all, others;
  const int victim = size - 1;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &victim, &others);
  if (is_victim()) {
    pause_seconds(0.05);
    (void)raise(SIGKILL);
  }
  doing("exposure to the victim");
  int result = MPI_Win_post(others, 0, win);
  if (result == MPI_SUCCESS) result = MPI_Win_wait(win);
  require_failed(result, MPI_ERR_PROC_FAILED, "exposure");
  MPI_Group_free(&others);
  MPI_Group_free(&all);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks == 4, "four ranks are needed");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  make_window();
  lose_in_fence();
  go_on();
  lose_with_lock();
  go_on();
  lose_in_exposure();
  (void)MPI_Win_free(&win);
  end_of_survivors(shrink(comm));
  return 1;
}
