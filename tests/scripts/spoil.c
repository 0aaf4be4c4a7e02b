// Loaded before MPI, corrupts the data that a program receives, so that a test can check whether the program
// detects it. SPOIL=flip: one wrong byte now and then; SPOIL=stall: one receive that never ends. SPOIL=MPI_Bcast
// and other names of calls below: that call delivers, or sends, a wrong byte now and then.
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

// Whether this call is to be corrupted.
static int is_time(const char* name) {
  static int calls;
  const char* how = getenv("SPOIL");
  return how != NULL && strcmp(how, name) == 0 && ++calls % 5 == 0;
}

// The last byte of the element in the middle, because elements at the edges may be unused.
static void flip(void* data, int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  if (count > 0 && size > 0) ((char*)data)[count / 2 * size + size - 1] ^= 1;
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0;
  const int result = PMPI_Bcast(data, count, type, root, comm);
  PMPI_Comm_rank(comm, &rank);
  if (rank != root && is_time("MPI_Bcast")) flip(data, count, type);
  return result;
}

int MPI_Allgatherv(const void* out, int count, MPI_Datatype type, void* in, const int counts[],
                   const int places[], MPI_Datatype in_type, MPI_Comm comm) {
  const int result = PMPI_Allgatherv(out, count, type, in, counts, places, in_type, comm);
  if (is_time("MPI_Allgatherv")) flip(in, counts[0], in_type);
  return result;
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  const int result = PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type,
                                   from, in_tag, comm, status);
  if (from != MPI_PROC_NULL && is_time("MPI_Sendrecv")) flip(in, in_count, in_type);
  return result;
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (is_time("MPI_Isend")) flip((void*)data, count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Put(const void* data, int count, MPI_Datatype type, int to, MPI_Aint at, int there,
            MPI_Datatype their_type, MPI_Win window) {
  if (is_time("MPI_Put")) flip((void*)data, count, type);
  return PMPI_Put(data, count, type, to, at, there, their_type, window);
}

int MPI_Accumulate(const void* data, int count, MPI_Datatype type, int to, MPI_Aint at, int there,
                   MPI_Datatype their_type, MPI_Op operation, MPI_Win window) {
  if (is_time("MPI_Accumulate")) flip((void*)data, count, type);
  return PMPI_Accumulate(data, count, type, to, at, there, their_type, operation, window);
}

// A message that gets lost; not one of the short messages by which ranks agree.
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  static int spoiled;
  if (!spoiled && count > 8 && is_time("MPI_Send")) return spoiled = 1, MPI_SUCCESS;
  return PMPI_Send(data, count, type, to, tag, comm);
}
