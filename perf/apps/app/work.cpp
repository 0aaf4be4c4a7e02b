#include "app/work.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace app {

void toil(long units) {
  double x = 1.0;
  __asm__ __volatile__("" : "+m"(x));
  for (long i = 0; i < units; ++i) x = x * 0.999999 + 1e-6;
  __asm__ __volatile__("" : : "m"(x));
}

Work::Work() {
  constexpr long kUnits = 20000;
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double start = MPI_Wtime();
    toil(kUnits);
    best = std::min(best, MPI_Wtime() - start);
  }
  MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  units_per_us_ = kUnits / (best * 1e6);
}

void sleep_us(double us) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<long>(us * 1e3)));
}

}  // namespace app
