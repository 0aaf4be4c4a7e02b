// A process looks each other rank up once in Open MPI's start-up exchange, whichever component needs it. A look-up is a
// change of threads; with many ranks the look-ups took most of the time of a window.
#include "lookups.h"
#include "check.h"

static void make_windows(MPI_Comm comm) {
  char memory[64];
  void* base = NULL;
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_free(&win);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, &base, &win);
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
  MPI_Win_free(&win);
}

static void make_shared_window(void) {
  MPI_Comm node;
  void* base = NULL;
  MPI_Win win;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, node, &base, &win);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(all_lookups() > 0, "Open MPI does not call this PMIx_Get");

  const unsigned others = (unsigned)ranks - 1;
  require(lfc_lookups() <= others, "%u look-ups in MPI_Init", lfc_lookups());

  doing("first windows");
  make_windows(MPI_COMM_WORLD);
  require(lfc_lookups() == others, "%u look-ups until the first windows", lfc_lookups());

  doing("further windows");
  make_windows(MPI_COMM_WORLD);
  make_shared_window();
  MPI_Comm other;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &other);
  make_windows(other);
  MPI_Comm_free(&other);
  require(lfc_lookups() == others, "%u look-ups with further windows", lfc_lookups());
  return check_end();
}
