// A broadcast fails at all ranks if its root cannot pack the elements: the others must not get memory that was never
// written. Open MPI's function that packs is replaced by one that can be made to fail.
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <sys/uio.h>

typedef int32_t Pack(void* convertor, struct iovec* pieces, uint32_t* count, size_t* bytes);

static size_t refused; /* bytes of the pack that fails; 0: none */

__attribute__((visibility("default"))) Pack opal_convertor_pack;

int32_t opal_convertor_pack(void* convertor, struct iovec* pieces, uint32_t* count, size_t* bytes) {
  static Pack* pack;
  if (refused != 0 && *bytes == refused) return -1;
  if (pack == NULL) *(void**)&pack = dlsym(RTLD_NEXT, "opal_convertor_pack");
  require(pack != NULL, "Open MPI has no opal_convertor_pack");
  return pack(convertor, pieces, count, bytes);
}

static void one_case(int count) {
  MPI_Comm comm; /* one for each case: between nodes a failure is final */
  MPI_Datatype type;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Type_vector(count, 1, 2, MPI_INT32_T, &type);
  MPI_Type_commit(&type);
  int32_t* values = calloc((size_t)count * 2, sizeof *values);
  require(values != NULL, "no memory");
  doing("a broadcast of %d elements from a root that cannot pack", count);
  if (me == 0) refused = (size_t)count * sizeof *values;
  const int error = MPI_Bcast(values, 1, type, 0, comm);
  refused = 0;
  require(error != MPI_SUCCESS, "a broadcast of %d elements from a root that cannot pack succeeded",
          count);
  free(values);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const int counts[] = {2, 14, 15, 1000, 100000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) one_case(counts[i]);
  return check_end();
}
