// Processes that come later: spawned ones, and two halves of the job that meet by MPI_Open_port, MPI_Comm_accept and
// MPI_Comm_connect. Messages of all sizes go both ways, and collectives over both sides; then both disconnect, twice
// over.
#include "check.h"

enum { kRounds = 2, kChildren = 2 };
static const size_t sizes[] = {0, 8, 5000, 200000, 3000000};

// Each local rank with each remote one: all sizes, both ways.
static void exchange(MPI_Comm inter, int mine, const char* what) {
  int others = 0;
  MPI_Comm_remote_size(inter, &others);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
    unsigned char* out = allocate(sizes[s]);
    unsigned char* in = allocate(sizes[s]);
    for (int other = 0; other < others; ++other) {
      doing("%s: %zu bytes with remote rank %d", what, sizes[s], other);
      MPI_Request request;
      fill(out, sizes[s], key_of(mine, other, s));
      MPI_Irecv(in, (int)sizes[s], MPI_BYTE, other, 1, inter, &request);
      MPI_Send(out, (int)sizes[s], MPI_BYTE, other, 1, inter);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      verify(in, sizes[s], key_of(other, mine, s), other);
    }
    free(out);
    free(in);
  }
}

// Over both sides as one communicator.
static void together(MPI_Comm inter, int high, const char* what) {
  MPI_Comm both;
  doing("%s: merge", what);
  MPI_Intercomm_merge(inter, high, &both);
  int mine, all, sum = 0;
  MPI_Comm_rank(both, &mine);
  MPI_Comm_size(both, &all);
  doing("%s: allreduce of %d ranks", what, all);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both);
  require(sum == all * (all - 1) / 2, "%s: the ranks' sum is %d", what, sum);
  double values[2000];
  for (int i = 0; i < 2000; ++i) values[i] = mine == all - 1 ? i : -1;
  doing("%s: broadcast", what);
  MPI_Bcast(values, 2000, MPI_DOUBLE, all - 1, both);
  for (int i = 0; i < 2000; ++i) require(values[i] == i, "%s: value %d is %g", what, i, values[i]);
  doing("%s: free", what);
  MPI_Comm_free(&both);
}

static void meet(MPI_Comm* inter, int mine, int high, const char* what) {
  exchange(*inter, mine, what);
  together(*inter, high, what);
  doing("%s: disconnect", what);
  MPI_Comm_disconnect(inter);
  require(*inter == MPI_COMM_NULL, "%s: the communicator is still there", what);
}

static void spawn(char* program) {
  char* arguments[] = {(char[]){"--child"}, NULL};
  MPI_Comm children;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "map_by", "slot:OVERSUBSCRIBE");
  doing("spawn");
  MPI_Comm_spawn(program, arguments, kChildren, info, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  meet(&children, me, 0, "with spawned processes");
}

// The upper half of the job connects to the lower one.
static void halves(int round) {
  char port[MPI_MAX_PORT_NAME] = "";
  const int upper = me >= ranks / 2;
  MPI_Comm half, other;
  int mine;
  MPI_Comm_split(MPI_COMM_WORLD, upper, me, &half);
  MPI_Comm_rank(half, &mine);
  if (me == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, sizeof port, MPI_CHAR, ranks / 2, round, MPI_COMM_WORLD);
  } else if (me == ranks / 2) {
    MPI_Recv(port, sizeof port, MPI_CHAR, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  doing(upper ? "connect" : "accept");
  if (upper) {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
  } else {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
  }
  meet(&other, mine, upper, "between halves");
  if (me == 0) MPI_Close_port(port);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    meet(&parent, me, 1, "with the parents");
    doing("MPI_Finalize of a child");
    MPI_Finalize();
    return 0;
  }
  for (int round = 0; round < kRounds; ++round) {
    if (!has_option(argc, argv, "--halves")) spawn(argv[0]);
    if (ranks >= 2) halves(round);
  }
  return check_end();
}
