/* Combination: the arguments of an accumulate, for C and C++.
 *
 * The notified accumulate of the library goes to the component `osc neon`, whose operations are in C.
 */
#ifndef LFC_NEON_COMBINATION_H
#define LFC_NEON_COMBINATION_H

#include <mpi.h>
#include <stdbool.h>

typedef struct lfc_neon_combination {
  const void* origin;
  int count;
  MPI_Datatype type;
  bool fetches; /* MPI_Get_accumulate: the old values go to `result` */
  void* result;
  int result_count;
  MPI_Datatype result_type;
  int target;
  MPI_Aint disp;
  int there_count;
  MPI_Datatype there_type;
  MPI_Op op;
} lfc_neon_combination;

#endif
