// Linear equations by Jacobi's method. In each iteration every rank computes its share of the
// unknowns. All ranks send their shares to all others at the same moment, in short messages, and wait
// for those of all others. So the program is bound by latency and contention.
// Source: Bhoedjang 2000, 8.5.6 (LEQ: all processes broadcast 128 B at the end of an iteration).
#include "app.hpp"

namespace {

struct System {
  int n;
  std::vector<double> a;  // rows
  std::vector<double> b;
  std::vector<double> x;  // the solution
};

System make_system(int n) {
  app::Random random(app::seed);
  const auto width = static_cast<std::size_t>(n);
  System system{n, std::vector<double>(width * width), std::vector<double>(width),
                std::vector<double>(width)};
  for (auto& x : system.x) x = random.uniform() * 2 - 1;
  for (std::size_t i = 0; i < width; ++i) {
    double* row = &system.a[i * width];
    for (std::size_t j = 0; j < width; ++j) row[j] = random.uniform();
    row[i] = 0.6 * n;  // the sum of the others is about half of n: it converges, slowly
    for (std::size_t j = 0; j < width; ++j) system.b[i] += row[j] * system.x[j];
  }
  return system;
}

double next_value(const System& system, const std::vector<double>& x, int i) {
  const auto width = static_cast<std::size_t>(system.n);
  const double* row = &system.a[static_cast<std::size_t>(i) * width];
  double sum = system.b[static_cast<std::size_t>(i)];
  for (std::size_t j = 0; j < width; ++j) sum -= row[j] * x[j];
  const auto at = static_cast<std::size_t>(i);
  return x[at] + sum / row[at];
}

std::vector<double> sequential(const System& system, int iterations) {
  std::vector<double> x(static_cast<std::size_t>(system.n), 0.0);
  std::vector<double> next = x;
  for (int k = 0; k < iterations; ++k) {
    for (int i = 0; i < system.n; ++i) next[static_cast<std::size_t>(i)] = next_value(system, x, i);
    x.swap(next);
  }
  return x;
}

enum class Exchange { kAllgather, kBroadcasts, kHost };

// Iterates until no unknown changes by more than `enough`; returns the number of iterations.
int parallel(const System& system, std::vector<double>& x, Exchange exchange, double enough,
             int most) {
  std::vector<int> counts(static_cast<std::size_t>(app::ranks));
  std::vector<int> places(counts.size());
  for (int r = 0; r < app::ranks; ++r) {
    const app::Block block = app::block_of(system.n, r, app::ranks);
    counts[static_cast<std::size_t>(r)] = block.count;
    places[static_cast<std::size_t>(r)] = block.first;
  }
  const app::Block mine = app::block_of(system.n, app::rank, app::ranks);
  std::vector<double> next = x;
  for (int k = 1; k <= most; ++k) {
    double change = 0;
    for (int i = mine.first; i < mine.first + mine.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      next[at] = next_value(system, x, i);
      change = std::max(change, std::fabs(next[at] - x[at]));
    }
    if (exchange == Exchange::kAllgather) {
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, next.data(), counts.data(), places.data(),
                     MPI_DOUBLE, MPI_COMM_WORLD);
    } else {
      for (int r = 0; r < app::ranks; ++r) {
        const auto at = static_cast<std::size_t>(r);
        app::broadcast(&next[static_cast<std::size_t>(places[at])], counts[at], MPI_DOUBLE, r,
                       exchange == Exchange::kHost);
      }
    }
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    x.swap(next);
    if (change <= enough) return k;
  }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "leq",
                       "Linear equations by Jacobi: all ranks send their share to all, each time.");
  const int n = options.number("--unknowns", 512, 96, "unknowns");
  const int most = options.number("--iterations", 500, 500, "iterations at most");
  const std::string how =
      options.choice("--exchange", {"allgather", "bcast", "host"},
                     "by MPI_Allgatherv, one MPI_Bcast per rank, or this program's own trees");
  app::Run run(options);
  app::want(n >= app::ranks, "%d unknowns are too few", n);
  const System system = make_system(n);
  const auto exchange = how == "allgather" ? Exchange::kAllgather
                        : how == "bcast"   ? Exchange::kBroadcasts
                                           : Exchange::kHost;

  constexpr double kEnough = 1e-11;
  int iterations = 0;
  std::vector<double> values;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    std::vector<double> x(static_cast<std::size_t>(n), 0.0);
    const double seconds =
        app::longest([&] { iterations = parallel(system, x, exchange, kEnough, most); });
    values.push_back(seconds * 1e6 / iterations);
    app::require(iterations < most, "no solution after %d iterations", most);
    const std::vector<double> right = sequential(system, iterations);
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      app::require(x[at] == right[at], "unknown %d is %.17g, not %.17g", i, x[at], right[at]);
      app::require(std::fabs(x[at] - system.x[at]) < 1e-8, "unknown %d is wrong by %g", i,
                   x[at] - system.x[at]);
    }
  }
  run.report({.bench = "leq",
              .size = n,
              .values = values,
              .counts = {{"iterations", iterations}, {"bytes_each", n * 8.0 / app::ranks}}});
  return run.finish();
}
