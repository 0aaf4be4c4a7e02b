// The counters of NEON, as performance variables, and the limits of early data. Rank 1 sets the smallest ones, and they
// apply to the window. With --announcements N each rank only announces one buffer N times, each time anew, and prints
// how often memory was registered meanwhile.
#include "check.h"
#include "variables.h"

#include <mpix_neon.h>

enum {
  kEager = 1000,
  kBudget = 20000,
  kCharge = kEager + 64,     // of the budget, for a frame
  kFit = kBudget / kCharge,  // puts of kEager that the budget pays
  kTags = kFit + 2,          // one more, and one that is too large
  kRoom = kEager + 1,
};

static MPI_T_pvar_handle frames, early, parked, parked_most, deferred, grants, withdrawn, overruns;

// MPI_Init reads them.
static void set_limits(void) {
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  const bool least = rank != NULL && strcmp(rank, "1") == 0;
  char budget[16];
  snprintf(budget, sizeof budget, "%d", least ? kBudget : 2 * kBudget);
  setenv("OMPI_MCA_osc_neon_eager", least ? "1000" : "4000", 1);
  setenv("OMPI_MCA_osc_neon_budget", budget, 1);
}

static void await(MPI_T_pvar_handle counter, const char* name, unsigned long long value) {
  doing("%s=%llu", name, value);
  int flag = 0;
  while (read_variable(counter) < value)
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void expect(MPI_T_pvar_handle counter, const char* name, unsigned long long value) {
  const unsigned long long found = read_variable(counter);
  require(found == value, "%s=%llu, not %llu", name, found, value);
}

static void announce(MPI_Win win, int tag, int size, MPI_Request* request) {
  const int origin = 0;
  require(MPIX_Neon_announce_init((MPI_Aint)tag * kRoom, size, 1, &origin, tag, 0, win, request) ==
              MPI_SUCCESS,
          "announce_init");
  MPI_Start(request);
}

static void put(MPI_Win win, const void* data, int size, int tag, MPI_Request* request) {
  require(MPIX_Neon_put(data, size, MPI_BYTE, 1, tag, 0, size, MPI_BYTE, MPIX_NEON_FINAL, win,
                        request) == MPI_SUCCESS,
          "put");
}

static size_t size_of(int tag) { return tag == kTags - 1 ? kEager + 1 : kEager; }

// Puts of all tags before their announcements.
static void exceed_limits(MPI_Win win, unsigned char* memory) {
  static unsigned char data[kTags][kRoom];
  MPI_Request requests[kTags];
  if (me == 0) {
    for (int tag = 0; tag < kTags; ++tag) {
      fill(data[tag], size_of(tag), key_of(0, 1, (uint64_t)tag));
      put(win, data[tag], (int)size_of(tag), tag, &requests[tag]);
    }
    await(frames, "frames", kTags);  // data, or a request for the announcement
    expect(deferred, "deferred", 2);
    MPI_Waitall(kTags, requests, MPI_STATUSES_IGNORE);
    expect(deferred, "deferred", 2);
  } else if (me == 1) {
    await(early, "early", kFit);
    expect(parked, "parked", kFit * kCharge);
    parked = variable_called("osc_neon_parked");  // a level, whenever it was opened
    expect(parked, "parked", kFit * kCharge);
    for (int tag = 0; tag < kTags; ++tag) announce(win, tag, (int)size_of(tag), &requests[tag]);
    MPI_Waitall(kTags, requests, MPI_STATUSES_IGNORE);
    for (int tag = 0; tag < kTags; ++tag) {
      verify(memory + (size_t)tag * kRoom, size_of(tag), key_of(0, 1, (uint64_t)tag), 0);
      MPI_Request_free(&requests[tag]);
    }
    expect(early, "early", kFit);
    expect(parked, "parked", 0);
    expect(parked_most, "parked_most", kFit * kCharge);
    parked_most = variable_called("osc_neon_parked_most");
    expect(parked_most, "parked_most", kFit * kCharge);
    expect(grants, "grants", 2);
    expect(withdrawn, "late", 0);
    expect(overruns, "overruns", 0);
  }
}

// A second window adds to the counters of the first, which is gone.
static void add_window(MPI_Win win) {
  const uint64_t data = 7;
  MPI_Request request = MPI_REQUEST_NULL;
  if (me == 0) put(win, &data, sizeof data, 3, &request);
  if (me == 1) {
    await(early, "early", kFit + 1);
    announce(win, 3, sizeof data, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (me == 1) {
    expect(parked_most, "parked_most", kFit * kCharge + sizeof data + 64);
    MPI_Request_free(&request);
  }
}

static unsigned char* memory;

static MPI_Win make_window(void) {
  MPI_Win win;
  MPI_Win_allocate(kTags * kRoom, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  require(MPIX_Neon_attach(win) == MPI_SUCCESS, "attach");
  int level = 0;
  MPIX_Neon_query(win, &level);
  require(level >= MPIX_NEON_NATIVE, "level %d", level);
  return win;
}

static void count_registrations(long announcements) {
  MPI_Win win = make_window();
  MPI_T_pvar_handle registrations = variable_called("btl_lfc_registrations");
  const unsigned long long before = read_variable(registrations);
  for (long i = 0; i < announcements; ++i) {
    MPI_Request request;
    MPIX_Neon_announce_init(0, kRoom, 1, &me, 1, 0, win, &request);
    MPI_Start(&request);
    MPIX_Neon_notify(me, 1, win);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  const unsigned long long made = read_variable(registrations) - before;
  if (me == 0) printf("%ld announcements, %llu registrations\n", announcements, made);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  set_limits();
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  open_variables();
  const long announcements = option(argc, argv, "--announcements", 0);
  if (announcements > 0) {
    count_registrations(announcements);
    close_variables();
    return check_end();
  }
  frames = variable_called("osc_neon_frames");
  early = variable_called("osc_neon_early");
  parked = variable_called("osc_neon_parked");
  parked_most = variable_called("osc_neon_parked_most");
  deferred = variable_called("osc_neon_deferred");
  grants = variable_called("osc_neon_grants");
  withdrawn = variable_called("osc_neon_late");
  overruns = variable_called("osc_neon_overruns");
  MPI_Win win = make_window();
  exceed_limits(win, memory);
  MPI_Win_free(&win);
  if (me == 1) expect(early, "early", kFit);
  win = make_window();
  add_window(win);
  MPI_Win_free(&win);
  close_variables();
  return check_end();
}
