// The common parts of all MPI test programs: start and end, options, and a watchdog that prints which operation
// this rank waits for. Message contents are chosen so that wrong data cannot match by chance.
//
//   int main(int argc, char** argv) {
//     check_start(&argc, &argv, MPI_THREAD_SINGLE);
//     doing("receive of %zu bytes from %d", n, peer);       // shown when the watchdog barks
//     fill(out, n, key_of(me, peer, 7));
//     ...
//     verify(in, n, key_of(peer, me, 7), peer);             // first wrong byte ends the job
//     require(count == 3, "peer %d: count %d, not 3", peer, count);
//     return check_end();
//   }
//
// Options of all programs: --seed N, --long, --limit SECONDS (the limit of the watchdog). Exit: 0 and a last line
// "ok" from rank 0, or not 0 and one line that begins with FAIL or HANG, or 76 and lines that begin with "late: ".
// Include it first, because it chooses the POSIX version. C++ may also include it, in one file of a program.
#ifndef LFC_TESTS_MPI_CHECK_H
#define LFC_TESTS_MPI_CHECK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me;     // rank in MPI_COMM_WORLD
static int ranks;  // size of MPI_COMM_WORLD
static uint64_t seed = 1;
static bool long_run;
// Seconds; a slower program sets more before check_start. A machine may stand still for a minute.
static unsigned patience = 120;

// --- The watchdog ---

enum { kStateSlots = 8, kStateLength = 320 };
// One line per thread. The signal handler reads them in whichever thread gets SIGALRM; a torn line is still worth
// reading.
static char state_line[kStateSlots][kStateLength];
#ifdef __cplusplus
static thread_local int state_slot;
#else
static _Thread_local int state_slot;
#endif
static char program_name[64];

static inline void say(const char* text, size_t length) {
  while (length > 0) {
    const ssize_t n = write(STDERR_FILENO, text, length);
    if (n <= 0) return;
    text += n;
    length -= (size_t)n;
  }
}

// Prints the view of lfc-look, if it has been built: one rank queries all ranks while the others wait for their
// second alarm.
static char look_program[1024];
static char look_pid[16];

static inline void look(void) {
  static char verdict[] = "--verdict";
  char* const arguments[] = {look_program, verdict, look_pid, NULL};
  char* const environment[] = {NULL};
  pid_t child;
  if (me == 0 && look_program[0] != '\0')
    (void)posix_spawn(&child, look_program, NULL, NULL, arguments, environment);
}

static inline void on_alarm(int number) {
  (void)number;
  static volatile sig_atomic_t told;
  if (told) _exit(124);
  told = 1;
  char line[kStateLength + 128];
  for (int slot = 0; slot < kStateSlots; ++slot) {
    if (state_line[slot][0] == '\0') continue;
    // snprintf is not in the list of signal-safe functions; the process ends right after.
    const int n = snprintf(line, sizeof line, "HANG %s rank %d of %d, thread %d: %s\n",
                           program_name, me, ranks, slot, state_line[slot]);
    say(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
  }
  look();
  alarm(2);  // the other ranks print their state before the launcher ends them
}

__attribute__((format(printf, 1, 2))) static inline void doing(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(state_line[state_slot], kStateLength, format, args);
  va_end(args);
}

// --- Failures ---

__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char* format, ...) {
  char line[768];
  int n = snprintf(line, sizeof line, "FAIL %s rank %d of %d (seed %llu): ", program_name, me,
                   ranks, (unsigned long long)seed);
  va_list args;
  va_start(args, format);
  n += vsnprintf(line + n, sizeof line - (size_t)n - 32, format, args);
  va_end(args);
  if (n > (int)sizeof line - 33) n = (int)sizeof line - 33;
  line[n++] = '\n';
  say(line, (size_t)n);
  doing("MPI_Abort");
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

#define require(condition, ...)          \
  do {                                   \
    if (!(condition)) fail(__VA_ARGS__); \
  } while (0)

// A measured time exceeds its bound, which is no failure: the machine may have had other work. The program goes on,
// and ends with its own exit code.
enum { kLateExit = 76 };
static bool missed_bound;

__attribute__((format(printf, 1, 2))) static inline void late(const char* format, ...) {
  missed_bound = true;
  va_list args;
  va_start(args, format);
  fputs("late: ", stdout);
  vprintf(format, args);
  putchar('\n');
  va_end(args);
  fflush(stdout);
}

// --- Contents ---

static inline uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A key for the contents of one message; its arguments distinguish the message from all others.
static inline uint64_t key_of(int from, int to, uint64_t number) {
  return scramble(scramble(seed + number * 0x9e3779b97f4a7c15u) +
                  (uint64_t)(unsigned)from * 65537u + (uint64_t)(unsigned)to);
}

static inline uint64_t word_at(uint64_t key, size_t index) {
  return scramble(key + (uint64_t)index * 0x9e3779b97f4a7c15u);
}

static inline void fill(void* data, size_t size, uint64_t key) {
  unsigned char* bytes = (unsigned char*)data;
  size_t offset = 0;
  for (; offset + 8 <= size; offset += 8) {
    const uint64_t word = word_at(key, offset / 8);
    memcpy(bytes + offset, &word, 8);
  }
  const uint64_t last = word_at(key, offset / 8);
  if (offset < size) memcpy(bytes + offset, &last, size - offset);
}

// Offset of the first wrong byte, or `size`.
static inline size_t first_wrong(const void* data, size_t size, uint64_t key) {
  const unsigned char* bytes = (const unsigned char*)data;
  for (size_t offset = 0; offset < size; offset += 8) {
    const size_t n = size - offset < 8 ? size - offset : 8;
    const uint64_t word = word_at(key, offset / 8);
    if (memcmp(bytes + offset, &word, n) == 0) continue;
    unsigned char expected[8];
    memcpy(expected, &word, 8);
    for (size_t i = 0; i < n; ++i)
      if (bytes[offset + i] != expected[i]) return offset + i;
  }
  return size;
}

static inline void verify(const void* data, size_t size, uint64_t key, int peer) {
  const size_t offset = first_wrong(data, size, key);
  if (offset == size) return;
  const uint64_t word = word_at(key, offset / 8);
  unsigned char expected[8];
  memcpy(expected, &word, 8);
  fail("message from %d, %zu bytes: byte %zu is %02x, not %02x (%s)", peer, size, offset,
       ((const unsigned char*)data)[offset], expected[offset % 8], state_line[state_slot]);
}

// --- A reproducible random sequence ---

static inline uint64_t next_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15u;
  return scramble(*state);
}

static inline uint64_t random_below(uint64_t* state, uint64_t bound) {
  return next_random(state) % bound;
}

// --- Small helpers ---

static inline void* allocate(size_t size) {
  void* data = malloc(size > 0 ? size : 1);
  if (data == NULL) fail("out of memory for %zu bytes", size);
  return data;
}

static inline void pause_seconds(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) continue;
}

// The number after an option, or `otherwise`.
static inline long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return strtol(argv[i + 1], NULL, 0);
  return otherwise;
}

static inline bool has_option(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], name) == 0) return true;
  return false;
}

// A given limit, which scripts/test can multiply. Without one, the larger of the default limit and two thirds of the
// limit of the row in tests/suite.table, which is multiplied already.
static inline unsigned watchdog_seconds(long given) {
  const char* const times = getenv("LFC_TEST_PATIENCE");
  if (given > 0) return (unsigned)given * (times != NULL ? (unsigned)strtoul(times, NULL, 10) : 1);
  const char* const limit = getenv("LFC_TEST_LIMIT");
  const unsigned of_row = limit != NULL ? (unsigned)strtoul(limit, NULL, 10) / 3 * 2 : 0;
  return of_row > patience ? of_row : patience;
}

static inline void check_start(int* argc, char*** argv, int threads) {
  const char* slash = strrchr((*argv)[0], '/');
  snprintf(program_name, sizeof program_name, "%s", slash != NULL ? slash + 1 : (*argv)[0]);
  doing("MPI_Init");
  const char* build = getenv("LFC_BUILD");
  if (build != NULL) snprintf(look_program, sizeof look_program, "%s/default/bin/lfc-look", build);
  snprintf(look_pid, sizeof look_pid, "%ld", (long)getpid());
  signal(SIGALRM, on_alarm);
  alarm(watchdog_seconds(option(*argc, *argv, "--limit", 0)));
  int provided = 0;
  MPI_Init_thread(argc, argv, threads, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  seed = (uint64_t)option(*argc, *argv, "--seed", 1);
  long_run = has_option(*argc, *argv, "--long");
  doing("after MPI_Init");
}

// Ends without a message of its own, for programs that count connections.
static inline int check_end_quietly(void) {
  doing("MPI_Finalize");
  MPI_Finalize();
  if (missed_bound) return kLateExit;
  if (me == 0) {
    printf("ok\n");
    fflush(stdout);
  }
  return 0;
}

static inline int check_end(void) {
  doing("last barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  return check_end_quietly();
}

#endif
