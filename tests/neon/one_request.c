// Notified puts as one request of an RDMA device: writes with immediate data. The device's counters show that the
// notifications took no request of their own, and those of osc neon how many of them went so. With --device the link
// has to be able to do that. Otherwise only the data is tested.
#include "check.h"
#include "variables.h"

#include <glob.h>
#include <mpix_neon.h>

enum {
  kPuts = 64,
  kBytes = 64 * 1024,
  kNamed = 4096,           // counters that a notification key can name
  kLargest = 8 << 20,      // bytes of the largest write
  kWindow = kLargest + 1,  // more than all puts together
};

typedef struct Counts {
  long packets, sends;  // of the device
  unsigned long long notified, keyless, refused;
} Counts;

static MPI_Win win;
static unsigned char* memory;
static unsigned char* data;
static MPI_T_pvar_handle notified, keyless, refused;
static uint64_t seen;  // notifications of counter 0

static long device_counter(const char* name) {
  char pattern[256];
  glob_t found;
  long count = 0;
  snprintf(pattern, sizeof pattern, "/sys/class/infiniband/*/ports/1/hw_counters/%s", name);
  if (glob(pattern, 0, NULL, &found) != 0) return 0;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    FILE* const file = fopen(found.gl_pathv[i], "r");
    long value = 0;
    require(file != NULL && fscanf(file, "%ld", &value) == 1, "%s", found.gl_pathv[i]);
    fclose(file);
    count += value;
  }
  globfree(&found);
  return count;
}

static Counts counts(void) {
  return (Counts){device_counter("sent_pkts"), device_counter("rdma_sends"),
                  read_variable(notified), read_variable(keyless), read_variable(refused)};
}

static Counts since(Counts before) {
  const Counts now = counts();
  return (Counts){now.packets - before.packets, now.sends - before.sends,
                  now.notified - before.notified, now.keyless - before.keyless,
                  now.refused - before.refused};
}

static void put_notify(size_t size, size_t at, int counter) {
  require(MPIX_Put_notify(data, (int)size, MPI_BYTE, 1, (MPI_Aint)at, (int)size, MPI_BYTE, counter,
                          win) == MPI_SUCCESS,
          "put_notify");
}

static void put_flush_and_notify(size_t size, size_t at) {
  MPI_Put(data, (int)size, MPI_BYTE, 1, (MPI_Aint)at, (int)size, MPI_BYTE, win);
  MPI_Win_flush(1, win);
  put_notify(0, 0, 0);
}

// Rank 0 puts into places that follow each other, and rank 1 checks them. Returns what that added to the counters.
static Counts put_all(uint64_t round, int flushes) {
  const Counts before = counts();
  doing("round %d", (int)round);
  for (uint64_t i = 0; me == 0 && i < kPuts; ++i) {
    fill(data, kBytes, key_of(0, 1, round * kPuts + i));
    if (flushes)
      put_flush_and_notify(kBytes, i * kBytes);
    else
      put_notify(kBytes, i * kBytes, 0);
  }
  seen += kPuts;
  if (me == 1) MPIX_Win_wait_notify(win, 0, seen);
  for (uint64_t i = 0; me == 1 && i < kPuts; ++i)
    verify(memory + i * kBytes, kBytes, key_of(0, 1, round * kPuts + i), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  return since(before);
}

// A put that goes in frames, because of its size or its counter.
static Counts put_in_frames(size_t size, int counter) {
  const Counts before = counts();
  const uint64_t key = key_of(0, 1, size);
  doing("%zu bytes, counter %d", size, counter);
  if (me == 0) {
    fill(data, size, key);
    put_notify(size, 0, counter);
  } else if (me == 1) {
    seen += counter == 0;
    MPIX_Win_wait_notify(win, counter, counter == 0 ? seen : 1);
    verify(memory, size, key, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return since(before);
}

// The other ranks notify, too.
static void notify_around(void) {
  doing("notify around");
  MPIX_Put_notify(NULL, 0, MPI_BYTE, (me + 1) % ranks, 0, 0, MPI_BYTE, 1, win);
  MPIX_Win_wait_notify(win, 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

// The window is freed while a put is under way.
static void free_window(void) {
  const uint64_t key = key_of(0, 1, 1);
  MPI_Request put = MPI_REQUEST_NULL;
  doing("a put during MPI_Win_free");
  if (me == 0) {
    fill(data, kBytes, key);
    require(MPIX_Rput_notify(data, kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, 0, win, &put) ==
                MPI_SUCCESS,
            "rput_notify");
    MPI_Request_free(&put);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  if (me == 1) verify(memory, kBytes, key, 0);
}

static void check(Counts alone, Counts flushed, Counts unnamed, Counts large) {
  printf(
      "%d puts of %d bytes: %ld packets, %ld sends, %llu in one request; put, flush and "
      "notification: %ld packets, %ld sends\n",
      kPuts, kBytes, alone.packets, alone.sends, alone.notified, flushed.packets, flushed.sends);
  require(alone.notified == kPuts, "%llu puts notified", alone.notified);
  require(alone.sends < kPuts / 2, "%ld sends", alone.sends);
  // A flush is a read and its reply, a notification a send and its acknowledgement; the origin's device sends two of
  // these four. It may send some packets of data again.
  require(alone.packets + kPuts < flushed.packets, "%ld packets", alone.packets);
  require(flushed.notified == 0, "%llu flushed puts notified", flushed.notified);
  require(unnamed.keyless == 1 && unnamed.notified == 0, "keyless=%llu", unnamed.keyless);
  require(large.refused == 1 && large.notified == 0, "refused=%llu", large.refused);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  open_variables();
  memory = allocate(kWindow);
  data = allocate(kWindow);
  notified = variable_called("osc_neon_puts_notified");
  keyless = variable_called("osc_neon_keyless");
  refused = variable_called("osc_neon_refused");
  MPI_Win_create(memory, kWindow, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  require(MPIX_Win_set_num_notify(win, MPI_INFO_NULL, kNamed + 1) == MPI_SUCCESS, "counters");
  put_all(0, 0);  // opens the connections, and lets their windows grow
  const Counts alone = put_all(1, 0);
  const Counts flushed = put_all(2, 1);
  const Counts unnamed = put_in_frames(kBytes, kNamed);
  const Counts large = put_in_frames(kWindow, 0);
  if (me == 0 && has_option(argc, argv, "--device")) check(alone, flushed, unnamed, large);
  notify_around();
  free_window();
  free(data);
  free(memory);
  close_variables();
  return check_end();
}
