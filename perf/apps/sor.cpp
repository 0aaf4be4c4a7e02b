// Red-black successive over-relaxation on a square grid in blocks of rows. Each half iteration
// exchanges one row with either neighbour, each iteration reduces one double. With 1536 columns a row
// has 12 KB, more than a window of short packets. If the host handles the window, the sender stands
// still.
// Source: Bhoedjang 2000, 8.5.10 (SOR: 12 KB neighbour exchange, 1-double allreduce, 42 iterations).
#include "app.hpp"

namespace {

// Rows [first, first + count) of the grid, one more on either side, and a fixed edge left and right.
struct Grid {
  int first;
  int count;
  int columns;
  std::vector<double> cells;
  double* row(int i) {  // -1 .. count
    return &cells[static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(columns)];
  }
};

double start_value(int i, int j, int columns) {
  app::Random random(app::seed +
                     static_cast<std::uint64_t>(i + 1) * static_cast<std::uint64_t>(columns) +
                     static_cast<std::uint64_t>(j));
  return random.uniform();
}

Grid make_grid(app::Block block, int columns) {
  Grid grid{block.first, block.count, columns, {}};
  grid.cells.resize(static_cast<std::size_t>(block.count + 2) * static_cast<std::size_t>(columns));
  for (int i = -1; i <= block.count; ++i)
    for (int j = 0; j < columns; ++j) grid.row(i)[j] = start_value(block.first + i, j, columns);
  return grid;
}

// Updates the cells of one colour; returns the largest change.
double relax(Grid& grid, int colour, double omega) {
  double change = 0;
  for (int i = 0; i < grid.count; ++i) {
    double* row = grid.row(i);
    const double* above = grid.row(i - 1);
    const double* below = grid.row(i + 1);
    for (int j = 1 + (grid.first + i + colour) % 2; j + 1 < grid.columns; j += 2) {
      const double by = omega * (0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]) - row[j]);
      row[j] += by;
      change = std::max(change, std::fabs(by));
    }
  }
  return change;
}

void exchange(Grid& grid) {
  const int up = app::rank > 0 ? app::rank - 1 : MPI_PROC_NULL;
  const int down = app::rank + 1 < app::ranks ? app::rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(grid.row(0), grid.columns, MPI_DOUBLE, up, 1, grid.row(grid.count), grid.columns,
               MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(grid.row(grid.count - 1), grid.columns, MPI_DOUBLE, down, 2, grid.row(-1),
               grid.columns, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Iterates; returns the change of the last iteration, the same on all ranks.
double iterate(Grid& grid, int iterations, double omega, bool alone) {
  double change = 0;
  for (int k = 0; k < iterations; ++k) {
    change = 0;
    for (int colour = 0; colour < 2; ++colour) {
      if (!alone) exchange(grid);
      change = std::max(change, relax(grid, colour, omega));
    }
    if (!alone) MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  return change;
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "sor",
                       "Red-black over-relaxation: rows with neighbours, one reduction each time.");
  const int rows = options.number("--rows", 256, 64, "rows of the grid");
  const int columns = options.number("--columns", 1536, 256, "columns of the grid");
  const int iterations = options.number("--iterations", 42, 10, "iterations");
  const double omega = options.real("--omega", 1.5, 1.5, "relaxation, below 2");
  app::Run run(options);
  app::want(rows >= app::ranks && columns >= 3 && iterations > 0, "the grid is too small");

  Grid whole = make_grid({0, rows}, columns);
  const double right = iterate(whole, iterations, omega, true);
  const app::Block block = app::block_of(rows, app::rank, app::ranks);
  std::vector<double> values;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    Grid grid = make_grid(block, columns);
    double change = 0;
    const double seconds = app::longest([&] { change = iterate(grid, iterations, omega, false); });
    values.push_back(seconds * 1e6 / iterations);
    app::require(change == right, "the last change is %.17g, not %.17g", change, right);
    for (int i = 0; i < block.count; ++i)
      app::require(std::equal(grid.row(i), grid.row(i) + columns, whole.row(block.first + i)),
                   "row %d is wrong", block.first + i);
  }
  run.report(
      {.bench = "sor",
       .size = columns,
       .values = values,
       .counts = {{"rows", rows}, {"iterations", iterations}, {"bytes_each", columns * 8.0}}});
  return run.finish();
}
