// A stream that a test disturbs half way. One rank decides how long it goes on; the receiver prints "stream: half" in
// the middle. With --until FILE the stream goes on until that file exists, and then for as much as half of it.
//
//   read_until(argc, argv);
//   bool told = sender;
//   for (size_t done = 0; goes_on(peer, sender, done, all); done += size) {
//     ...
//     mark(done, all, &told);
//   }
#pragma once
#include <sys/stat.h>

#include "check.h"

static const char* until;

static inline void read_until(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--until") == 0) until = argv[i + 1];
}

static inline void mark(size_t done, size_t all, bool* told) {
  if (*told || done < all / 2) return;
  *told = true;
  printf("stream: half\n");
  fflush(stdout);
}

// For the rank that decides.
static inline bool has_more(size_t done, size_t all) {
  static size_t seen_at;
  struct stat about;
  if (seen_at == 0 && done > 0 && (until == NULL || stat(until, &about) == 0)) seen_at = done;
  return done < all || seen_at == 0 || (until != NULL && done < seen_at + all / 2);
}

// The sender decides, and notifies the receiver.
static inline bool goes_on(int peer, bool sender, size_t done, size_t all) {
  int more = sender && has_more(done, all);
  if (sender)
    MPI_Send(&more, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
  else
    MPI_Recv(&more, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return more != 0;
}
