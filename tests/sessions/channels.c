// Messages on channels and communicators made from groups, which have another number at each rank: at rank 0 the first
// has the number that the second has at the others, and the reverse. No message may come on the other communicator.
// Duplicates of both have one number at all ranks, and so channels. The calls include MPI_Isendrecv, which Open MPI
// makes of an ordinary send and receive, as new in MPI 4.0 as those communicators.
#include "check.h"

enum { kComms = 4, kMessages = 60, kTag = 7 };

static MPI_Comm from_group(const char* name) {
  MPI_Group group;
  MPI_Comm comm;
  doing("MPI_Comm_create_from_group, %s", name);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

static int value_of(int comm, int sender, int message) {
  return (message * kComms + comm) * 100 + sender;
}

static void verify_message(int value, int comm, int sender, int message) {
  require(value == value_of(comm, sender, message),
          "message %d on communicator %d from rank %d: %d, not %d", message, comm, sender, value,
          value_of(comm, sender, message));
}

static void persistent(const MPI_Comm* comms, int right, int left) {
  int in[kComms], out[kComms];
  MPI_Request requests[2 * kComms];
  for (int i = 0; i < kComms; ++i) {
    MPI_Recv_init(&in[i], 1, MPI_INT, left, kTag, comms[i], &requests[i]);
    MPI_Send_init(&out[i], 1, MPI_INT, right, kTag, comms[i], &requests[kComms + i]);
  }
  for (int message = 0; message < kMessages; ++message) {
    doing("persistent requests: message %d", message);
    for (int i = 0; i < kComms; ++i) out[i] = value_of(i, me, message);
    MPI_Startall(2 * kComms, requests);
    MPI_Waitall(2 * kComms, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kComms; ++i) verify_message(in[i], i, left, message);
  }
  for (int i = 0; i < 2 * kComms; ++i) MPI_Request_free(&requests[i]);
}

static void ordinary(const MPI_Comm* comms, int right, int left) {
  int in[kComms], out[kComms];
  MPI_Request requests[2 * kComms];
  for (int message = 0; message < kMessages; ++message) {
    doing("ordinary messages: message %d", message);
    for (int i = 0; i < kComms; ++i) {
      out[i] = value_of(i, me, message);
      MPI_Irecv(&in[i], 1, MPI_INT, left, kTag, comms[i], &requests[i]);
    }
    for (int i = 0; i < kComms; ++i)
      MPI_Isend(&out[i], 1, MPI_INT, right, kTag, comms[i], &requests[kComms + i]);
    MPI_Waitall(2 * kComms, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kComms; ++i) verify_message(in[i], i, left, message);
  }
}

static void combined(const MPI_Comm* comms, int right, int left) {
  int in[kComms], out[kComms];
  MPI_Request requests[kComms];
  MPI_Status statuses[kComms];
  for (int message = 0; message < kMessages; ++message) {
    doing("MPI_Isendrecv: message %d", message);
    for (int i = 0; i < kComms; ++i) {
      out[i] = value_of(i, me, message);
      MPI_Isendrecv(&out[i], 1, MPI_INT, right, kTag, &in[i], 1, MPI_INT, left, kTag, comms[i],
                    &requests[i]);
    }
    MPI_Waitall(kComms, requests, statuses);
    for (int i = 0; i < kComms; ++i) {
      verify_message(in[i], i, left, message);
      require(statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == kTag,
              "the status of message %d names rank %d and tag %d", message, statuses[i].MPI_SOURCE,
              statuses[i].MPI_TAG);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Comm extra = MPI_COMM_NULL, comms[kComms];
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  if (me == 0) MPI_Comm_dup(MPI_COMM_SELF, &extra);
  comms[0] = from_group("first");
  if (me == 0) MPI_Comm_free(&extra);
  comms[1] = from_group("second");
  MPI_Comm_dup(comms[0], &comms[2]);
  MPI_Comm_dup(comms[1], &comms[3]);
  persistent(comms, right, left);
  ordinary(comms, right, left);
  combined(comms, right, left);
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return check_end();
}
