// Each call and each flag of chapter 5.2 of the thesis (neon.h), and each call of mpix_neon.h from C. Needs 2 ranks.
#include "check.h"

#include "api/invalid.h"
#include "api/mpix.h"
#include "api/rounds.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 2, "needs 2 ranks");
  mpix_calls();
  invalid_arguments();
  rounds();
  require(NEON_Finalize() == 0, "finalize");
  return check_end();
}
