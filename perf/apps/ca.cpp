// A cellular automaton (each cell from its eight neighbours) in blocks of rows on a ring of ranks.
// Ranks exchange only the outer rows, while they compute the inner ones. The size of a block is given
// as the percentage of communicated cells: two rows of `lines`.
// Ways: blocking and nonblocking messages, fence, post-start-complete-wait, lock with flush, and
// NEON's announced puts and puts with counters. The place of the puts and of MPI_Win_complete in the
// iteration can be moved.
// Source: Schneidenbach 2009, 5.1 (tables 5.1, 5.3, 5.4) and 5.4.3 (figure 5.6).
#include "ring_ways.hpp"

namespace {

using Cell = std::int32_t;

// Computes the next iteration of the middle row of three. Columns are also a ring: rows have one
// ghost cell at either end.
void step(const Cell* above, const Cell* middle, const Cell* below, Cell* next, int columns) {
  for (int j = 1; j <= columns; ++j) {
    const Cell around = above[j - 1] + above[j] + above[j + 1] + middle[j - 1] + middle[j + 1] +
                        below[j - 1] + below[j] + below[j + 1];
    // This rule is cheap, and an error spreads instead of disappearing.
    next[j] = ((around >> 1) ^ middle[j] ^ (around & (middle[j] + 1))) & 3;
  }
  next[0] = next[columns];
  next[columns + 1] = next[1];
}

using Row = std::vector<Cell>;

std::vector<Row> start_cells(int rows, int columns) {
  app::Random random(app::seed);
  std::vector<Row> cells(static_cast<std::size_t>(rows));
  for (auto& row : cells) {
    row.resize(static_cast<std::size_t>(columns + 2));
    for (int j = 1; j <= columns; ++j) row[static_cast<std::size_t>(j)] = random.below(4);
    row.front() = row[static_cast<std::size_t>(columns)];
    row.back() = row[1];
  }
  return cells;
}

std::vector<Row> sequential(std::vector<Row> cells, int columns, int iterations) {
  std::vector<Row> next = cells;
  const std::size_t rows = cells.size();
  for (int k = 0; k < iterations; ++k) {
    for (std::size_t i = 0; i < rows; ++i)
      step(cells[(i + rows - 1) % rows].data(), cells[i].data(), cells[(i + 1) % rows].data(),
           next[i].data(), columns);
    cells.swap(next);
  }
  return cells;
}

// The numbers of inner rows that are computed before the outer rows are pushed, and before the puts are
// completed.
struct Places {
  int push = 0;
  int complete = 0;
};

class Block {
 public:
  Block(ring::Exchange& exchange, int lines, int columns, Places places)
      : exchange_(exchange), lines_(lines), columns_(columns), places_(places) {}

  // Fills slot 0 with its halos.
  void start(const std::vector<Row>& all) {
    const int rows = static_cast<int>(all.size());
    for (int i = 0; i <= lines_ + 1; ++i) {
      const Row& row = all[static_cast<std::size_t>((app::rank * lines_ + i - 1 + rows) % rows)];
      std::copy(row.begin(), row.end(), cells(0, i));
    }
    exchange_.begin();
  }

  void iterate(int iterations) {
    for (int k = 1; k <= iterations; ++k) {
      const int slot = k % 2;
      exchange_.expect(slot);
      compute(slot, 1);
      if (lines_ > 1) compute(slot, lines_);
      compute_inner(slot, 0, places_.push);
      exchange_.push(slot);
      compute_inner(slot, places_.push, places_.complete);
      if (places_.complete < lines_ - 2) {
        exchange_.complete(slot);
        compute_inner(slot, places_.complete, lines_ - 2);
      }
      exchange_.finish(slot);
    }
  }

  void check(const std::vector<Row>& right, int iterations, const std::string& way) {
    for (int i = 1; i <= lines_; ++i) {
      const Row& row = right[static_cast<std::size_t>(app::rank * lines_ + i - 1)];
      app::require(std::equal(row.begin(), row.end(), cells(iterations % 2, i)),
                   "%s: row %d is wrong after %d iterations", way.c_str(), i, iterations);
    }
  }

 private:
  Cell* cells(int slot, int row) { return reinterpret_cast<Cell*>(exchange_.row(slot, row)); }
  void compute_inner(int slot, int from, int to) {
    for (int i = from; i < to; ++i) compute(slot, i + 2);
  }
  void compute(int slot, int row) {
    const int old = 1 - slot;
    step(cells(old, row - 1), cells(old, row), cells(old, row + 1), cells(slot, row), columns_);
  }

  ring::Exchange& exchange_;
  int lines_;
  int columns_;
  Places places_;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "ca", "A cellular automaton: the outer rows go to neighbours.");
  const auto ways =
      options.choices("--ways", ring::kWays, ring::kWays, "how ranks synchronise and exchange");
  const double percent = options.real("--percent", 20, 20, "of the cells are communicated");
  const int columns = options.number("--columns", 1024, 64, "cells in a row");
  const int iterations = options.number("--iterations", 300, 20, "iterations");
  const double push_at =
      options.real("--push-at", 0, 0, "percent of inner rows computed before puts");
  const double complete_at =
      options.real("--complete-at", 100, 100, "percent computed before MPI_Win_complete (pscw)");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(app::ranks >= 2, "a ring has two ranks at least");
  app::want(percent > 0 && percent <= 100 && columns > 0 && iterations > 0, "a size is wrong");
  app::want(push_at <= complete_at && complete_at <= 100, "puts come before their completion");
  const int lines = std::max(2, static_cast<int>(std::lround(200 / percent)));
  const auto rows_at = [&](double part) {
    return static_cast<int>(std::lround((lines - 2) * part / 100));
  };
  const Places places{rows_at(push_at), rows_at(complete_at)};

  const std::vector<Row> first = start_cells(lines * app::ranks, columns);
  const std::vector<Row> right = sequential(first, columns, iterations);
  const ring::Layout layout{static_cast<int>(sizeof(Cell)) * (columns + 2), lines};
  std::vector<std::unique_ptr<ring::Exchange>> exchanges;
  for (const auto& way : ways) exchanges.push_back(ring::make(way, layout, windows));

  // An iteration without its exchange.
  ring::TwoSided no_exchange(layout);
  Block alone(no_exchange, lines, columns, places);
  alone.start(first);
  const double compute_us = app::longest([&] { alone.iterate(iterations); }) * 1e6 / iterations;

  std::vector<std::vector<double>> values(ways.size());
  for (int repeat = 0; repeat < options.repeats(); ++repeat)
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (!exchanges[w]->problem().empty()) continue;
      Block block(*exchanges[w], lines, columns, places);
      block.start(first);
      values[w].push_back(app::longest([&] { block.iterate(iterations); }) * 1e6 / iterations);
      block.check(right, iterations, ways[w]);
      MPI_Barrier(MPI_COMM_WORLD);  // no rank starts anew during checks
    }
  for (std::size_t w = 0; w < ways.size(); ++w) {
    if (values[w].empty()) {
      app::Run::absent("ca_" + ways[w], layout.row_bytes, exchanges[w]->problem());
      continue;
    }
    run.report({.bench = "ca_" + ways[w],
                .size = layout.row_bytes,
                .values = values[w],
                .counts = {{"percent", 200.0 / lines},
                           {"lines", lines},
                           {"iterations", iterations},
                           {"compute", compute_us}},
                .against = {"ca_isend", "ca_pscw"}});
  }
  return run.finish();
}
