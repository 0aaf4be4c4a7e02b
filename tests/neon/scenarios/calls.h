// Scenarios of wrong and unfinished calls.
#pragma once
#include "window.h"

static void t26_errors(void) {
  // Calls on a window that is not attached return an error; wrong arguments give errors and have no other effect.
  int level = -1;
  MPI_Request request;
  const int one = 0;
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPIX_Neon_query(win, &level);
  require(level == MPIX_NEON_ABSENT, "level %d", level);
  require(MPIX_Neon_notify(0, 1, win) == MPI_ERR_WIN, "notify without attach");
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach again");
  MPIX_Neon_query(win, &level);
  require(level >= MPIX_NEON_EMULATED, "level %d", level);
  char data[8] = {0};
  require(MPIX_Neon_put(data, 8, MPI_BYTE, ranks, 1, 0, 8, MPI_BYTE, 0, win, NULL) == MPI_ERR_RANK,
          "rank");
  require(MPIX_Neon_put(data, 8, MPI_BYTE, 0, -1, 0, 8, MPI_BYTE, 0, win, NULL) == MPI_ERR_TAG,
          "tag");
  require(MPIX_Neon_put(data, -1, MPI_BYTE, 0, 1, 0, 8, MPI_BYTE, 0, win, NULL) == MPI_ERR_COUNT,
          "count");
  require(MPIX_Neon_put(data, 8, MPI_BYTE, 0, 1, 0, 4, MPI_BYTE, 0, win, NULL) == MPI_ERR_ARG,
          "sizes");
  require(
      MPIX_Neon_put(data, 8, MPI_BYTE, 0, 1, -8, 8, MPI_BYTE, 0, win, NULL) == MPI_ERR_RMA_RANGE,
      "offset");
  require(MPIX_Neon_put(data, 8, MPI_BYTE, MPI_PROC_NULL, 1, 0, 8, MPI_BYTE, 0, win, &request) ==
              MPI_SUCCESS,
          "PROC_NULL");
  wait_for(&request);
  require(MPIX_Neon_announce_init(0, 65, 1, &one, 1, 0, win, &request) == MPI_ERR_RMA_RANGE,
          "size");
  MPI_Request same[2];
  for (int i = 0; i < 2; ++i)
    require(MPIX_Neon_announce_init(0, 8, 1, &one, 1, 0, win, &same[i]) == MPI_SUCCESS, "init");
  require(MPI_Start(&same[0]) == MPI_SUCCESS, "start");
  // Open MPI 5 reports the errors of MPI_Start there as well.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  require(MPI_Start(&same[0]) == MPI_ERR_REQUEST, "started twice");
  require(MPI_Start(&same[1]) == MPI_ERR_RMA_CONFLICT, "announced twice");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Request_free(&same[0]);
  require(MPI_Start(&same[1]) == MPI_SUCCESS, "after the other is withdrawn");
  MPI_Request_free(&same[1]);
  close_window();
}

static void t27_pending_at_the_end(void) {
  open_window(100000);
  unsigned char* data = allocate(100000);
  if (me > 0) {
    MPI_Request request;
    put(data, 8, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
    put(data, 100000, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
    put(data, 100000, 0, kTag, 0, MPIX_NEON_FINAL, &request);
    MPI_Request_free(&request);
  }
  close_window();  // prints the lost operations on stderr
  free(data);
}

// Windows are freed while notified puts to them are on their way, as large ones are when the call returns.
static void put_and_free(size_t size, bool mapped) {
  unsigned char* const data = allocate(size);
  memset(data, 1, size);
  const int rounds = mapped ? 60 : 20;
  for (int round = 0; round < rounds; ++round) {
    if (mapped)
      open_window(size);
    else
      open_unmapped_window(size);
    require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 1) == MPI_SUCCESS, "set_num_notify");
    const int error = MPIX_Put_notify(data, (int)size, MPI_BYTE, (me + 1) % ranks, 0, (int)size,
                                      MPI_BYTE, 0, win);
    require(error == MPI_SUCCESS, "put_notify: %d", error);
    dawdle();
    close_window();
    if (mapped) continue;
    memset(memory, 2, size);
    barrier();
    for (size_t i = 0; i < size; ++i)
      require(memory[i] == 2, "round %d: byte %zu was written after MPI_Win_free", round, i);
    free(memory);
  }
  free(data);
}

static void freed_under_way(void) {
  put_and_free(900000, true);
  put_and_free(900000, false);
}
