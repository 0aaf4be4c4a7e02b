// Run: MPI from its start to its end, and the lines of output.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "app/options.hpp"

namespace app {

struct Series {
  std::string bench;
  long size = 0;
  std::string unit = "us";
  std::vector<double> values = {};  // one for each repetition
  std::vector<std::pair<std::string, double>> counts = {};
  // Benches of the same size and unit whose values were measured in the same rounds.
  std::vector<std::string> against = {};
};

class Run {
 public:
  explicit Run(Options& options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  Run(Run&&) = delete;
  Run& operator=(Run&&) = delete;
  ~Run();

  void report(const Series& series);
  // Reports a bench that cannot be measured here, and the reason.
  static void absent(const std::string& bench, long size, const std::string& why);
  // Reports success, and returns the result of main. MPI ends with this object, so after all objects
  // that were made later.
  int finish();

 private:
  void show_ratios() const;

  std::vector<Series> series_;
  bool right_ = false;
};

double quantile(std::vector<double> values, double q);

// Returns the seconds that the slowest rank needs; all ranks begin together.
template <class Function>
double longest(Function&& function) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  function();
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

}  // namespace app
