// Gaussian elimination. Rows are dealt out in turn. In step k the owner of row k chooses the pivot in
// it and broadcasts the rest of the row. Then all ranks eliminate. All ranks wait for the pivot row,
// so towards the end the broadcast takes all the time.
// Source: Falsafi and Wood 1996, 6.4 (gauss).
#include "app.hpp"

namespace {

struct System {
  int n;
  std::vector<double> rows;    // of this rank, n + 1 wide: the right side is the last column
  std::vector<double> answer;  // the solution it was made from
  double* row(int i) {
    return &rows[static_cast<std::size_t>(i) * static_cast<std::size_t>(n + 1)];
  }
};

System make_system(int n) {
  const int count = n / app::ranks + (app::rank < n % app::ranks ? 1 : 0);
  const auto width = static_cast<std::size_t>(n + 1);
  System system{n, std::vector<double>(static_cast<std::size_t>(count) * width),
                std::vector<double>(static_cast<std::size_t>(n))};
  app::Random random(app::seed);
  for (auto& x : system.answer) x = random.uniform() * 2 - 1;
  for (int i = 0; i < count; ++i) {
    app::Random of_row(app::seed * 7919 + static_cast<std::uint64_t>(i * app::ranks + app::rank));
    double* row = system.row(i);
    for (int j = 0; j < n; ++j) {
      row[j] = of_row.uniform() - 0.5;
      row[n] += row[j] * system.answer[static_cast<std::size_t>(j)];
    }
  }
  return system;
}

// Makes a triangular form by pivots within rows: columns[k] is the column of the k-th pivot.
void eliminate(System& system, std::vector<int>& columns, bool host) {
  const int n = system.n;
  const int count = n / app::ranks + (app::rank < n % app::ranks ? 1 : 0);
  std::vector<double> pivot(static_cast<std::size_t>(n + 2));  // row, right side, column
  std::vector<bool> used(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) {
    const int owner = k % app::ranks;
    if (owner == app::rank) {
      const double* row = system.row(k / app::ranks);
      int best = -1;
      for (int j = 0; j < n; ++j) {
        if (used[static_cast<std::size_t>(j)]) continue;
        if (best < 0 || std::fabs(row[j]) > std::fabs(row[best])) best = j;
      }
      std::copy_n(row, n + 1, pivot.begin());
      pivot.back() = best;
    }
    app::broadcast(pivot.data(), n + 2, MPI_DOUBLE, owner, host);
    const int column = static_cast<int>(pivot.back());
    app::require(column >= 0 && column < n && !used[static_cast<std::size_t>(column)],
                 "step %d: column %d is no pivot", k, column);
    used[static_cast<std::size_t>(column)] = true;
    columns[static_cast<std::size_t>(k)] = column;
    for (int i = 0; i < count; ++i) {
      if (i * app::ranks + app::rank <= k) continue;
      double* row = system.row(i);
      const double factor = row[column] / pivot[static_cast<std::size_t>(column)];
      for (int j = 0; j <= n; ++j) row[j] -= factor * pivot[static_cast<std::size_t>(j)];
    }
  }
}

// Substitutes backwards; the owner of each row broadcasts its unknown.
std::vector<double> substitute(System& system, const std::vector<int>& columns, bool host) {
  const int n = system.n;
  std::vector<double> x(static_cast<std::size_t>(n), 0.0);
  std::vector<bool> known(static_cast<std::size_t>(n));
  for (int k = n - 1; k >= 0; --k) {
    const int column = columns[static_cast<std::size_t>(k)];
    double value = 0;
    if (k % app::ranks == app::rank) {
      const double* row = system.row(k / app::ranks);
      value = row[n];
      for (int j = 0; j < n; ++j)
        if (known[static_cast<std::size_t>(j)]) value -= row[j] * x[static_cast<std::size_t>(j)];
      value /= row[column];
    }
    app::broadcast(&value, 1, MPI_DOUBLE, k % app::ranks, host);
    x[static_cast<std::size_t>(column)] = value;
    known[static_cast<std::size_t>(column)] = true;
  }
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "gauss",
                       "Gaussian elimination: the pivot row is broadcast, everybody waits for it.");
  const int n = options.number("--unknowns", 336, 96, "unknowns");
  const bool host =
      options.choice("--forwarding", app::kForwarding, app::kForwardingHelp) == "host";
  app::Run run(options);
  app::want(n >= app::ranks, "%d unknowns are too few", n);

  std::vector<double> values;
  double worst = 0;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    System system = make_system(n);
    std::vector<int> columns(static_cast<std::size_t>(n));
    std::vector<double> x;
    const double seconds = app::longest([&] {
      eliminate(system, columns, host);
      x = substitute(system, columns, host);
    });
    values.push_back(seconds * 1e6 / n);
    worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, std::fabs(x[i] - system.answer[i]));
    app::require(worst < 1e-7, "the solution is wrong by %g", worst);
  }
  run.report({.bench = "gauss",
              .size = n,
              .values = values,
              .counts = {{"broadcasts", 2.0 * n}, {"host", host}, {"error", worst}}});
  return run.finish();
}
