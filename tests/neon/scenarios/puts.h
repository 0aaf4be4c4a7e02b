// Scenarios with one origin: early, late, notified and complete puts.
#pragma once
#include "window.h"

static void t01_announce_put_notify(void) {
  open_window(64);
  unsigned char data[64];
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 64, 1, &one, kTag, &ann);
    dawdle();
    MPI_Start(&ann);
    MPI_Status status;
    MPI_Wait(&ann, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(status.MPI_SOURCE == 1 && count == 64, "status %d %d", status.MPI_SOURCE, count);
    verify(memory, 64, key_of(1, 0, 1), 1);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    fill(data, 64, key_of(1, 0, 1));
    MPI_Request request;
    dawdle();
    put(data, 64, 0, kTag, 0, MPIX_NEON_FINAL, &request);
    wait_for(&request);
  }
  close_window();
}

// `size` distinguishes T02 (early, eager) from T03 (early, large).
static void early_put(int size, bool eager) {
  static unsigned puts;
  ++puts;
  open_window((size_t)size);
  if (me == 0) {
    if (shares_counters) sleep_until(kReturned, puts);
    barrier();
    MPI_Request ann;
    const int one = 1;
    announce_init(0, size, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory, (size_t)size, key_of(1, 0, 2), 1);
    MPI_Request_free(&ann);
  } else {
    unsigned char* data = allocate((size_t)size);
    MPI_Request request = MPI_REQUEST_NULL;
    if (me == 1) {
      fill(data, (size_t)size, key_of(1, 0, 2));
      put(data, size, 0, kTag, 0, MPIX_NEON_FINAL, &request);
      if (shares_counters) count_up(kReturned);
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (eager) {
        if (!done) wait_for(&request);  // before the target announces
      } else {
        require(!done, "a put of %d bytes is complete, but not announced", size);
      }
    }
    barrier();
    if (me == 1) wait_for(&request);
    free(data);
  }
  close_window();
}
static void t02_early_eager(void) { early_put(8000, true); }
static void t03_early_large(void) { early_put(4 << 20, false); }

static void t04_announce_meanwhile(void) {
  // Puts of up to the eager limit in flight while the target announces: all, some or no data is there.
  enum { kRounds = 200 };
  open_window(kEager);
  unsigned char* data = allocate(kEager);
  MPI_Request ann;
  const int one = 1;
  if (me == 0) announce_init(0, kEager, 1, &one, kTag, &ann);
  for (int round = 0; round < kRounds; ++round) {
    if (me == 0) {
      if (round % 3 == 0) dawdle();
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, kEager, key_of(1, 0, (uint64_t)round), 1);
      memset(memory, 0, kEager);
    } else if (me == 1) {
      MPI_Request request;
      fill(data, kEager, key_of(1, 0, (uint64_t)round));
      put(data, kEager, 0, kTag, 0, MPIX_NEON_FINAL, &request);
      wait_for(&request);
    }
  }
  if (me == 0) MPI_Request_free(&ann);
  free(data);
  close_window();
}

// Whether an announcement is complete at once, `polls` looks at MPI after the put for it.
static bool announced_late(int polls, uint64_t key) {
  MPI_Request ann;
  const int one = 1;
  int done = 0, flag;
  for (int i = 0; i < polls; ++i)
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  announce_init(0, 64, 1, &one, kTag, &ann);
  MPI_Start(&ann);
  MPI_Test(&ann, &done, MPI_STATUS_IGNORE);
  if (!done) wait_for(&ann);
  verify(memory, 64, key, 1);
  MPI_Request_free(&ann);
  return done;
}

static void t05_immediate(void) {
  // The number of polls until a put has arrived depends on the load of the machine: each round doubles it.
  enum { kRounds = 20 };
  open_window(64);
  int at_once = 0;
  for (int round = 0; round < kRounds && !at_once; ++round) {
    doing("T05 round %d", round);
    unsigned char data[64];
    MPI_Request request = MPI_REQUEST_NULL;
    const uint64_t key = key_of(1, 0, (uint64_t)round);
    if (me == 1) {
      fill(data, 64, key);
      put(data, 64, 0, kTag, 0, MPIX_NEON_STRONG, &request);  // STRONG waits for the announcement
    }
    barrier();
    if (me == 0) at_once = announced_late(1 << round, key);
    if (me == 1) wait_for(&request);
    MPI_Bcast(&at_once, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  require(at_once, "not complete at once, %d looks after the put", 1 << (kRounds - 1));
  close_window();
}

static void many_puts(bool notify) {
  enum { kPuts = 1000 };
  open_window(8 * kPuts);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 8 * kPuts, 1, &one, kTag, &ann);
    dawdle();
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory, 8 * kPuts, key_of(1, 0, 6), 1);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    unsigned char* data = allocate(8 * kPuts);
    fill(data, 8 * kPuts, key_of(1, 0, 6));
    for (int i = 0; i < kPuts; ++i) {
      const int place = (i * 389) % kPuts;  // scattered
      const bool last = i == kPuts - 1 && !notify;
      put(data + 8 * place, 8, 0, kTag, 8 * place, last ? MPIX_NEON_FINAL : MPIX_NEON_NON_FINAL,
          NULL);
    }
    dawdle();
    if (notify) require(MPIX_Neon_notify(0, kTag, win) == MPI_SUCCESS, "notify");
    require(MPIX_Neon_complete(0, win) == MPI_SUCCESS, "complete");
    memset(data, 0, 8 * kPuts);
    free(data);
  }
  close_window();
}
static void t06_many_non_final(void) { many_puts(false); }
static void t08_notify_alone(void) {
  many_puts(true);
  // A final put of no bytes has the same effect, also without a put before it.
  open_window(8);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 0, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    MPI_Start(&ann);
    wait_for(&ann);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    put(NULL, 0, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
    MPIX_Neon_notify(0, kTag, win);
  }
  close_window();
}

static void t07_never_overtakes(void) {
  // Random sizes, in random pieces; every byte must be of the current round.
  const int rounds = long_run ? 100000 : 1500;
  enum { kMost = 1 << 20 };
  open_window(kMost);
  unsigned char* data = allocate(kMost);
  uint64_t random = seed * 7;
  MPI_Request ann;
  const int one = 1;
  if (me == 0) announce_init(0, kMost, 1, &one, kTag, &ann);
  for (int round = 0; round < rounds && me < 2; ++round) {
    doing("T07 round %d", round);
    // Both ranks draw the same size.
    const uint64_t magnitude = random_below(&random, long_run || round % 50 == 0 ? 21 : 15);
    const size_t size = 1 + random_below(&random, (uint64_t)1 << magnitude);
    const size_t first = random_below(&random, size + 1);
    if (me == 0) {
      if (round % 16 == 0) dawdle();
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, size, key_of(1, 0, (uint64_t)round), 1);
    } else {
      MPI_Request request[2];
      if (round % 32 == 0) dawdle();
      fill(data, size, key_of(1, 0, (uint64_t)round));
      put(data, (int)first, 0, kTag, 0, MPIX_NEON_NON_FINAL, &request[0]);
      put(data + first, (int)(size - first), 0, kTag, (MPI_Aint)first, MPIX_NEON_FINAL,
          &request[1]);
      wait_for(&request[1]);  // covers the other
      memset(data, 0xee, size);
      wait_for(&request[0]);
    }
  }
  if (me == 0) MPI_Request_free(&ann);
  free(data);
  close_window();
}

static void t09_notify_early_complete_late(void) {
  // The origin sleeps between its final put and its wait. If the level reports progress without calls of MPI, it
  // sleeps until the target has received everything.
  const int size = 1 << 20;
  open_window((size_t)size);
  int level = 0;
  MPIX_Neon_query(win, &level);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, size, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    barrier();
    wait_for(&ann);
    if (shares_counters) count_up(kArrived);
    verify(memory, (size_t)size, key_of(1, 0, 9), 1);
    MPI_Request_free(&ann);
  } else {
    unsigned char* data = allocate((size_t)size);
    fill(data, (size_t)size, key_of(1, 0, 9));
    barrier();
    if (me == 1) {
      MPI_Request request;
      put(data, size, 0, kTag, 0, MPIX_NEON_FINAL, &request);
      if (shares_counters && level == MPIX_NEON_ASYNC)
        sleep_until(kArrived, 1);
      else
        pause_seconds(0.4);
      wait_for(&request);
    }
    free(data);
  }
  close_window();
}

static void t10_handles(void) {
  open_window(300000);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 300000, 1, &one, kTag, &ann);
    pause_seconds(0.05);
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory, 100000, key_of(1, 0, 1), 1);
    verify(memory + 100000, 10, key_of(1, 0, 2), 1);
    verify(memory + 200000, 100000, key_of(1, 0, 3), 1);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    unsigned char* data = allocate(300000);
    MPI_Request request;
    fill(data, 100000, key_of(1, 0, 1));
    fill(data + 100000, 10, key_of(1, 0, 2));
    fill(data + 200000, 100000, key_of(1, 0, 3));
    put(data, 100000, 0, kTag, 0, MPIX_NEON_NON_FINAL, NULL);
    put(data + 100000, 10, 0, kTag, 100000, MPIX_NEON_NON_FINAL, NULL);
    put(data + 200000, 100000, 0, kTag, 200000, MPIX_NEON_FINAL, &request);
    wait_for(&request);
    memset(data, 0xaa, 300000);  // all of it may be reused
    free(data);
  }
  close_window();
}

static void t11_strong(void) {
  open_window(50000);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 50000, 1, &one, kTag, &ann);
    dawdle();
    MPI_Start(&ann);
    // The origin notifies by a message that its put is done: then the data is here, in any state of `ann`.
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      verify(memory + 25000 * i, i == 0 ? 25000 : 100, key_of(1, 0, (uint64_t)i), 1);
    }
    MPIX_Neon_arrived(ann, &(int){0}, NULL);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
    wait_for(&ann);
    MPI_Request_free(&ann);
  } else if (me == 1) {
    unsigned char* data = allocate(25000);
    for (int i = 0; i < 2; ++i) {
      const int size = i == 0 ? 25000 : 100;
      MPI_Request request;
      fill(data, (size_t)size, key_of(1, 0, (uint64_t)i));
      put(data, size, 0, kTag, 25000 * i, MPIX_NEON_NON_FINAL | MPIX_NEON_STRONG, &request);
      wait_for(&request);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPIX_Neon_notify(0, kTag, win);
    free(data);
  }
  close_window();
}

// Puts of one origin that overlap: the later one wins, whichever way each of them takes. Small ones may be frames and
// large ones direct writes.
static void overlapping(size_t size) {
  unsigned char* const data = allocate(size);
  unsigned char* const older = allocate(size);
  memset(older, 0xaa, size);
  MPI_Request ann = MPI_REQUEST_NULL;
  const int one = 1;
  if (me == 0) announce_init(0, (MPI_Aint)size, 1, &one, kTag, &ann);
  for (uint64_t round = 0; round < 60 && me < 2; ++round) {
    if (me == 0) {
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, size, key_of(1, 0, round), 1);
      MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      continue;
    }
    MPI_Request request[2];
    fill(data, size, key_of(1, 0, round));
    const int first = round % 2 == 0 ? 1 + (int)(round * 100) : (int)size;
    put(older, first, 0, kTag, 0, MPIX_NEON_NON_FINAL, &request[0]);
    put(data, (int)size, 0, kTag, 0, MPIX_NEON_FINAL, &request[1]);
    for (int i = 0; i < 2; ++i) wait_for(&request[i]);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  barrier();
  if (me == 0) require(MPI_Request_free(&ann) == MPI_SUCCESS, "free");
  free(data);
  free(older);
}

static void in_order(void) {
  open_window(200000);
  overlapping(200000);
  close_window();
  open_unmapped_window(200000);
  overlapping(200000);
  close_unmapped_window();
}
