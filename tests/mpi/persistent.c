// Persistent requests of all modes, started again and again, in changing order, with changing
// contents.
//
// Buffered ones are short here, and there is a barrier between their rounds. Once Open MPI (4.1.4) has put a
// message into the attached buffer, it sends those old bytes whenever the request is started again, over every
// transport. So each message must go out without the buffer.
#include "check.h"

enum { kRequests = 6, kShort = 3, kLargest = 100000, kRounds = 60 };

// The first kShort go in one frame over any transport.
static const int sizes[kRequests] = {0, 8, 1000, 4090, 30000, kLargest};

static void rounds_of(int mode, int distance) {
  static const char* const names[] = {"send_init", "ssend_init", "bsend_init", "rsend_init"};
  const int to = (me + distance) % ranks, from = (me - distance + ranks) % ranks;
  const int requests = mode == 2 ? kShort : kRequests;
  unsigned char* out[kRequests];
  unsigned char* in[kRequests];
  MPI_Request sends[kRequests], receives[kRequests];
  for (int i = 0; i < requests; ++i) {
    out[i] = allocate((size_t)sizes[i]);
    in[i] = allocate((size_t)sizes[i]);
    MPI_Recv_init(in[i], sizes[i], MPI_BYTE, from, i, MPI_COMM_WORLD, &receives[i]);
    switch (mode) {
      case 0: MPI_Send_init(out[i], sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]); break;
      case 1: MPI_Ssend_init(out[i], sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]); break;
      case 2: MPI_Bsend_init(out[i], sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]); break;
      default: MPI_Rsend_init(out[i], sizes[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &sends[i]);
    }
  }
  for (int round = 0; round < kRounds * (long_run ? 20 : 1); ++round) {
    doing("%s round %d: start, to %d from %d", names[mode], round, to, from);
    for (int i = 0; i < requests; ++i)
      fill(out[i], (size_t)sizes[i], key_of(me, to, (uint64_t)(round * requests + i)));
    MPI_Startall(requests, receives);
    // A ready send needs its receive posted; for buffered ones see above.
    if (mode >= 2) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < requests; ++i) MPI_Start(&sends[(i + round) % requests]);
    doing("%s round %d: wait, to %d from %d", names[mode], round, to, from);
    for (int done = 0; done < requests; ++done) {
      int index = MPI_UNDEFINED;
      MPI_Waitany(requests, receives, &index, MPI_STATUS_IGNORE);
      require(index != MPI_UNDEFINED, "%s: no active receive, %d done", names[mode], done);
      verify(in[index], (size_t)sizes[index],
             key_of(from, me, (uint64_t)(round * requests + index)), from);
    }
    MPI_Waitall(requests, sends, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < requests; ++i) {
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&receives[i]);
    free(out[i]);
    free(in[i]);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  int room = 64 * (1000 + MPI_BSEND_OVERHEAD) * kShort;
  void* buffer = allocate((size_t)room);
  MPI_Buffer_attach(buffer, room);
  for (int mode = 0; mode < 4; ++mode) rounds_of(mode, 1 + mode % (ranks - 1));
  doing("buffer_detach");
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
  return check_end();
}
