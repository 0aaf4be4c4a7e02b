// NEON calls in a program that never calls MPI_Init: a window over a session's communicator, in two sessions, because
// nothing of the first may be left in the second.
#include "session.h"

#include <mpix_neon.h>

int main(int argc, char** argv) {
  enum { kTurns = 2, kRounds = 20, kBytes = 1000 };
  (void)argc;
  watch(argv);
  for (int turn = 0; turn < kTurns; ++turn) {
    struct session session = open_session(turn == 0 ? "first" : "second");
    const int right = (me + 1) % ranks;
    const int left = (me + ranks - 1) % ranks;
    unsigned char out[kBytes];
    unsigned char* memory = NULL;
    MPI_Win win;
    doing("turn %d: MPI_Win_allocate", turn);
    MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, session.comm, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    doing("turn %d: MPIX_Neon_attach", turn);
    require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
    require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2) == MPI_SUCCESS, "set_num_notify");
    for (int round = 1; round <= kRounds; ++round) {
      const uint64_t key = (uint64_t)(turn * kRounds + round);
      doing("turn %d: round %d", turn, round);
      fill(out, kBytes, key_of(me, right, key));
      MPIX_Put_notify(out, kBytes, MPI_BYTE, right, 0, kBytes, MPI_BYTE, 0, win);
      MPIX_Win_wait_notify(win, 0, (uint64_t)round);
      verify(memory, kBytes, key_of(left, me, key), left);
      MPIX_Put_notify(NULL, 0, MPI_BYTE, left, 0, 0, MPI_BYTE, 1, win);
      MPIX_Win_wait_notify(win, 1, (uint64_t)round);  // the right neighbour has read it
    }
    doing("turn %d: MPI_Win_free", turn);
    MPI_Win_free(&win);
    close_session(&session);
  }
  if (me == 0) printf("ok\n");
  return 0;
}
