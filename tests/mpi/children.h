// Jobs that spawn children of the same program: both merge, and run the same test.
//
//   int main(int argc, char** argv) {
//     check_start(&argc, &argv, MPI_THREAD_SINGLE);
//     return run_with_children(argc, argv, together);     // together(inter, high): `inter` leads to the other job
//   }
//
// The children get the arguments of the program, and --spawned. Skipped, with the reason, if Open MPI itself does not
// manage to spawn.
#ifndef LFC_TESTS_MPI_CHILDREN_H
#define LFC_TESTS_MPI_CHILDREN_H

#include "check.h"

enum { kChildren = 2 };

// Returns Open MPI's status.
static inline int spawn_children(int argc, char** argv, MPI_Comm* children) {
  char** const arguments = (char**)allocate(((size_t)argc + 1) * sizeof *arguments);
  char spawned[] = "--spawned";
  for (int i = 1; i < argc; ++i) arguments[i - 1] = argv[i];
  arguments[argc - 1] = spawned;
  arguments[argc] = NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  doing("spawn");
  const int error = MPI_Comm_spawn(argv[0], arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                   children, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free(arguments);
  return error;
}

// Calls together(inter, 0) in the parents and together(inter, 1) in the children. Returns the exit code.
static inline int run_with_children(int argc, char** argv,
                                    void (*together)(MPI_Comm inter, int high)) {
  MPI_Comm parent, children;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    together(parent, 1);
    doing("child: MPI_Finalize");
    MPI_Finalize();
    return 0;
  }
  const int error = spawn_children(argc, argv, &children);
  if (error == MPI_SUCCESS) {
    together(children, 0);
  } else {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    if (me == 0) printf("skipped: MPI_Comm_spawn reports %s\n", text);
  }
  return check_end();
}

#endif
