// Scenarios under load: floods, several waits, several threads, a buffer that is written all the time.
#pragma once
#include <pthread.h>

#include "window.h"

static void t20_never_blocks(void) {
  // 10 000 puts per origin that were not announced. The memory that the target keeps for them is bounded (unit
  // tests check the bytes), and all arrive in the end.
  enum { kPuts = 10000 };
  open_window((size_t)ranks * 8);
  if (me > 0) {
    uint64_t* data = allocate(8 * kPuts);
    for (uint64_t i = 0; i < kPuts; ++i) {
      data[i] = i;
      put(&data[i], 8, 0, kTag, 8 * me, MPIX_NEON_FINAL, NULL);
    }
    barrier();
    MPIX_Neon_complete(MPIX_NEON_ALL, win);
    free(data);
  } else {
    barrier();
    MPI_Request ann;
    announce_init(0, ranks * 8, ranks - 1, others, kTag, &ann);
    for (uint64_t i = 0; i < kPuts; ++i) {
      if (i % 1000 == 0) doing("T20 round %d", (int)i);
      MPI_Start(&ann);
      wait_for(&ann);
      for (int from = 1; from < ranks; ++from) {
        uint64_t value;
        memcpy(&value, memory + 8 * from, 8);
        require(value == i, "round %d: %d from %d", (int)i, (int)value, from);
      }
    }
    MPI_Request_free(&ann);
  }
  close_window();
}

// Counts the complete operations, which end in order.
static int count_complete(MPI_Request* requests, int count) {
  int complete = 0;
  for (int done = 1; complete < count; complete += done) {
    require(MPI_Request_get_status(requests[complete], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS,
            "status");
    if (!done) break;
  }
  return complete;
}

// Origins put to an announced buffer of a rank that is not inside MPI. Emulated, the target keeps at most kKept
// bytes of each origin for it. (Over tcp, MPI itself keeps small messages without bound.)
static void flood_of_announced(void) {
  enum { kPuts = 200, kSize = 100000, kKept = 1 << 20, kLooks = 100 };
  if (!shares_counters) {
    if (me == 0) printf("flood: skipped, the ranks do not share a kernel\n");
    return;
  }
  open_window(kSize);
  MPI_Request ann = MPI_REQUEST_NULL;
  unsigned char* data = allocate(kSize);
  if (me == 0) {
    announce_init(0, kSize, ranks - 1, others, kTag, &ann);
    MPI_Start(&ann);
    barrier();
    count_up(kAway);
    sleep_until(kCounted, (unsigned)ranks - 1);
    wait_for(&ann);
    MPI_Request_free(&ann);
  } else {
    MPI_Request requests[kPuts];
    put(data, kSize, 0, kTag, 0, MPIX_NEON_NON_FINAL, &requests[0]);
    wait_for(&requests[0]);  // it has been granted
    barrier();
    sleep_until(kAway, 1);
    for (int i = 0; i < kPuts; ++i) put(data, kSize, 0, kTag, 0, MPIX_NEON_NON_FINAL, &requests[i]);
    int complete = 0;
    for (int look = 0; look < kLooks; ++look) complete = count_complete(requests, kPuts);
    int level = 0;
    MPIX_Neon_query(win, &level);
    require(level != MPIX_NEON_EMULATED || complete * kSize <= kKept,
            "%d of %d puts are complete, and nobody has taken them", complete, kPuts);
    count_up(kCounted);
    require(MPI_Waitall(kPuts, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "waitall");
    put(data, kSize, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
    MPIX_Neon_complete(MPIX_NEON_ALL, win);
  }
  close_window();
  free(data);
}

static void t21_flood(void) {
  // All origins send more than the budget before anything is announced.
  enum { kPuts = 40, kSize = 8000 };
  open_window((size_t)ranks * kSize);
  if (me > 0) {
    unsigned char* data = allocate(kPuts * kSize);
    for (int i = 0; i < kPuts; ++i) {
      fill(data + i * kSize, kSize, key_of(me, 0, (uint64_t)i));
      put(data + i * kSize, kSize, 0, kTag, me * kSize, MPIX_NEON_FINAL, NULL);
    }
    barrier();
    MPIX_Neon_complete(0, win);
    free(data);
  } else {
    barrier();
    MPI_Request ann;
    announce_init(0, ranks * kSize, ranks - 1, others, kTag, &ann);
    for (int i = 0; i < kPuts; ++i) {
      dawdle();
      MPI_Start(&ann);
      wait_for(&ann);
      for (int from = 1; from < ranks; ++from)
        verify(memory + from * kSize, kSize, key_of(from, 0, (uint64_t)i), from);
    }
    MPI_Request_free(&ann);
  }
  close_window();
}

static void t24_mixed_waits(void) {
  const int right = (me + 1) % ranks;
  const int left = (me + ranks - 1) % ranks;
  open_window(64);
  MPI_Request all[5];
  MPI_Request ann;
  announce_init(0, 64, 1, &left, kTag, &ann);
  for (int round = 0; round < 100; ++round) {
    unsigned char data[64];
    uint64_t in = 0;
    uint64_t out = key_of(me, right, (uint64_t)round);
    dawdle();
    MPI_Start(&ann);
    all[0] = ann;
    fill(data, 64, out);
    put(data, 32, right, kTag, 0, MPIX_NEON_NON_FINAL, &all[1]);
    put(data + 32, 32, right, kTag, 32, MPIX_NEON_FINAL | MPIX_NEON_STRONG, &all[2]);
    MPI_Isend(&out, 1, MPI_UINT64_T, right, 3, MPI_COMM_WORLD, &all[3]);
    MPI_Irecv(&in, 1, MPI_UINT64_T, left, 3, MPI_COMM_WORLD, &all[4]);
    if (round % 2 == 0) {
      MPI_Waitall(5, all, MPI_STATUSES_IGNORE);
    } else {
      for (int done = 0; done < 5; ++done) {
        int index;
        MPI_Waitany(5, all, &index, MPI_STATUS_IGNORE);
        require(index != MPI_UNDEFINED, "nothing to wait for after %d", done);
      }
    }
    require(all[0] == ann && all[1] == MPI_REQUEST_NULL, "requests");
    verify(memory, 64, in, left);
  }
  MPI_Request_free(&ann);
  close_window();
}

// T25: four threads, a tag each.
static void* exchange(void* number) {
  const int tag = (int)(intptr_t)number;
  const int peer = me ^ 1;
  MPI_Request ann;
  state_slot = tag;
  announce_init(tag * 512, 512, 1, &peer, tag, &ann);
  for (int round = 0; round < 500; ++round) {
    unsigned char data[512];
    MPI_Request request;
    doing("T25 round %d", round);
    MPI_Start(&ann);
    fill(data, 512, key_of(me, peer, (uint64_t)(round * 16 + tag)));
    put(data, 512, peer, tag, 0, MPIX_NEON_FINAL, round % 3 == 0 ? NULL : &request);
    wait_for(&ann);
    verify(memory + tag * 512, 512, key_of(peer, me, (uint64_t)(round * 16 + tag)), peer);
    if (round % 3 == 0) {
      MPIX_Neon_complete(peer, win);
    } else {
      wait_for(&request);
    }
  }
  MPI_Request_free(&ann);
  state_line[tag][0] = '\0';
  return NULL;
}

// If the calls are native, each thread also makes windows, attaches and frees them at the same time.
static MPI_Comm comms[4];
static void* attach(void* number) {
  const int tag = (int)(intptr_t)number;
  const int from = (me + ranks - 1) % ranks;
  state_slot = tag;
  for (int round = 0; round < 30; ++round) {
    int64_t* own;
    MPI_Win mine;
    MPI_Request ann;
    const int64_t sent = tag * 1000 + round;
    doing("T25 attach %d", round);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, comms[tag - 1], &own, &mine);
    require(MPIX_Neon_attach(mine) == MPI_SUCCESS, "attach");
    require(MPIX_Neon_announce_init(0, 8, 1, &from, tag, 0, mine, &ann) == MPI_SUCCESS, "init");
    MPI_Start(&ann);
    require(MPIX_Neon_put(&sent, 8, MPI_BYTE, (me + 1) % ranks, tag, 0, 8, MPI_BYTE, 0, mine,
                          NULL) == MPI_SUCCESS,
            "put");
    wait_for(&ann);
    require(*own == sent, "thread %d, window %d: %lld", tag, round, (long long)*own);
    MPIX_Neon_complete((me + 1) % ranks, mine);
    MPI_Request_free(&ann);
    MPI_Win_free(&mine);
  }
  state_line[tag][0] = '\0';
  return NULL;
}

static void in_threads(void* (*run)(void*)) {
  pthread_t threads[4];
  for (intptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, run, (void*)(i + 1));
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void t25_threads(void) {
  int provided, level;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) return;
  open_window(4096);
  MPIX_Neon_query(win, &level);
  if ((me ^ 1) < ranks) in_threads(exchange);
  close_window();
  if (level < MPIX_NEON_NATIVE) return;
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  in_threads(attach);
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
}

static void persistent(void) {
  // All others overwrite a word, never in halves, while its owner polls it without any call of NEON.
  open_window((size_t)ranks * 8);
  if (me == 0) {
    MPI_Request ann;
    require(MPIX_Neon_announce_init(0, ranks * 8, ranks - 1, others, kTag, MPIX_NEON_PERSISTENT,
                                    win, &ann) == MPI_SUCCESS,
            "init");
    MPI_Start(&ann);
    wait_for(&ann);  // at once
    int count = 0;
    for (int done = 0; done < ranks - 1;) {
      done = 0;
      for (int from = 1; from < ranks; ++from) {
        const uint64_t value = *(volatile uint64_t*)(memory + 8 * from);
        require(value >> 32 == (value & 0xffffffff), "torn: %llx", (unsigned long long)value);
        done += (value & 0xffffffff) == 5000;
      }
      require(MPIX_Neon_arrived(ann, &count, NULL) == MPI_SUCCESS, "arrived");
    }
    while (count < ranks - 1) MPIX_Neon_arrived(ann, &count, NULL);
    MPI_Request_free(&ann);
  } else {
    for (uint64_t i = 1; i <= 5000; ++i) {
      const uint64_t value = i << 32 | i;
      put(&value, 8, 0, kTag, 8 * me, i == 5000 ? MPIX_NEON_FINAL : MPIX_NEON_NON_FINAL, NULL);
      MPIX_Neon_complete(0, win);
    }
  }
  close_window();
}
