// A product of matrices in blocks, by Fox, Hey and Otto. In each step one block of A is broadcast along every row of
// processes, as a pipeline of pieces from neighbour to neighbour. Then the blocks of B roll upwards. Blocks of 40 x 40
// have 12800 bytes, as in the thesis. If the grid is not square, a process has several blocks of rows or columns.
// Source: Felten 1993, chapter 7 (matmult: 187 messages of 4 to 12800 bytes, 7668 on average, among 16 processes).
#include <numeric>

#include "pattern.hpp"

namespace {

using Block = std::vector<double>;

struct Shape {
  int rows, columns;  // of processes
  int edge;           // cells in a row of a block
  int pieces;         // of a block that is broadcast
  [[nodiscard]] int blocks() const { return std::lcm(rows, columns); }  // in a row of the matrix
  [[nodiscard]] int high() const { return blocks() / rows; }            // blocks of a process
  [[nodiscard]] int wide() const { return blocks() / columns; }
  [[nodiscard]] int row() const { return app::rank / columns; }
  [[nodiscard]] int column() const { return app::rank % columns; }
  [[nodiscard]] int at(int row, int column) const {  // of a neighbour's rank
    return (row + rows) % rows * columns + (column + columns) % columns;
  }
};

// As wide as possible, but not wider than a square.
Shape shape_of(int ranks, int edge, int pieces) {
  int rows = 1;
  for (int i = 2; i * i <= ranks; ++i)
    if (ranks % i == 0) rows = i;
  return {rows, ranks / rows, edge, pieces};
}

// Small integers: sums are exact in any order.
Block block_of(const Shape& shape, std::uint64_t matrix, int row, int column) {
  app::Random random(app::seed + matrix * 1000003 +
                     static_cast<std::uint64_t>(row * shape.blocks() + column));
  Block block(static_cast<std::size_t>(shape.edge * shape.edge));
  for (auto& cell : block) cell = random.below(16);
  return block;
}

void multiply_add(const double* a, const double* b, double* c, int edge) {
  for (int i = 0; i < edge; ++i)
    for (int k = 0; k < edge; ++k)
      for (int j = 0; j < edge; ++j) c[i * edge + j] += a[i * edge + k] * b[k * edge + j];
}

class Product : public pattern::Program {
 public:
  Product(const std::string& way, const Shape& shape)
      : shape_(shape),
        cells_(static_cast<std::size_t>(shape.edge * shape.edge)),
        slots_(shape.rows == 1 ? shape.high() : shape.high() + 1),
        b_(cells_ * index(slots_, 0)),
        c_(cells_ * index(shape.high(), 0)),
        pivots_(cells_ * static_cast<std::size_t>(shape.high())) {
    for (int i = 0; i < shape_.high(); ++i)
      for (int j = 0; j < shape_.wide(); ++j)
        a_.push_back(block_of(shape_, 0, row_of(i), column_of(j)));
    for (int i = 0; shape_.columns > 1 && i < shape_.high(); ++i) plan_broadcasts(way, i);
    for (int step = 0; shape_.rows > 1 && step < slots_; ++step) {
      rolls_.emplace_back(way);
      const int count = static_cast<int>(cells_) * shape_.wide();
      const int tag = shape_.high() * shape_.pieces;
      rolls_.back().receive(b_at((step + shape_.high()) % slots_, 0), count,
                            shape_.at(shape_.row() + 1, shape_.column()), tag);
      rolls_.back().send(b_at(step, 0), count, shape_.at(shape_.row() - 1, shape_.column()), tag);
    }
  }

  void begin() override {
    step_ = 0;
    for (int i = 0; i < shape_.high(); ++i)
      for (int j = 0; j < shape_.wide(); ++j) {
        const Block block = block_of(shape_, 1, row_of(i), column_of(j));
        std::copy(block.begin(), block.end(), b_at(i, j));
      }
  }

  void iterate() override {
    std::fill(c_.begin(), c_.end(), 0);
    for (int k = 0; k < shape_.blocks(); ++k, ++step_) {
      for (int i = 0; i < shape_.high(); ++i) {
        const double* pivot = broadcast(i, (row_of(i) + k) % shape_.blocks());
        for (int j = 0; j < shape_.wide(); ++j)
          multiply_add(pivot, b_at((step_ + i) % slots_, j), &c_[cells_ * index(i, j)],
                       shape_.edge);
      }
      if (shape_.rows > 1) rolls_[static_cast<std::size_t>(step_ % slots_)].exchange();
    }
  }

  void check() override {
    for (int i = 0; i < shape_.high(); ++i)
      for (int j = 0; j < shape_.wide(); ++j) {
        Block right(cells_);
        for (int k = 0; k < shape_.blocks(); ++k)
          multiply_add(block_of(shape_, 0, row_of(i), k).data(),
                       block_of(shape_, 1, k, column_of(j)).data(), right.data(), shape_.edge);
        app::require(std::equal(right.begin(), right.end(), &c_[cells_ * index(i, j)]),
                     "block %d of row %d is wrong", column_of(j), row_of(i));
      }
  }

 private:
  // Messages of the block that this process receives from its left, piece by piece, and passes on.
  struct Passed {
    std::vector<pattern::Messages> in, on;
  };

  int row_of(int i) const { return shape_.row() * shape_.high() + i; }
  int column_of(int j) const { return shape_.column() * shape_.wide() + j; }
  std::size_t index(int i, int j) const { return static_cast<std::size_t>(i * shape_.wide() + j); }
  double* b_at(int slot, int j) { return &b_[cells_ * index(slot, j)]; }
  double* pivot(int i) { return &pivots_[cells_ * static_cast<std::size_t>(i)]; }

  void plan_broadcasts(const std::string& way, int i) {
    const int left = shape_.at(shape_.row(), shape_.column() - 1);
    const int right = shape_.at(shape_.row(), shape_.column() + 1);
    const auto plan = [&](double* block, auto&& message) {
      for (int piece = 0; piece < shape_.pieces; ++piece) {
        const app::Block cells = app::block_of(static_cast<int>(cells_), piece, shape_.pieces);
        message(block + cells.first, cells.count, i * shape_.pieces + piece);
      }
    };
    for (int j = 0; j < shape_.wide(); ++j) {
      own_.emplace_back(way);
      plan(a_[index(i, j)].data(),
           [&](double* at, int count, int tag) { own_.back().send(at, count, right, tag); });
    }
    passed_.emplace_back();
    plan(pivot(i), [&](double* at, int count, int tag) {
      passed_.back().in.emplace_back(way).receive(at, count, left, tag);
      passed_.back().on.emplace_back(way).send(at, count, right, tag);
    });
  }

  // Returns the block of A in this row of blocks and that column. One process of the row has it.
  const double* broadcast(int i, int column) {
    const int from = column / shape_.wide(), j = column % shape_.wide();
    if (from == shape_.column()) {
      if (shape_.columns > 1) own_[index(i, j)].exchange();
      return a_[index(i, j)].data();
    }
    Passed& passed = passed_[static_cast<std::size_t>(i)];
    const bool last = (shape_.column() + 1) % shape_.columns == from;
    for (auto& piece : passed.in) piece.start();
    for (std::size_t piece = 0; piece < passed.in.size(); ++piece) {
      passed.in[piece].finish();
      if (!last) passed.on[piece].start();
    }
    if (!last)
      for (auto& piece : passed.on) piece.finish();
    return pivot(i);
  }

  Shape shape_;
  std::size_t cells_;  // of a block
  int slots_;          // for blocks of rows of B: one more than there are, to roll into
  int step_ = 0;
  std::vector<Block> a_;
  Block b_, c_, pivots_;
  std::vector<pattern::Messages> own_, rolls_;
  std::vector<Passed> passed_;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "matmult", "A product of matrices: broadcasts and rolls.");
  const auto ways = options.choices("--ways", pattern::kWays, pattern::kWays, pattern::kWaysHelp);
  const int edge = options.number("--edge", 40, 8, "cells in a row of a block");
  const int pieces = options.number("--pieces", 2, 2, "of a block that is broadcast");
  const int iterations = options.number("--iterations", 100, 5, "products");
  app::Run run(options);
  app::want(app::ranks >= 2 && edge > 0 && iterations > 0, "a size is wrong");
  app::want(pieces > 0 && pieces <= edge * edge, "--pieces: no such number");
  const Shape shape = shape_of(app::ranks, edge, pieces);
  pattern::measure(run,
                   {.name = "matmult",
                    .bytes = static_cast<long>(sizeof(double)) * edge * edge,
                    .iterations = iterations,
                    .repeats = options.repeats(),
                    .ways = ways},
                   [&](const std::string& way) { return std::make_unique<Product>(way, shape); });
  return run.finish();
}
