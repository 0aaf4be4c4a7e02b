// The process that sends on a communicator frees it while the receiver has not yet started its persistent receive.
// The sender makes another communicator, which gets the same number, with a third process. The channel that the
// first receiver then offers must not serve the second communicator. All steps are ordered by messages.
#include "check.h"

enum { kRounds = 20, kMessages = 10, kOrder = 99 };

static MPI_Comm comm_with(int first, int second, int tag) {
  const int members[2] = {first, second};
  MPI_Group world, group;
  MPI_Comm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, members, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

// Frames of channels sent before this are handled before it.
static void pass(int from, int to) {
  if (me == from) MPI_Send(NULL, 0, MPI_BYTE, to, kOrder, MPI_COMM_WORLD);
  if (me == to) MPI_Recv(NULL, 0, MPI_BYTE, from, kOrder, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void course(int round) {
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  MPI_Request old = MPI_REQUEST_NULL, requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int old_value = -1, values[2] = {-1, -1};
  const int sent = 500 + round;
  doing("round %d: the first communicator", round);
  if (me != 2) first = comm_with(0, 1, 1);
  if (me == 1) MPI_Recv_init(&old_value, 1, MPI_INT, 0, 7, first, &old);
  pass(1, 0);
  if (me == 0) MPI_Send(&sent, 1, MPI_INT, 1, 7, first);
  pass(0, 1);
  if (me == 0) MPI_Comm_free(&first);
  doing("round %d: the second communicator", round);
  if (me != 1) second = comm_with(0, 2, 2);
  for (int i = 0; i < 2; ++i) {
    if (me == 0) MPI_Send_init(&values[i], 1, MPI_INT, 1, 7 + i, second, &requests[i]);
    if (me == 2) MPI_Recv_init(&values[1 - i], 1, MPI_INT, 0, 8 - i, second, &requests[1 - i]);
  }
  pass(0, 1);
  if (me == 1) {
    MPI_Start(&old);
    MPI_Wait(&old, MPI_STATUS_IGNORE);
    require(old_value == sent, "the first communicator: %d, not %d", old_value, sent);
  }
  pass(1, 0);
  pass(0, 1);
  pass(1, 0);
  pass(0, 2);
  pass(2, 0);
  if (me == 1) {
    MPI_Request_free(&old);
    MPI_Comm_free(&first);
    return;
  }
  for (int message = 0; message < kMessages; ++message) {
    doing("round %d: message %d", round, message);
    for (int i = 0; i < 2; ++i) {
      const int slot = me == 0 ? i : 1 - i;
      values[slot] = me == 0 ? 1000 * (7 + slot) + message : -1;
      MPI_Start(&requests[slot]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i)
      require(values[i] == 1000 * (7 + i) + message, "tag %d got %d in message %d", 7 + i,
              values[i], message);
    pass(2, 0);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  MPI_Comm_free(&second);
}

// The sender keeps its request, and so the channel, while the receiver frees its own, receives otherwise, and makes
// requests of the same tag again.
static void freed_receives(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Request request = MPI_REQUEST_NULL;
  int value = -1;
  if (me == 0) MPI_Send_init(&value, 1, MPI_INT, 1, 3, comm, &request);
  for (int i = 0; i < 240; ++i) {
    doing("freed receives: message %d", i);
    const bool early = i % 4 == 3, persistent = i / 12 % 3 != 2,
               last = i % 12 > 8 && i / 12 % 2 == 1;
    if (me == 1 && persistent && request == MPI_REQUEST_NULL)
      MPI_Recv_init(&value, 1, MPI_INT, 0, 3, comm, &request);
    if (me == 1 && !persistent && request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    if (early) pass(1, 0);
    if (me == 0) {
      value = i;
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (early) pass(0, 1);
    if (me != 1) continue;
    value = -1;
    if (early && last && persistent) MPI_Request_free(&request);
    if (request == MPI_REQUEST_NULL) {
      MPI_Recv(&value, 1, MPI_INT, i % 2 == 0 ? 0 : MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    require(value == i, "got %d in message %d", value, i);
    if (last && request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int round = 0; ranks >= 3 && me < 3 && round < kRounds; ++round) course(round);
  if (ranks >= 2) freed_receives();
  return check_end();
}
