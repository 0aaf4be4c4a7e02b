// Messages with a rank that is killed, and on a communicator that is revoked: each receive that cannot end must fail
// with the right class of error, and the ranks that are left go on.
//
//   ulfm_messages                       # three ranks or more; mpirun --with-ft ulfm
#include "survivors.h"

// All but the highest rank wait for it. It revokes the communicator, or it ends.
static void require_receive_fails(MPI_Comm comm, int source, bool ends) {
  int got = 0;
  const char* const what = ends ? "receive from a rank that ends" : "receive that is revoked";
  doing("%s", what);
  if (me == ranks - 1) {
    pause_seconds(0.02);
    if (ends) (void)raise(SIGKILL);
    MPIX_Comm_revoke(comm);
    return;
  }
  const int class = ends ? MPI_ERR_PROC_FAILED : MPI_ERR_REVOKED;
  const int result = MPI_Recv(&got, 1, MPI_INT, source, 5, comm, MPI_STATUS_IGNORE);
  require_failed(result, class, what);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 3, "three ranks are needed");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  use(comm);
  require_receive_fails(comm, MPI_ANY_SOURCE, false);
  comm = shrink(comm);
  use(comm);
  require_receive_fails(comm, ranks - 1, true);
  MPI_Comm rest = shrink(comm);
  use(rest);
  end_of_survivors(rest);
  return 1;
}
