// Loaded before a program: its calls of MPI, after which it computes for some time, is stopped or loses privileges, as
// the words in LFC_CIRCUMSTANCES state (words.hpp). Calls that a program repeats until something has come are not
// counted: MPI_Test, MPI_Iprobe and the like.
#define _GNU_SOURCE
#include <mpi.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 8, kNobody = 65534, kStart = 0, kEnd = -1 };

// A pause or a stop after the call of this number.
struct Event {
  long call;
  double delay;    // before SIGSTOP
  double seconds;  // of the pause, or until SIGCONT
  int stops;
};
static struct Event events[kMost];
static int event_count;
static atomic_long calls;

static long call_of(const char* text) {
  return strncmp(text, "start", 5) == 0 ? kStart : strncmp(text, "end", 3) == 0 ? kEnd : atol(text);
}

static int has_word(const char* word) {
  const char* const words = getenv("LFC_CIRCUMSTANCES");
  return words != NULL && strstr(words, word) != NULL;
}

__attribute__((constructor)) static void read_words(void) {
  const char* at = getenv("LFC_CIRCUMSTANCES");
  for (; at != NULL && *at != '\0' && event_count < kMost; at = strchr(at, ' ') + 1) {
    struct Event event = {0};
    char when[16];
    if (sscanf(at, "pause=%15[^:]:%lf", when, &event.seconds) != 2) {
      event.stops = sscanf(at, "stop=%15[^:]:%lf:%lf", when, &event.delay, &event.seconds) == 3;
      if (!event.stops) continue;
    }
    event.call = call_of(when);
    events[event_count++] = event;
  }
}

static void compute(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) continue;
}

// A process cannot continue itself, so a shell does.
static void stop(const struct Event* event) {
  char line[160];
  char shell[] = "sh", option[] = "-c";
  char* const arguments[] = {shell, option, line, NULL};
  char* const environment[] = {NULL};
  pid_t child;
  snprintf(line, sizeof line, "sleep %f; kill -STOP %d; sleep %f; kill -CONT %d", event->delay,
           (int)getpid(), event->seconds, (int)getpid());
  (void)posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environment);
}

static void after(long call) {
  for (int i = 0; i < event_count; ++i) {
    if (events[i].call != call) continue;
    if (events[i].stops)
      stop(&events[i]);
    else
      compute(events[i].seconds);
  }
}

static int counted(int result) {
  after(atomic_fetch_add(&calls, 1) + 1);
  return result;
}

static int started(int result) {
  if (has_word("then=undumpable")) prctl(PR_SET_DUMPABLE, 0);
  if (has_word("then=uid") && setresuid(kNobody, kNobody, kNobody) != 0) perror("setresuid");
  return counted(result);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  after(kStart);
  return started(PMPI_Init_thread(argc, argv, required, provided));
}
EXPORT int MPI_Init(int* argc, char*** argv) {
  after(kStart);
  return started(PMPI_Init(argc, argv));
}
EXPORT int MPI_Finalize(void) {
  after(kEnd);
  return PMPI_Finalize();
}

#define COUNTED(name, parameters, arguments) \
  EXPORT int name parameters { return counted(P##name arguments); }

#define BUFFER const void *b, int n, MPI_Datatype t
#define SEND (BUFFER, int to, int tag, MPI_Comm c)
#define ISEND (BUFFER, int to, int tag, MPI_Comm c, MPI_Request* r)
COUNTED(MPI_Send, SEND, (b, n, t, to, tag, c))
COUNTED(MPI_Ssend, SEND, (b, n, t, to, tag, c))
COUNTED(MPI_Rsend, SEND, (b, n, t, to, tag, c))
COUNTED(MPI_Bsend, SEND, (b, n, t, to, tag, c))
COUNTED(MPI_Isend, ISEND, (b, n, t, to, tag, c, r))
COUNTED(MPI_Issend, ISEND, (b, n, t, to, tag, c, r))
COUNTED(MPI_Irsend, ISEND, (b, n, t, to, tag, c, r))
COUNTED(MPI_Ibsend, ISEND, (b, n, t, to, tag, c, r))
COUNTED(MPI_Recv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
        (b, n, t, from, tag, c, s))
COUNTED(MPI_Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
        (b, n, t, from, tag, c, r))
COUNTED(MPI_Start, (MPI_Request * r), (r))
COUNTED(MPI_Startall, (int n, MPI_Request* r), (n, r))
COUNTED(MPI_Wait, (MPI_Request * r, MPI_Status* s), (r, s))
COUNTED(MPI_Waitall, (int n, MPI_Request* r, MPI_Status* s), (n, r, s))
COUNTED(MPI_Waitany, (int n, MPI_Request* r, int* i, MPI_Status* s), (n, r, i, s))
COUNTED(MPI_Probe, (int from, int tag, MPI_Comm c, MPI_Status* s), (from, tag, c, s))
COUNTED(MPI_Mprobe, (int from, int tag, MPI_Comm c, MPI_Message* m, MPI_Status* s),
        (from, tag, c, m, s))

COUNTED(MPI_Barrier, (MPI_Comm c), (c))
COUNTED(MPI_Ibarrier, (MPI_Comm c, MPI_Request* r), (c, r))
COUNTED(MPI_Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(MPI_Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* r),
        (b, n, t, root, c, r))
COUNTED(MPI_Allreduce, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
        (a, b, n, t, o, c))
COUNTED(MPI_Iallreduce,
        (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request* r),
        (a, b, n, t, o, c, r))
COUNTED(MPI_Comm_dup, (MPI_Comm c, MPI_Comm* d), (c, d))
COUNTED(MPI_Comm_split, (MPI_Comm c, int colour, int key, MPI_Comm* d), (c, colour, key, d))
COUNTED(MPI_Comm_free, (MPI_Comm * c), (c))

#define TARGET int to, MPI_Aint at, int tn, MPI_Datatype tt
COUNTED(MPI_Win_create, (void* b, MPI_Aint s, int u, MPI_Info i, MPI_Comm c, MPI_Win* w),
        (b, s, u, i, c, w))
COUNTED(MPI_Win_allocate, (MPI_Aint s, int u, MPI_Info i, MPI_Comm c, void* b, MPI_Win* w),
        (s, u, i, c, b, w))
COUNTED(MPI_Win_fence, (int a, MPI_Win w), (a, w))
COUNTED(MPI_Win_lock, (int l, int to, int a, MPI_Win w), (l, to, a, w))
COUNTED(MPI_Win_unlock, (int to, MPI_Win w), (to, w))
COUNTED(MPI_Win_lock_all, (int a, MPI_Win w), (a, w))
COUNTED(MPI_Win_flush, (int to, MPI_Win w), (to, w))
COUNTED(MPI_Win_post, (MPI_Group g, int a, MPI_Win w), (g, a, w))
COUNTED(MPI_Win_start, (MPI_Group g, int a, MPI_Win w), (g, a, w))
COUNTED(MPI_Win_complete, (MPI_Win w), (w))
COUNTED(MPI_Put, (BUFFER, TARGET, MPI_Win w), (b, n, t, to, at, tn, tt, w))
COUNTED(MPI_Get, (void* b, int n, MPI_Datatype t, TARGET, MPI_Win w), (b, n, t, to, at, tn, tt, w))
COUNTED(MPI_Accumulate, (BUFFER, TARGET, MPI_Op o, MPI_Win w), (b, n, t, to, at, tn, tt, o, w))
COUNTED(MPI_Fetch_and_op,
        (const void* b, void* d, MPI_Datatype t, int to, MPI_Aint at, MPI_Op o, MPI_Win w),
        (b, d, t, to, at, o, w))
