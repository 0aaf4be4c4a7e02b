// One of two processes is killed (kill -9) while the other one uses partitioned communication with it. All requests of
// the survivor end with an error that names the loss: the one that is active, one that was made before and is started
// now, and new ones in both directions. Open MPI must let the survivor continue: mpirun --with-ft ulfm.
//
//   partitioned_killed --victim 0 --bytes 64             # 0: the sender, 1: the receiver
//   partitioned_killed --victim 0 --rounds 0 --test      # before it has made a request; MPI_Test instead of MPI_Wait
//
// The survivor prints `ok` and ends without MPI_Finalize, as a part of its world is missing.
#include "check.h"

enum { kPartitions = 16 };

static unsigned char* memory;
static size_t each;
static bool tests;

static MPI_Request make(bool sends) {
  MPI_Request request;
  if (sends)
    MPI_Psend_init(memory, kPartitions, (MPI_Count)each, MPI_BYTE, 1 - me, 5, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(memory, kPartitions, (MPI_Count)each, MPI_BYTE, 1 - me, 5, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
  return request;
}

static void make_ready(MPI_Request request, int first, int end) {
  for (int i = first; i < end; ++i) MPI_Pready(i, request);
}

// Returns the result of the call that ends the epoch.
static int await(MPI_Request* request) {
  int done = 0;
  int result = MPI_SUCCESS;
  if (!tests) return MPI_Wait(request, MPI_STATUS_IGNORE);
  while (!done && result == MPI_SUCCESS) result = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return result;
}

// Open MPI frees a request that has failed.
static void require_loss(int result, const char* of, const MPI_Request* request) {
  int class = MPI_SUCCESS;
  MPI_Error_class(result, &class);
  require(class == MPI_ERR_PROC_FAILED, "%s: error class %d, not %d", of, class,
          MPI_ERR_PROC_FAILED);
  require(*request == MPI_REQUEST_NULL, "%s: the request still exists", of);
}

// Starts the request, and awaits its failure. A send may be some epochs ahead of its receive, which ends no more.
static void require_failure(MPI_Request* request, bool sends, const char* of) {
  int result = MPI_SUCCESS;
  for (int epoch = 0; result == MPI_SUCCESS; ++epoch) {
    doing("%s: epoch %d", of, epoch);
    MPI_Start(request);
    if (sends) make_ready(*request, 0, kPartitions);
    result = await(request);
    require(sends || result != MPI_SUCCESS, "%s: the receive has ended", of);
  }
  require_loss(result, of, request);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int victim = (int)option(argc, argv, "--victim", 0);
  const int rounds = (int)option(argc, argv, "--rounds", 20);
  const bool sends = me == 0;
  each = (size_t)option(argc, argv, "--bytes", 64);
  tests = has_option(argc, argv, "--test");
  require(ranks == 2, "two ranks are needed");
  memory = allocate(kPartitions * each);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rounds == 0 && me == victim) (void)raise(SIGKILL);
  MPI_Request active = make(sends);
  MPI_Request later = make(sends);
  for (int round = 0; round < rounds; ++round) {
    doing("round %d", round);
    MPI_Start(&active);
    if (sends) make_ready(active, 0, kPartitions);
    require(await(&active) == MPI_SUCCESS, "round %d has failed", round);
  }
  doing("the epoch in which rank %d is killed", victim);
  MPI_Start(&active);
  if (sends) make_ready(active, 0, kPartitions / 2);
  if (me == victim) (void)raise(SIGKILL);
  if (sends) make_ready(active, kPartitions / 2, kPartitions);
  const int result = await(&active);
  require(sends || result != MPI_SUCCESS, "the epoch has ended without its last partitions");
  if (result == MPI_SUCCESS)
    require_failure(&active, sends, "the active request");
  else
    require_loss(result, "the active request", &active);
  require_failure(&later, sends, "a request that was made before");
  MPI_Request fresh = make(true);
  require_failure(&fresh, true, "a new send");
  fresh = make(false);
  require_failure(&fresh, false, "a new receive");
  printf("ok\n");
  fflush(stdout);
  _exit(0);
}
