// More synchronous sends than a peer's window, before their receives are posted and after: each message, and each
// acknowledgement of ob1, must arrive, also from a rank to itself.
#include "check.h"

enum { kMessages = 200, kSize = 8, kLarge = 3000, kRounds = 20 };

static unsigned char out[kMessages][kLarge], in[kMessages][kLarge];

static void burst(int to, int from, int size, int receives_first, int round) {
  MPI_Request sends[kMessages], receives[kMessages];
  doing("round %d: %d messages of %d bytes to %d", round, kMessages, size, to);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < kMessages; ++i)
      if ((pass == 0) == receives_first) {
        MPI_Irecv(in[i], size, MPI_BYTE, from, i, MPI_COMM_WORLD, &receives[i]);
      } else {
        fill(out[i], (size_t)size, key_of(me, to, (uint64_t)(round * kMessages + i)));
        MPI_Issend(out[i], size, MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]);
      }
  MPI_Waitall(kMessages, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMessages; ++i)
    verify(in[i], (size_t)size, key_of(from, me, (uint64_t)(round * kMessages + i)), from);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int round = 0; round < kRounds; ++round)
    for (int shape = 0; shape < 4; ++shape) {
      const int size = shape & 1 ? kLarge : kSize;
      burst(me, me, size, shape >> 1, round);
      burst((me + 1) % ranks, (me + ranks - 1) % ranks, size, shape >> 1, round);
    }
  return check_end();
}
