// The acceptance scenarios of the NEON calls, T01 to T28, one function each. Needs 2 ranks; with 4 or more
// those that need several origins run too. Rank 0 is the target, the others are origins.
//
//   neon_scenarios [--only T07] [--delay MICROSECONDS] [--seed N] [--expect LEVEL]
//
// --delay: each rank sleeps for random times of that length at most, between its steps.
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
#include "check.h"

#include <mpix_neon.h>
#include <pthread.h>
#include <sys/mman.h>

enum { kTag = 7, kEager = 16384 };

static long delay;
static uint64_t delays;

static void dawdle(void) {
  if (delay > 0) pause_seconds((double)random_below(&delays, (uint64_t)delay) * 1e-6);
}

// --- A window per scenario ---

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

// --- Scenarios ---

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

// `size` tells T02 (early, eager) from T03 (early, large).
static void early_put(int size, bool eager) {
  open_window((size_t)size);
  if (me == 0) {
    pause_seconds(0.2);
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
      double fastest = 1;
      const double start = MPI_Wtime();
      put(data, size, 0, kTag, 0, MPIX_NEON_FINAL, &request);
      fastest = MPI_Wtime() - start;
      require(fastest < 0.1, "put blocked for %g s", fastest);  // the target sleeps 0.2 s
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
  // Puts of up to the eager limit in flight while the target announces: all, part or nothing is there.
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

static void t05_immediate(void) {
  open_window(64);
  unsigned char data[64];
  if (me == 1) {
    MPI_Request request;
    fill(data, 64, key_of(1, 0, 5));
    put(data, 64, 0, kTag, 0, MPIX_NEON_STRONG, &request);  // STRONG waits for the announcement
    barrier();
    wait_for(&request);
  } else {
    barrier();
    if (me == 0) {
      MPI_Request ann;
      const int one = 1;
      // All is there: whatever is under way has time to arrive.
      for (const double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      }
      announce_init(0, 64, 1, &one, kTag, &ann);
      MPI_Start(&ann);
      int done = 0;
      MPI_Test(&ann, &done, MPI_STATUS_IGNORE);
      require(done, "not complete at once");
      verify(memory, 64, key_of(1, 0, 5), 1);
      MPI_Request_free(&ann);
    }
  }
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
  // A final put of nothing does the same, also with nothing before it.
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
    // The same at both.
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
  // The origin computes between its final put and its wait. Without progress of its own the transfer may
  // have to wait for it; the level says so.
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
    const double start = MPI_Wtime();
    wait_for(&ann);
    const double waited = MPI_Wtime() - start;
    verify(memory, (size_t)size, key_of(1, 0, 9), 1);
    if (level == MPIX_NEON_ASYNC) require(waited < 0.3, "the target waited %g s", waited);
    MPI_Request_free(&ann);
  } else {
    unsigned char* data = allocate((size_t)size);
    fill(data, (size_t)size, key_of(1, 0, 9));
    barrier();
    if (me == 1) {
      MPI_Request request;
      put(data, size, 0, kTag, 0, MPIX_NEON_FINAL, &request);
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
    // The origin says by a message that its put is done: then it is here, whatever `ann` says.
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

static void t12_several_origins(void) {
  open_window((size_t)ranks * 8);
  if (me == 0) {
    MPI_Request ann;
    announce_init(0, ranks * 8, ranks - 1, others, kTag, &ann);
    for (int round = 0; round < 20; ++round) {
      MPI_Start(&ann);
      // All but rank 1 first; it waits for the message.
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
    // It has only been early.
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
  // Even and odd rounds have a tag each; both directions at once; each other rank of a pair.
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

static void t18_overrun(void) {
  // The buffer ends at a page that may not be touched.
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char* pages =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0, "guard page");
  memory = pages;
  MPI_Win_create(pages, (MPI_Aint)page, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
  unsigned char data[64];
  memset(data, 0xff, sizeof data);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    int error = MPIX_Neon_announce_init((MPI_Aint)page - 10, 20, 1, &one, kTag, 0, win, &ann);
    require(error == MPI_ERR_RMA_RANGE, "announced beyond the window: %d", error);
    announce_init((MPI_Aint)page - 32, 32, 1, &one, kTag, &ann);
    MPI_Start(&ann);
    error = MPI_Wait(&ann, MPI_STATUS_IGNORE);
    require(error == MPI_ERR_RMA_RANGE, "overrun: %d", error);
    for (size_t i = 0; i < page; ++i) require(pages[i] == 0, "byte %zu was written", i);
    if (ann != MPI_REQUEST_NULL) MPI_Request_free(&ann);
  } else if (me == 1) {
    put(data, 33, 0, kTag, 0, MPIX_NEON_NON_FINAL, NULL);
    put(data, 1, 0, kTag, 32, MPIX_NEON_FINAL, NULL);
    MPIX_Neon_complete(0, win);
  }
  close_window();
  munmap(pages, 2 * page);
}

static void t19_sizes(void) {
  static const size_t sizes[] = {0,          1,      7,          8,     4095,   4096,
                                 kEager - 1, kEager, kEager + 1, 65536, 1000003};
  enum { kSizes = sizeof sizes / sizeof *sizes };
  const bool huge = long_run;
  const size_t beyond = ((size_t)1 << 31) + 5;
  open_window(huge ? beyond : 1000003);
  unsigned char* data = allocate(huge ? beyond : 1000003);
  MPI_Request ann;
  const int one = 1;
  for (int i = 0; i < kSizes + (huge ? 1 : 0) && me < 2; ++i) {
    const size_t size = i < kSizes ? sizes[i] : beyond;
    doing("T19 %zu bytes", size);
    if (me == 0) {
      announce_init(0, (MPI_Aint)size, 1, &one, kTag, &ann);
      MPI_Start(&ann);
      wait_for(&ann);
      verify(memory, size, key_of(1, 0, size), 1);
      MPI_Request_free(&ann);
    } else {
      MPI_Request request;
      MPI_Datatype type;
      /* Of bytes alone Open MPI 4.1 takes two halves beyond 2 GiB for one block of negative length. */
      MPI_Datatype unit = MPI_BYTE;
      const size_t width = size > (size_t)1 << 30 ? (size_t)1 << 20 : 1;
      const size_t units = width > 1 ? size / width : size / 2;
      if (width > 1) MPI_Type_contiguous((int)width, MPI_BYTE, &unit);
      MPI_Datatype parts[2] = {unit, MPI_BYTE};
      fill(data, size, key_of(1, 0, size));
      const int lengths[2] = {(int)units, (int)(size - units * width)};
      const MPI_Aint places[2] = {0, (MPI_Aint)(units * width)};
      MPI_Type_create_struct(2, lengths, places, parts, &type);
      if (width > 1) MPI_Type_free(&unit);
      MPI_Type_commit(&type);
      const int error =
          MPIX_Neon_put(data, 1, type, 0, kTag, 0, 1, type, MPIX_NEON_FINAL, win, &request);
      require(error == MPI_SUCCESS, "put of %zu bytes: %d", size, error);
      MPI_Type_free(&type);
      wait_for(&request);
    }
  }
  free(data);
  close_window();
}

static void t20_never_blocks(void) {
  // 10 000 puts per origin that nobody has announced; what the target keeps is bounded (unit tests
  // look at the bytes), and all arrive in the end.
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
static void t25_threads(void) {
  int provided;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_MULTIPLE) return;
  open_window(4096);
  if ((me ^ 1) < ranks) {
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, exchange, (void*)(i + 1));
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  }
  close_window();
}

static void t26_errors(void) {
  // What is not attached says so; wrong arguments give errors and nothing else.
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
  close_window();  // says on stderr what is lost
  free(data);
}

static void t28_get(void) {
  const int size = 300000;
  open_window((size_t)size);
  if (me == 0) {
    fill(memory, (size_t)size, key_of(0, 0, 28));
    MPI_Request ann;
    announce_init(0, size, ranks - 1, others, kTag, &ann);
    pause_seconds(0.05);
    MPI_Start(&ann);
    wait_for(&ann);
    memset(memory, 0, (size_t)size);  // everybody has read
    MPI_Request_free(&ann);
  } else {
    unsigned char* data = allocate((size_t)size);
    MPI_Request request[2];
    unsigned char few[64];
    require(MPIX_Neon_get(data, size, MPI_BYTE, 0, kTag, 0, size, MPI_BYTE, win, &request[0]) ==
                MPI_SUCCESS,
            "get");
    // Every second of 16 words, to every third place.
    MPI_Datatype from;
    MPI_Datatype to;
    uint64_t words[24];
    memset(words, 0, sizeof words);
    MPI_Type_vector(8, 1, 2, MPI_UINT64_T, &from);
    MPI_Type_vector(8, 1, 3, MPI_UINT64_T, &to);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    require(MPIX_Neon_get(words, 1, to, 0, kTag, 64, 1, from, win, &request[1]) == MPI_SUCCESS,
            "get");
    MPIX_Neon_notify(0, kTag, win);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    verify(data, (size_t)size, key_of(0, 0, 28), 0);
    for (size_t i = 0; i < 24; ++i)
      require(words[i] == (i % 3 == 0 && i < 24 ? word_at(key_of(0, 0, 28), 8 + i / 3 * 2) : 0),
              "word %zu", i);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    (void)few;
    free(data);
  }
  close_window();
}

static void datatypes(void) {
  // A column of a matrix into a row's every second place.
  enum { kRows = 50 };
  open_window(8 * 2 * kRows + 8);
  if (me == 0) {
    MPI_Request ann;
    const int one = 1;
    announce_init(0, 8 * 2 * kRows, 1, &one, kTag, &ann);
    dawdle();
    MPI_Start(&ann);
    wait_for(&ann);
    for (size_t i = 0; i < 2 * kRows; ++i) {
      double value;
      memcpy(&value, memory + 8 * i, 8);
      require(value == (i % 2 == 1 ? (double)(i / 2) : 0.0), "place %zu: %g", i, value);
    }
    MPI_Request_free(&ann);
  } else if (me == 1) {
    double matrix[kRows][3];
    for (int i = 0; i < kRows; ++i) matrix[i][1] = i;
    MPI_Datatype column;
    MPI_Datatype places;
    MPI_Type_vector(kRows, 1, 3, MPI_DOUBLE, &column);
    MPI_Type_vector(kRows, 1, 2, MPI_DOUBLE, &places);
    MPI_Type_commit(&column);
    MPI_Type_commit(&places);
    MPI_Request request;
    require(MPIX_Neon_put(&matrix[0][1], 1, column, 0, kTag, 8, 1, places, MPIX_NEON_FINAL, win,
                          &request) == MPI_SUCCESS,
            "put");
    wait_for(&request);
    MPI_Type_free(&column);
    MPI_Type_free(&places);
  }
  close_window();
}

static void persistent(void) {
  // A word that all others overwrite, never in halves, while the owner looks without any call of NEON.
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

static const struct {
  const char* name;
  void (*run)(void);
} scenarios[] = {
    {"T01", t01_announce_put_notify},
    {"T02", t02_early_eager},
    {"T03", t03_early_large},
    {"T04", t04_announce_meanwhile},
    {"T05", t05_immediate},
    {"T06", t06_many_non_final},
    {"T07", t07_never_overtakes},
    {"T08", t08_notify_alone},
    {"T09", t09_notify_early_complete_late},
    {"T10", t10_handles},
    {"T11", t11_strong},
    {"T12", t12_several_origins},
    {"T13", t13_stranger},
    {"T14", t14_rounds},
    {"T15", t15_double_buffering},
    {"T16", t16_no_crosstalk},
    {"T17", t17_unpost},
    {"T18", t18_overrun},
    {"T19", t19_sizes},
    {"T20", t20_never_blocks},
    {"T21", t21_flood},
    {"T24", t24_mixed_waits},
    {"T25", t25_threads},
    {"T26", t26_errors},
    {"T27", t27_pending_at_the_end},
    {"T28", t28_get},
    {"types", datatypes},
    {"persistent", persistent},
};

int main(int argc, char** argv) {
  check_start(&argc, &argv,
              has_option(argc, argv, "--threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  require(ranks >= 2 && ranks <= 64, "needs 2 to 64 ranks");
  delay = option(argc, argv, "--delay", 0);
  delays = seed * 1000003 + (uint64_t)me;
  for (int i = 1; i < ranks; ++i) others[i - 1] = i;
  const char* only = NULL;
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  int run = 0;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
    if (only != NULL && strcmp(only, scenarios[i].name) != 0) continue;
    doing("%s", scenarios[i].name);
    const double start = MPI_Wtime();
    scenarios[i].run();
    barrier();
    if (me == 0) {
      printf("%s %.2f s\n", scenarios[i].name, MPI_Wtime() - start);
      fflush(stdout);
    }
    ++run;
  }
  require(run > 0, "no scenario named %s", only);
  const long expected = option(argc, argv, "--expect", 0);
  if (expected > 0) {
    int level = 0;
    open_window(8);
    MPIX_Neon_query(win, &level);
    require(level == expected, "served at level %d, not %ld", level, expected);
    close_window();
  }
  return check_end();
}
