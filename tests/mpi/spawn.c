// Dynamic processes: spawn children, exchange messages with them over the intercommunicator and merged. Then two
// halves of the children's world meet through a port. Skipped, with the reason, if Open MPI itself does not manage
// to spawn. (Open MPI's vader reaches no process of another job: it needs tcp beside it.)
#include "check.h"

enum { kChildren = 2, kLargest = 100000 };

// All ranks of an intracommunicator send to all, two sizes.
static void all_pairs(MPI_Comm comm, uint64_t number) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned char* out = allocate(kLargest);
  unsigned char* in = allocate(kLargest);
  for (int distance = 0; distance < size; ++distance) {
    const int to = (rank + distance) % size, from = (rank - distance + size) % size;
    for (int i = 0; i < 2; ++i) {
      const size_t bytes = i == 0 ? 300 : kLargest;
      doing("all pairs: %zu bytes to %d, from %d of %d", bytes, to, from, size);
      fill(out, bytes, key_of(rank, to, number + (uint64_t)i));
      MPI_Sendrecv(out, (int)bytes, MPI_BYTE, to, 1, in, (int)bytes, MPI_BYTE, from, 1, comm,
                   MPI_STATUS_IGNORE);
      verify(in, bytes, key_of(from, rank, number + (uint64_t)i), from);
    }
  }
  free(in);
  free(out);
}

static void with_the_others(MPI_Comm inter, bool high) {
  int others;
  MPI_Comm_remote_size(inter, &others);
  int rank;
  MPI_Comm_rank(inter, &rank);
  for (int i = 0; i < others; ++i) {
    int64_t mine = (int64_t)rank * 1000 + i, theirs = -1;
    doing("exchange with %d on the other side", i);
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, i, 2, &theirs, 1, MPI_INT64_T, i, 2, inter,
                 MPI_STATUS_IGNORE);
    require(theirs == (int64_t)i * 1000 + rank, "other side's %d: got %lld", i, (long long)theirs);
  }
  MPI_Comm merged;
  doing("merge");
  MPI_Intercomm_merge(inter, high, &merged);
  all_pairs(merged, 10);
  doing("free the merged communicator");
  MPI_Comm_free(&merged);
}

// The lower half accepts, and the upper half connects; both have communicated before, but now use a new
// communicator.
static void meet_through_a_port(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, inter;
  const int upper = me >= ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, me, &half);
  if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
  doing("port name");
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  doing(upper ? "connect" : "accept");
  if (upper)
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
  else
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
  if (me == 0) MPI_Close_port(port);
  with_the_others(inter, upper);
  doing("disconnect after connect");
  MPI_Comm_disconnect(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    with_the_others(parent, true);
    doing("child: disconnect");
    MPI_Comm_disconnect(&parent);
    doing("child: MPI_Finalize");
    MPI_Finalize();
    return 0;
  }
  require(ranks >= 2, "needs 2 ranks");
  MPI_Comm children;
  char** no_arguments = MPI_ARGV_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  doing("spawn");
  const int error = MPI_Comm_spawn(argv[0], no_arguments, kChildren, MPI_INFO_NULL, 0,
                                   MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (error != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    if (me == 0) printf("skipped: MPI_Comm_spawn says %s\n", text);
    return check_end();
  }
  with_the_others(children, false);
  doing("parent: disconnect");
  MPI_Comm_disconnect(&children);
  meet_through_a_port();
  return check_end();
}
