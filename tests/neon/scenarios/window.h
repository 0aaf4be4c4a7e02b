// The common parts of all scenarios: a window for each, announcements and puts that must succeed, ranks that
// dawdle.
#pragma once
#include <mpix_neon.h>

#include "check.h"
#include "counters.h"

enum { kTag = 7, kEager = 16384 };
// Early puts that have returned; large puts that have arrived; targets that have left MPI; floods that were counted.
enum { kReturned, kArrived, kAway, kCounted };
static bool shares_counters;  // false: the ranks do not share a kernel

static long delay;
static uint64_t delays;

static void dawdle(void) {
  if (delay > 0) pause_seconds((double)random_below(&delays, (uint64_t)delay) * 1e-6);
}

// A window for each scenario.
static MPI_Win win;
static unsigned char* memory;

static void open_window(size_t size) {
  MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  memset(memory, 0, size);
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
}

static void close_window(void) {
  doing("%s: win_free", state_line[0]);
  MPI_Win_free(&win);
}

// A window that no other rank maps.
static void open_unmapped_window(size_t size) {
  memory = allocate(size);
  MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
}

static void close_unmapped_window(void) {
  close_window();
  free(memory);
}

static void announce_init(MPI_Aint disp, MPI_Aint size, int nranks, const int* who, int tag,
                          MPI_Request* ann) {
  const int error = MPIX_Neon_announce_init(disp, size, nranks, who, tag, 0, win, ann);
  require(error == MPI_SUCCESS, "announce_init: %d", error);
}

static void put(const void* data, int size, int target, int tag, MPI_Aint offset, int flags,
                MPI_Request* request) {
  const int error =
      MPIX_Neon_put(data, size, MPI_BYTE, target, tag, offset, size, MPI_BYTE, flags, win, request);
  require(error == MPI_SUCCESS, "put of %d bytes: %d", size, error);
}

static void wait_for(MPI_Request* request) {
  const int error = MPI_Wait(request, MPI_STATUS_IGNORE);
  require(error == MPI_SUCCESS, "wait: %d", error);
}

static int others[64];  // all ranks but 0

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
