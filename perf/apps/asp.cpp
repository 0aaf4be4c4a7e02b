// All-pairs shortest paths (Floyd-Warshall): iteration k broadcasts row k from its owner. Rows are
// divided into blocks, so the root stays for n/P iterations and then moves on. The receivers compute
// between two broadcasts. If the host forwards, a computing rank delays the tree.
// Source: Bhoedjang 2000, 8.5.2 (ASP).
#include "app.hpp"

namespace {

constexpr int kFar = 1 << 28;

struct Problem {
  int vertices;
  bool host;  // the rank forwards, not MPI_Bcast
  int probe;  // rows computed between two MPI_Iprobe, 0: none
};

std::vector<int> distances(int n) {
  app::Random random(app::seed);
  std::vector<int> all(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int weight = 1 + random.below(1000);
      const bool edge = random.below(8) == 0;
      all[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)] =
          i == j ? 0
          : edge ? weight
                 : kFar;
    }
  return all;
}

// Shortens paths from the vertex of `row` through the vertex of row `via`, at distance `there`.
void relax(int* row, const int* via, int there, int n) {
  if (there >= kFar) return;
  for (int j = 0; j < n; ++j) row[j] = std::min(row[j], there + via[j]);
}

void sequential(std::vector<int>& all, int n) {
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t k = 0; k < width; ++k) {
    const std::vector<int> via(&all[k * width], &all[k * width] + n);
    for (std::size_t i = 0; i < width; ++i)
      relax(&all[i * width], via.data(), all[i * width + k], n);
  }
}

void parallel(std::vector<int>& mine, app::Block block, const Problem& problem) {
  const int n = problem.vertices;
  const auto width = static_cast<std::size_t>(n);
  std::vector<int> via(width);
  for (int k = 0; k < n; ++k) {
    const int owner = app::owner_in_blocks(k, n, app::ranks);
    if (owner == app::rank)
      std::copy_n(&mine[static_cast<std::size_t>(k - block.first) * width], width, via.begin());
    app::broadcast(via.data(), n, MPI_INT, owner, problem.host);
    for (int i = 0; i < block.count; ++i) {
      int* row = &mine[static_cast<std::size_t>(i) * width];
      relax(row, via.data(), row[k], n);
      if (problem.probe > 0 && i % problem.probe == problem.probe - 1) {
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "asp",
                       "All-pairs shortest paths: one row broadcast per iteration, moving root.");
  Problem problem{};
  problem.vertices = options.number("--vertices", 512, 128, "vertices of the graph");
  problem.host = options.choice("--forwarding", app::kForwarding, app::kForwardingHelp) == "host";
  problem.probe = options.number("--probe", 0, 0, "MPI_Iprobe after so many rows; 0: never");
  app::Run run(options);
  const int n = problem.vertices;
  app::want(n >= app::ranks, "%d vertices are too few", n);

  const app::Block block = app::block_of(n, app::rank, app::ranks);
  const auto width = static_cast<std::size_t>(n);
  std::vector<int> all = distances(n);
  const std::size_t from = static_cast<std::size_t>(block.first) * width;
  const std::size_t length = static_cast<std::size_t>(block.count) * width;
  const std::vector<int> start(&all[from], &all[from] + length);
  sequential(all, n);

  std::vector<double> values;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    std::vector<int> mine = start;
    values.push_back(app::longest([&] { parallel(mine, block, problem); }) * 1e6 / n);
    for (std::size_t i = 0; i < length; ++i)
      app::require(mine[i] == all[from + i], "path %zu to %zu: length %d, not %d",
                   (from + i) / width, (from + i) % width, mine[i], all[from + i]);
  }
  run.report({.bench = "asp",
              .size = n,
              .values = values,
              .counts = {{"broadcasts", n}, {"bytes_each", n * 4.0}, {"host", problem.host}}});
  return run.finish();
}
