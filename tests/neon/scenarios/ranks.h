// Scenarios with several origins, tags, windows and rounds: each put finds its own announcement.
#pragma once
#include "window.h"

static void t12_several_origins(void) {
  open_window((size_t)ranks * 8);
  if (me == 0) {
    MPI_Request ann;
    announce_init(0, ranks * 8, ranks - 1, others, kTag, &ann);
    for (int round = 0; round < 20; ++round) {
      MPI_Start(&ann);
      // All origins but rank 1 put first; rank 1 waits for the message.
      int count = 0;
      int who[64];
      while (count < ranks - 2)
        require(MPIX_Neon_arrived(ann, &count, who) == MPI_SUCCESS, "arrived");
      int done = 0;
      MPI_Test(&ann, &done, MPI_STATUS_IGNORE);
      require(!done, "complete without rank 1");
      for (int i = 0; i < count; ++i) require(who[i] > 1, "rank %d has notified?", who[i]);
      MPI_Send(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
      wait_for(&ann);
      MPIX_Neon_arrived(ann, &count, who);
      require(count == ranks - 1 && who[count - 1] == 1, "%d, last %d", count, who[count - 1]);
      for (int rank = 1; rank < ranks; ++rank)
        verify(memory + 8 * rank, 8, key_of(rank, 0, (uint64_t)round), rank);
    }
    MPI_Request_free(&ann);
  } else {
    for (int round = 0; round < 20; ++round) {
      unsigned char data[8];
      if (me == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      dawdle();
      fill(data, 8, key_of(me, 0, (uint64_t)round));
      put(data, 8, 0, kTag, 8 * me, MPIX_NEON_FINAL, NULL);
      MPIX_Neon_complete(0, win);
    }
  }
  close_window();
}

static void t13_stranger(void) {
  if (ranks < 3) return;
  open_window(16);
  unsigned char data[8];
  fill(data, 8, key_of(me, 0, 13));
  if (me == 2) {
    put(data, 8, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
    MPIX_Neon_complete(0, win);
  }
  barrier();
  if (me == 1) put(data, 8, 0, kTag, 8, MPIX_NEON_FINAL, NULL);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    const int two = 2;
    announce_init(0, 16, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory + 8, 8, key_of(1, 0, 13), 1);
    for (int i = 0; i < 8; ++i) require(memory[i] == 0, "a stranger's put was written");
    MPI_Request_free(&ann);
    // That put was only early.
    announce_init(0, 16, 1, &two, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory, 8, key_of(2, 0, 13), 2);
    MPI_Request_free(&ann);
  }
  close_window();
}

static void t14_rounds(void) {
  const int rounds = long_run ? 1000000 : 20000;
  open_window(64);
  MPI_Request ann;
  const int one = 1;
  uint64_t skew = seed + (uint64_t)me;
  if (me == 0) announce_init(0, 64, 1, &one, kTag, &ann);
  for (int round = 0; round < rounds && me < 2; ++round) {
    if (round % 1000 == 0) doing("T14 round %d", round);
    // Each side falls behind now and then.
    if (random_below(&skew, 2000) == 0) pause_seconds(0.002);
    if (me == 0) {
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, 64, key_of(1, 0, (uint64_t)round), 1);
    } else {
      unsigned char data[64];
      fill(data, 64, key_of(1, 0, (uint64_t)round));
      MPI_Request request;
      put(data, 64, 0, kTag, 0, MPIX_NEON_FINAL, &request);
      wait_for(&request);
    }
  }
  if (me == 0) MPI_Request_free(&ann);
  close_window();
}

static void t15_double_buffering(void) {
  // Even and odd rounds have different tags. Both directions of each pair of ranks run at once.
  const int peer = me ^ 1;
  open_window(2048);
  MPI_Request ann[2];
  if (peer < ranks) {
    for (int i = 0; i < 2; ++i) {
      announce_init(1024 * i, 1024, 1, &peer, i, &ann[i]);
      MPI_Start(&ann[i]);
    }
    unsigned char data[2][1024];
    for (int round = 0; round < 300; ++round) {
      const int half = round % 2;
      MPI_Request request;
      dawdle();
      fill(data[half], 1024, key_of(me, peer, (uint64_t)round));
      put(data[half], 1024, peer, half, 0, MPIX_NEON_FINAL, &request);
      wait_for(&ann[half]);
      verify(memory + 1024 * half, 1024, key_of(peer, me, (uint64_t)round), peer);
      if (round < 298) MPI_Start(&ann[half]);
      wait_for(&request);
    }
    for (int i = 0; i < 2; ++i) MPI_Request_free(&ann[i]);
  }
  close_window();
}

static void t16_no_crosstalk(void) {
  // The same tag at every rank, in two windows.
  open_window((size_t)ranks * 8);
  MPI_Win first = win;
  unsigned char* first_memory = memory;
  open_window((size_t)ranks * 8);
  MPI_Win both[2] = {first, win};
  unsigned char* memories[2] = {first_memory, memory};
  MPI_Request ann[2];
  int all[64];
  for (int i = 0; i < ranks; ++i) all[i] = i;  // ourselves too
  for (int w = 0; w < 2; ++w) {
    win = both[w];
    announce_init(0, ranks * 8, ranks, all, kTag, &ann[w]);
  }
  for (int round = 0; round < 20; ++round) {
    MPI_Startall(2, ann);
    for (int w = 1; w >= 0; --w)
      for (int to = 0; to < ranks; ++to) {
        unsigned char data[8];
        win = both[w];
        fill(data, 8, key_of(me, to, (uint64_t)(round * 2 + w)));
        put(data, 8, to, kTag, 8 * me, MPIX_NEON_FINAL, NULL);
        MPIX_Neon_complete(to, win);
      }
    MPI_Waitall(2, ann, MPI_STATUSES_IGNORE);
    for (int w = 0; w < 2; ++w)
      for (int from = 0; from < ranks; ++from)
        verify(memories[w] + 8 * from, 8, key_of(from, me, (uint64_t)(round * 2 + w)), from);
  }
  for (int w = 1; w >= 0; --w) {
    MPI_Request_free(&ann[w]);
    win = both[w];
    close_window();
  }
}

static void t17_unpost(void) {
  open_window(200);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 100, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    MPI_Request_free(&ann);  // withdrawn while it is announced
    barrier();
    barrier();
    announce_init(100, 50, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    wait_for(&ann);
    verify(memory + 100, 50, key_of(1, 0, 2), 1);
    for (int i = 0; i < 100; ++i) require(memory[i] == 0, "a withdrawn buffer was written");
    MPI_Request_free(&ann);
  } else {
    unsigned char data[100];
    barrier();
    if (me == 1) {
      fill(data, 100, key_of(1, 0, 1));
      put(data, 100, 0, kTag, 0, MPIX_NEON_FINAL, NULL);  // of the withdrawn announcement
      MPIX_Neon_complete(0, win);
    }
    barrier();
    if (me == 1) {
      fill(data, 50, key_of(1, 0, 2));
      put(data, 50, 0, kTag, 0, MPIX_NEON_FINAL, NULL);
      MPIX_Neon_complete(0, win);
    }
  }
  close_window();
}

// A put that may fail because its announcement has been withdrawn. Its request ends in either case. False: it failed.
static bool put_or_withdrawn(const void* data, int size, int tag, int flags) {
  MPI_Request request;
  int error = MPIX_Neon_put(data, size, MPI_BYTE, 0, tag, 0, size, MPI_BYTE, flags, win, &request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(error == MPI_SUCCESS || error == MPI_ERR_RMA_SYNC, "put: %d", error);
  return error == MPI_SUCCESS;
}

// The buffer is withdrawn after the origins have received its address. From then on it belongs to its owner. In
// even rounds an origin that puts afterwards gets an error; in odd rounds origins put all the time.
static void withdraw_large(size_t size) {
  unsigned char* const data = allocate(size);
  memset(data, 1, size);
  for (int round = 0; round < 40; ++round) {
    MPI_Request ann = MPI_REQUEST_NULL;
    if (me == 0) {
      announce_init(0, (MPI_Aint)size, ranks - 1, others, kTag, &ann);
      MPI_Start(&ann);
    } else {
      require(put_or_withdrawn(data, (int)size, kTag, MPIX_NEON_NON_FINAL), "announced");
    }
    barrier();
    if (me == 0) {
      dawdle();
      require(MPI_Request_free(&ann) == MPI_SUCCESS, "free");
      memset(memory, 9, size);
    }
    bool more = me != 0 && round % 2 == 1;
    while (more) more = put_or_withdrawn(data, (int)size, kTag, MPIX_NEON_NON_FINAL);
    barrier();
    if (me != 0)
      require(!put_or_withdrawn(data, (int)size, kTag, MPIX_NEON_FINAL),
              "put to what is withdrawn");
    barrier();
    for (size_t i = 0; me == 0 && i < size; ++i)
      require(memory[i] == 9, "round %d: byte %zu of a withdrawn buffer was written", round, i);
  }
  free(data);
}

static void withdrawn(void) {
  open_window(200000);
  withdraw_large(200000);
  close_window();
  open_unmapped_window(200000);
  withdraw_large(kEager + 1);
  withdraw_large(200000);
  close_unmapped_window();
}
