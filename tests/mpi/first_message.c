// Ranks begin to send to ranks to which they have not sent before, and then do not call MPI for a while. So the
// connection waits for the first bytes of a rank that is away, and a transport must not take it for lost.
//
// --milliseconds N: how long a rank is away (default 200). --crowd: all ranks send to rank 0 at once; otherwise pairs
// of ranks, first in one direction and then in both.
#include "check.h"

static double away;  // seconds

static void send_late(int to) {
  MPI_Request request;
  uint64_t out = key_of(me, to, 1);
  doing("a send to %d, and away", to);
  MPI_Isend(&out, sizeof out, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
  pause_seconds(away);
  doing("a wait for the send to %d", to);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive(int from) {
  uint64_t in = 0;
  doing("a receive from %d", from);
  MPI_Recv(&in, sizeof in, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  require(in == key_of(from, me, 1), "wrong bytes from %d", from);
}

// The rank that begins later is away for longer, so that neither sees the other's first bytes in time.
static void exchange_late(int peer) {
  const double lag = me < peer ? away / 6 : 0;
  MPI_Request requests[2];
  uint64_t in = 0, out = key_of(me, peer, 2);
  pause_seconds(lag);
  doing("an exchange with %d, and away", peer);
  MPI_Irecv(&in, sizeof in, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&out, sizeof out, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
  pause_seconds(away + (me < peer ? 0 : away / 2));
  doing("a wait for the exchange with %d", peer);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  require(in == key_of(peer, me, 2), "wrong bytes from %d", peer);
}

// Each pair of ranks meets in one round. No collective runs before the last one, because it would connect ranks.
static void pairs(void) {
  int rounds = 1;
  while (rounds < ranks) rounds *= 2;
  for (int round = rounds - 1; round > 0; --round) {
    const int peer = me ^ round;
    if (peer >= ranks) continue;
    const int lower = me < peer ? me : peer;
    const int sender = lower % 2 == 0 ? lower : lower ^ round;
    if (round % 2 == 0) {
      exchange_late(peer);
    } else if (me == sender) {
      send_late(peer);
    } else {
      receive(peer);
    }
  }
}

static void crowd(void) {
  if (me != 0) send_late(0);
  for (int from = 1; me == 0 && from < ranks; ++from) receive(from);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  away = (double)option(argc, argv, "--milliseconds", 200) / 1000;
  if (has_option(argc, argv, "--crowd")) {
    crowd();
  } else {
    pairs();
  }
  return check_end();
}
