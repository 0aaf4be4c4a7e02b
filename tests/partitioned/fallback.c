// Requests with ranks without LFC are Open MPI's own: all ranks to all others, within the limits of `persist`. The
// test runs LFC on all ranks but one; both sides must choose the same component.
#include "check.h"

enum { kParts = 4, kEach = 100, kRounds = 20, kMost = 8 };

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2 && ranks <= kMost, "needs 2 to %d ranks", kMost);
  static unsigned char out[kMost][kParts * kEach], in[kMost][kParts * kEach];
  MPI_Request requests[2 * kMost];
  const int count = 2 * (ranks - 1);
  int made = 0;
  for (int other = 0; other < ranks; ++other) {
    if (other == me) continue;
    doing("init with %d", other);
    MPI_Precv_init(in[other], kParts, kEach, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[made++]);
    MPI_Psend_init(out[other], kParts, kEach, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[made++]);
  }
  for (int round = 0; round < kRounds; ++round) {
    doing("round %d", round);
    for (int other = 0; other < ranks; ++other)
      fill(out[other], sizeof out[other], key_of(me, other, (uint64_t)round));
    MPI_Startall(count, requests);
    for (int i = 1; i < count; i += 2)
      for (int part = 0; part < kParts; ++part) MPI_Pready(part, requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int other = 0; other < ranks; ++other)
      if (other != me)
        verify(in[other], sizeof in[other], key_of(other, me, (uint64_t)round), other);
  }
  for (int i = 0; i < count; ++i) MPI_Request_free(&requests[i]);
  return check_end();
}
