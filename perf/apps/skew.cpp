// A ring of ranks with delays. In each iteration a rank computes a boundary (5 %), pushes 8 bytes to
// both neighbours and computes the rest. Now and then a rank is late. A rank that notifies its
// neighbours at its end passes its delay on to them; a rank that notifies early does not. Ranks sleep
// instead of computing, so the number of cores does not matter. Beside the times stand those of a
// model of the same delays. In the model an iteration ends when the rank has finished its own part
// and has the data of its neighbours (fence: of all ranks).
// Source: Schneidenbach 2009, 4.3.6 and 4.4.4; the model is a max-plus recursion.
#include "ring_ways.hpp"

namespace {

struct Delays {
  int iterations;
  std::vector<double> extra;  // [iteration * ranks + rank], in iterations
  [[nodiscard]] double of(int k, int r) const {
    return extra[static_cast<std::size_t>(k) * static_cast<std::size_t>(app::ranks) +
                 static_cast<std::size_t>(r)];
  }
};

Delays make_delays(int iterations, const std::string& noise) {
  app::Random random(app::seed);
  Delays delays{iterations, {}};
  for (int i = 0; i < iterations * app::ranks; ++i) {
    double extra = 0;
    if (noise == "spikes") extra = random.below(8) == 0 ? 1 : 0;
    if (noise == "exponential") extra = random.exponential(0.2);
    delays.extra.push_back(extra);
  }
  return delays;
}

constexpr double kBoundary = 0.05;  // of an iteration
constexpr double kLatency = 0.02;   // of the model

// Returns the time of the model, in iterations.
double model(const Delays& delays, const std::string& way) {
  const auto ranks = static_cast<std::size_t>(app::ranks);
  std::vector<double> end(ranks, 0.0);
  for (int k = 0; k < delays.iterations; ++k) {
    std::vector<double> own(ranks), told(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      own[r] = end[r] + 1 + delays.of(k, static_cast<int>(r));
      const bool early = way == "isend" || way == "lock" || way == "neon" || way == "notify";
      told[r] = (early ? end[r] + kBoundary : own[r]) + kLatency;
    }
    const double all = *std::max_element(told.begin(), told.end());
    for (std::size_t r = 0; r < ranks; ++r)
      end[r] = way == "fence"
                   ? all
                   : std::max({own[r], told[(r + 1) % ranks], told[(r + ranks - 1) % ranks]});
  }
  return *std::max_element(end.begin(), end.end());
}

std::int64_t stamp(int repeat, int k, int r) {
  return (static_cast<std::int64_t>(repeat) * 1000000 + k) * 1000 + r;
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "skew", "A ring of ranks, some of which are late at times.");
  const auto ways = options.choices("--ways", ring::kWays, ring::kWays, "synchronisation");
  const std::string noise = options.choice("--noise", {"spikes", "exponential", "none"},
                                           "late by an iteration one time in 8, or by 0.2 on "
                                           "average, or never");
  const double length = options.real("--length", 2000, 500, "us of one iteration");
  const int iterations = options.number("--iterations", 60, 8, "iterations");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(app::ranks >= 2, "a ring has two ranks at least");
  app::want(iterations > 0, "an iteration is wanted");
  const Delays delays = make_delays(iterations, noise);

  const ring::Layout layout{8, 2};
  std::vector<std::unique_ptr<ring::Exchange>> exchanges;
  for (const auto& way : ways) exchanges.push_back(ring::make(way, layout, windows));
  std::vector<std::vector<double>> values(ways.size());
  std::vector<std::vector<double>> barriers(ways.size());  // us
  for (int repeat = 0; repeat < options.repeats(); ++repeat)
    for (std::size_t w = 0; w < ways.size(); ++w) {
      ring::Exchange& exchange = *exchanges[w];
      if (!exchange.problem().empty()) continue;
      const auto cell = [&](int slot, int row) {
        return reinterpret_cast<std::int64_t*>(exchange.row(slot, row));
      };
      exchange.begin();
      double own_end = 0;
      const double seconds = app::longest([&] {
        for (int k = 0; k < iterations; ++k) {
          const int slot = k % 2;
          exchange.expect(slot);
          app::sleep_us(length * kBoundary);
          *cell(slot, 1) = *cell(slot, 2) = stamp(repeat, k, app::rank);
          exchange.push(slot);
          app::sleep_us(length * (1 - kBoundary + delays.of(k, app::rank)));
          exchange.finish(slot);
          app::require(*cell(slot, 0) == stamp(repeat, k, ring::up()) &&
                           *cell(slot, 3) == stamp(repeat, k, ring::down()),
                       "%s: iteration %d has another one's data", ways[w].c_str(), k);
        }
        own_end = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
      });
      double waited = MPI_Wtime() - own_end;
      MPI_Allreduce(MPI_IN_PLACE, &waited, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      barriers[w].push_back(waited * 1e6);
      values[w].push_back(seconds * 1e6 / iterations);
    }
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const auto size = static_cast<long>(length);
    if (values[w].empty()) {
      app::Run::absent("skew_" + ways[w], size, exchanges[w]->problem());
      continue;
    }
    run.report({.bench = "skew_" + ways[w],
                .size = size,
                .values = values[w],
                .counts = {{"model", model(delays, ways[w]) * length / iterations},
                           {"barrier", app::quantile(barriers[w], 0.5)}},
                .against = {"skew_isend", "skew_neon"}});
  }
  return run.finish();
}
