// Ranks that call a collective with different counts: each rank that reads gets MPI_ERR_TRUNCATE, and no rank waits
// for ever. Nothing is written behind a buffer, and the next call ends alike on all ranks.
#include "check.h"

enum { kGuard = 64 };
typedef enum {
  BCAST,
  REDUCE,
  ALLREDUCE,
  ONE_NODE,
  GATHER = ONE_NODE,
  IGATHER,
  SCATTER,
  ISCATTER,
  ALLGATHER,
  IALLGATHER,
  ALLGATHERV,
  SCAN,
  EXSCAN,
  OWN_GATHER,
  OWN_SCATTER,
  OWN_ALLGATHER,
  KINDS
} kind;
static const char* const names[] = {"bcast",
                                    "reduce",
                                    "allreduce",
                                    "gather",
                                    "igather",
                                    "scatter",
                                    "iscatter",
                                    "allgather",
                                    "iallgather",
                                    "allgatherv",
                                    "scan",
                                    "exscan",
                                    "own block of gather",
                                    "own block of scatter",
                                    "own block of allgather"};

static bool several_nodes;

static int finish(int error, MPI_Request* request) {
  return error != MPI_SUCCESS ? error : MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* `block`: this rank's count; `own`: the count of its own block in the other buffer. */
static int call(kind what, unsigned char* in, unsigned char* out, int block, int own,
                MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int counts[64], places[64];
  for (int i = 0; i < ranks && i < 64; ++i) {
    counts[i] = block;
    places[i] = i * block;
  }
  switch (what) {
    case BCAST: return MPI_Bcast(out, block, MPI_BYTE, 0, comm);
    case REDUCE: return MPI_Reduce(in, out, block, MPI_BYTE, MPI_BOR, 0, comm);
    case ALLREDUCE: return MPI_Allreduce(in, out, block, MPI_BYTE, MPI_BOR, comm);
    case GATHER:
    case OWN_GATHER:
      return MPI_Gather(in, me == 0 ? own : block, MPI_BYTE, out, block, MPI_BYTE, 0, comm);
    case IGATHER:
      return finish(MPI_Igather(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm, &request),
                    &request);
    case SCATTER:
    case OWN_SCATTER:
      return MPI_Scatter(in, block, MPI_BYTE, out, me == 0 ? own : block, MPI_BYTE, 0, comm);
    case ISCATTER:
      return finish(MPI_Iscatter(in, block, MPI_BYTE, out, block, MPI_BYTE, 0, comm, &request),
                    &request);
    case ALLGATHER:
    case OWN_ALLGATHER: return MPI_Allgather(in, own, MPI_BYTE, out, block, MPI_BYTE, comm);
    case IALLGATHER:
      return finish(MPI_Iallgather(in, block, MPI_BYTE, out, block, MPI_BYTE, comm, &request),
                    &request);
    case SCAN: return MPI_Scan(in, out, block, MPI_BYTE, MPI_BOR, comm);
    case EXSCAN: return MPI_Exscan(in, out, block, MPI_BYTE, MPI_BOR, comm);
    default: return MPI_Allgatherv(in, block, MPI_BYTE, out, counts, places, MPI_BYTE, comm);
  }
}

static bool sees(kind what) {
  switch (what) {
    case BCAST:
    case SCATTER:
    case ISCATTER: return me == 1;
    case REDUCE:
    case GATHER:
    case IGATHER:
    case OWN_GATHER:
    case OWN_SCATTER: return me == 0;
    case SCAN:
    case EXSCAN: return me > 0;
    default: return true;
  }
}

static void one(kind what, int usual, int odd) {
  const bool own_differs = what >= OWN_GATHER;
  const int block = me == 1 && !own_differs ? odd : usual;
  const int own = me == (what == OWN_ALLGATHER ? 1 : 0) && own_differs ? odd : block;
  const size_t most = (size_t)(usual > odd ? usual : odd) * (size_t)ranks;
  const bool blocks = what >= ONE_NODE && what != SCAN && what != EXSCAN;
  size_t room = (size_t)block * (size_t)(blocks ? ranks : 1);
  if (what == SCATTER || what == ISCATTER || what == OWN_SCATTER) room = (size_t)own;
  unsigned char* in = allocate(most);
  unsigned char* out = allocate(room + kGuard);
  memset(in, me + 1, most);
  memset(out, 0xa5, room + kGuard);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);

  doing("%s: %d bytes, at rank %d %d", names[what], usual,
        own_differs && what != OWN_ALLGATHER ? 0 : 1, odd);
  const int error = call(what, in, out, block, own, comm);
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  if (sees(what) && !several_nodes)
    require(class == MPI_ERR_TRUNCATE, "%s of %d and %d bytes: error class %d, not %d", names[what],
            usual, odd, class, MPI_ERR_TRUNCATE);
  for (size_t i = room; i < room + kGuard; ++i)
    require(out[i] == 0xa5, "%s of %d and %d bytes: byte %zu written", names[what], usual, odd, i);

  doing("the barrier after %s: %d bytes and %d", names[what], usual, odd);
  int wrong = MPI_Barrier(comm) != MPI_SUCCESS, all = 0;
  doing("what the others have after %s", names[what]);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  require(all == 0 || all == ranks,
          "%s of %d and %d bytes: the barrier after it failed at %d of %d ranks", names[what],
          usual, odd, all, ranks);
  require(!several_nodes || all == ranks, "%s of %d and %d bytes: nobody has noticed", names[what],
          usual, odd);
  MPI_Comm_free(&comm);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2 && ranks <= 64, "needs 2 to 64 ranks");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                          MPI_ERRORS_RETURN);  // of the requests of any communicator
  MPI_Comm node;
  int neighbours = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &neighbours);
  several_nodes = neighbours < ranks;
  static const int sizes[][2] = {{4, 3},         {3, 4},         {100, 57},       {56, 57},
                                 {20000, 19999}, {40000, 70000}, {300000, 100000}};
  for (int what = 0; what < (several_nodes ? ONE_NODE : KINDS); ++what)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
      one((kind)what, sizes[i][0], sizes[i][1]);
  MPI_Comm_free(&node);
  return check_end();
}
