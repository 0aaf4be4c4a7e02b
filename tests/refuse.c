/* refuse: runs a program to which the kernel refuses system calls, as in a container with a seccomp filter.
 *
 *   refuse [--rank N] [--errno N] CALL[,CALL]... PROGRAM ARGS...
 *   mpirun -n 2 refuse --rank 0 memfd_create,F_GET_SEALS ./a.out
 *
 * --rank: only in this rank of an MPI job; the others run the program without a filter. --errno: 1 (EPERM) without it.
 * tests/refuse.h lists the calls. Exit code 2: invalid argument; 77: this kernel has no seccomp.
 */
#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  bool applies = true;
  int error = EPERM, at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--rank") == 0)
      applies = rank != NULL && atoi(rank) == atoi(argv[at + 1]);
    else if (strcmp(argv[at], "--errno") == 0)
      error = atoi(argv[at + 1]);
    else
      break;
  }
  if (at + 1 >= argc || argv[at][0] == '-') {
    fprintf(stderr, "usage: refuse [--rank N] [--errno N] CALL[,CALL]... PROGRAM ARGS...\n");
    return 2;
  }
  if (applies && !refuse_calls(argv[at], error)) {
    fprintf(stderr, "refuse: '%s': %s\n", argv[at], strerror(errno));
    return errno == EINVAL ? 2 : 77;
  }
  execvp(argv[at + 1], argv + at + 1);
  fprintf(stderr, "refuse: %s: %s\n", argv[at + 1], strerror(errno));
  return 127;
}
