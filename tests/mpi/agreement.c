// MPI_Init and MPI_Finalize alone: the row coll/agreement counts the messages of the agreement about `coll lfc`.
#include "check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  return check_end_quietly();
}
