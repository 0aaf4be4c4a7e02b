// Calls that look like those by which Open MPI numbers new communicators: broadcasts of 4 bytes, and maxima and minima
// of one int. Open MPI makes them from inside its progress, so their order among other calls may differ from rank to
// rank. The program's own ones have to be right too, also if the ranks use different types.
#include "check.h"

static void check_int(const char* what, int got, int expected) {
  require(got == expected, "%s: %d, not %d", what, got, expected);
}

// No program may do this. Here it stands for the calls of Open MPI.
static void in_another_order(MPI_Comm comm) {
  int given = me, got[3] = {-1, -1, me == 0 ? 17 : -1};
  MPI_Request requests[6];
  int64_t other = me == 0 ? 23 : -1;
  for (int turn = 0; turn < 2; ++turn) {
    doing("turn %d", turn);
    if ((turn == 0) == (me == 0)) {
      MPI_Iallreduce(&given, &got[0], 1, MPI_INT, MPI_MAX, comm, &requests[0]);
      MPI_Ireduce(&given, &got[1], 1, MPI_INT, MPI_MIN, 0, comm, &requests[1]);
      MPI_Ibcast(&got[2], 1, MPI_INT, 0, comm, &requests[2]);
    } else {
      MPI_Ibarrier(comm, &requests[3]);
      MPI_Ibcast(&other, 1, MPI_INT64_T, 0, comm, &requests[4]);
      MPI_Ibarrier(comm, &requests[5]);
    }
  }
  doing("requests in another order");
  MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
  check_int("maximum", got[0], ranks - 1);
  if (me == 0) check_int("minimum", got[1], 0);
  check_int("broadcast", got[2], 17);
  check_int("broadcast of 8 bytes", (int)other, 23);
}

// One and two ints, in place and not, by each rank as the root, with types that differ from rank to rank.
static void own_calls(MPI_Comm comm) {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int root = 0; root < ranks; ++root)
    for (int count = 1; count <= 2; ++count) {
      doing("%d ints, root %d", count, root);
      const int last = ranks - 1;
      int given[2] = {me, -me}, got[2] = {-7, -7}, sent[2] = {root + count, root * count};
      MPI_Request requests[4];
      if (me != root) sent[0] = sent[1] = -7;
      if (count == 2 && me % 2 == 0)
        MPI_Ibcast(sent, 1, pair, root, comm, &requests[0]);
      else
        MPI_Ibcast(sent, count, MPI_INT, root, comm, &requests[0]);
      MPI_Ireduce(given, got, count, MPI_INT, MPI_MAX, root, comm, &requests[1]);
      int both[2] = {me, me}, sum[2] = {me, 1};
      MPI_Iallreduce(MPI_IN_PLACE, both, count, MPI_INT, MPI_MIN, comm, &requests[2]);
      MPI_Iallreduce(MPI_IN_PLACE, sum, count, MPI_INT, MPI_SUM, comm, &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < count; ++i) {
        check_int("broadcast", sent[i], i == 0 ? root + count : root * count);
        if (me == root) check_int("reduce", got[i], i == 0 ? last : 0);
        check_int("allreduce in place", both[i], 0);
        check_int("sum", sum[i], i == 0 ? last * ranks / 2 : ranks);
      }
    }
  MPI_Type_free(&pair);
}

// Duplicates of an inter-communicator, one after the other, while the ranks also use the communicator of their half.
static void duplicates(MPI_Comm half, MPI_Comm inter) {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm copy;
    MPI_Request request;
    doing("duplicate %d", round);
    MPI_Comm_idup(inter, &copy, &request);
    int largest = me;
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, half);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int mine = round, theirs = -1;
    MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_MAX, copy);
    check_int("number of the round", theirs, round);
    MPI_Comm_free(&copy);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm copy, half, inter;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  in_another_order(copy);
  own_calls(copy);
  const bool lower = me < ranks / 2;
  MPI_Comm_split(MPI_COMM_WORLD, lower, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, lower ? ranks / 2 : 0, 7, &inter);
  duplicates(half, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  return check_end();
}
