// Loaded before MPI, spoils what a program receives, so that a test can see whether it notices.
// SPOIL=flip: one wrong byte now and then; SPOIL=stall: one receive that never ends.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPI_Recv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  static int calls;
  const char* how = getenv("SPOIL");
  const int result = PMPI_Recv(data, count, type, source, tag, comm, status);
  if (++calls % 10 != 0 || how == NULL || count == 0) return result;
  if (strcmp(how, "flip") == 0) ((char*)data)[count - 1] ^= 1;
  while (strcmp(how, "stall") == 0) pause();
  return result;
}
