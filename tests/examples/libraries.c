/* Settings for the examples at the top of the public headers (scripts/checks/examples): the types of their variables.
 * Nothing here is ever run. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "mca/libraries/lfc_ordered/include/lfc_ordered.h"
#include "mca/libraries/mpix_neon/include/mpix_neon.h"
#include "mca/libraries/mpix_neon/include/neon.h"

int ordered(void) {
#define static /* the handler is a nested function here, which the compiler knows as an extension */
#include "mca/libraries/lfc_ordered/include/lfc_ordered.h.example"
#undef static
  return 0;
}

void mpix_neon(MPI_Win win, int left, int right, int n, int rounds, char* out,
               void (*first_and_last_row)(char*), void (*all_other_rows)(void)) {
#include "mca/libraries/mpix_neon/include/mpix_neon.h.example"
}

enum { TAG = 7 };
void neon(void* cells, int bytes, void* row, void* border, int n, int neighbour) {
#include "mca/libraries/mpix_neon/include/neon.h.example"
}
