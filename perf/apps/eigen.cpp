// Eigenvalues of a symmetric matrix by Jacobi's rotations of pairs of columns. The pairs are divided among the ranks.
// After each step the columns move on as the players of a tournament do. So a rank sends only the columns at the border
// of its share: one to either neighbour. After each sweep a tree of messages of 8 bytes decides whether another sweep
// is needed. A matrix of 50 x 50, as in the thesis, has columns of 400 bytes, and its 25 pairs are no equal shares.
// Source: Felten 1993, chapter 7 (eigen: 2619 messages of 251 bytes on average; 70 % of its time is load imbalance).
#include "pattern.hpp"

namespace {

using Column = std::vector<double>;

constexpr double kEnough = 1e-12;  // the cosine of two columns that count as orthogonal
constexpr int kMostSweeps = 30;

std::vector<Column> first_matrix(int order) {
  app::Random random(app::seed);
  std::vector<Column> matrix(static_cast<std::size_t>(order),
                             Column(static_cast<std::size_t>(order)));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) matrix[i][j] = matrix[j][i] = random.uniform();
    matrix[i][i] = order + static_cast<double>(i);  // positive definite
  }
  return matrix;
}

double product(const Column& a, const Column& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Makes two columns orthogonal; returns the cosine of their angle before.
double rotate(Column& a, Column& b) {
  const double aa = product(a, a), bb = product(b, b), ab = product(a, b);
  const double cosine = std::fabs(ab) / std::sqrt(aa * bb);
  if (cosine <= kEnough) return cosine;
  const double zeta = (bb - aa) / (2 * ab);
  const double tangent = (zeta < 0 ? -1 : 1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const double c = 1 / std::sqrt(1 + tangent * tangent), s = c * tangent;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double old = a[i];
    a[i] = c * old - s * b[i];
    b[i] = s * old + c * b[i];
  }
  return cosine;
}

// A share of the pairs, in their order. Columns of the upper row move to the right and those of the lower one to the
// left; the first of the upper row stays.
struct Share {
  Share(const std::vector<Column>& matrix, app::Block pairs) : first(pairs.first == 0) {
    for (int i = 0; i < pairs.count; ++i) {
      const auto pair = static_cast<std::size_t>(pairs.first + i);
      upper.push_back(matrix[2 * pair]);
      lower.insert(lower.begin(), matrix[2 * pair + 1]);
    }
  }

  double rotate_pairs() {
    double most = 0;
    for (std::size_t i = 0; i < upper.size(); ++i)
      most = std::max(most, rotate(upper[i], lower[lower.size() - 1 - i]));
    return most;
  }

  // Then to_right() belongs to the right neighbour, and its to_left() to this rank. At an end the column is at its
  // place.
  void turn() {
    const std::ptrdiff_t fixed = first ? 1 : 0;
    std::rotate(lower.rbegin(), lower.rbegin() + 1, lower.rend());
    if (fixed == std::ssize(upper)) return;
    std::rotate(upper.rbegin(), upper.rbegin() + 1, upper.rend() - fixed);
    std::swap(upper[static_cast<std::size_t>(fixed)], lower.front());
  }
  Column& to_right() { return lower.front(); }
  Column& to_left() { return upper.front(); }

  bool first;
  std::vector<Column> upper, lower;  // the lower row from right to left
};

// Makes the same rotations in one process. Returns the columns in pairs.
std::vector<Column> sequential(int order) {
  Share all(first_matrix(order), {0, order / 2});
  double most = 1;
  for (int sweep = 0; sweep < kMostSweeps && most > kEnough; ++sweep) {
    most = 0;
    for (int step = 1; step < order; ++step) {
      most = std::max(most, all.rotate_pairs());
      all.turn();
    }
  }
  std::vector<Column> columns;
  double sum = 0, trace = 0;
  for (std::size_t i = 0; i < all.upper.size(); ++i) {
    columns.push_back(all.upper[i]);
    columns.push_back(all.lower[all.lower.size() - 1 - i]);
  }
  for (const auto& column : columns) sum += std::sqrt(product(column, column));
  for (int i = 0; i < order; ++i) trace += order + i;
  app::require(most <= kEnough && std::fabs(sum - trace) < 1e-9 * trace,
               "the sum of the eigenvalues is %.17g, the trace %.17g", sum, trace);
  return columns;
}

// Computes the largest of all ranks' numbers, on each rank.
class Largest {
 public:
  explicit Largest(const std::string& way) : up_(way), down_(way), from_(way), to_(way) {
    const int parent = (app::rank - 1) / 2;
    if (app::rank > 0) {
      up_.send(&most_, 1, parent, 3);
      down_.receive(&most_, 1, parent, 4);
    }
    for (int i = 0; i < 2; ++i) {
      const int child = 2 * app::rank + 1 + i;
      if (child >= app::ranks) break;
      from_.receive(&children_[i], 1, child, 3);
      to_.send(&most_, 1, child, 4);
    }
  }
  Largest(const Largest&) = delete;
  Largest& operator=(const Largest&) = delete;
  Largest(Largest&&) = delete;
  Largest& operator=(Largest&&) = delete;
  ~Largest() = default;

  double of(double own) {
    from_.exchange();
    most_ = std::max({own, children_[0], children_[1]});
    up_.exchange();
    down_.exchange();
    to_.exchange();
    return most_;
  }

 private:
  double most_ = 0, children_[2] = {};
  pattern::Messages up_, down_, from_, to_;
};

class Eigenvalues : public pattern::Program {
 public:
  Eigenvalues(const std::string& way, int order, const std::vector<Column>& right)
      : order_(order),
        pairs_(app::block_of(order / 2, app::rank, app::ranks)),
        right_(right),
        share_(first_matrix(order), pairs_),
        borders_(way),
        largest_(way) {
    for (auto* column : {&out_[0], &out_[1], &in_[0], &in_[1]})
      column->resize(static_cast<std::size_t>(order));
    for (int side = 0; side < 2; ++side) {
      const int peer = app::rank + (side == kRight ? 1 : -1);
      if (peer < 0 || peer >= app::ranks) continue;
      borders_.receive(in_[side].data(), order, peer, 1 + side);
      borders_.send(out_[side].data(), order, peer, 2 - side);
    }
  }

  void begin() override {}

  void iterate() override {
    share_ = Share(first_matrix(order_), pairs_);
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      double most = 0;
      for (int step = 1; step < order_; ++step) {
        most = std::max(most, share_.rotate_pairs());
        share_.turn();
        out_[kRight] = share_.to_right();
        out_[kLeft] = share_.to_left();
        borders_.exchange();
        if (app::rank + 1 < app::ranks) share_.to_right() = in_[kRight];
        if (app::rank > 0) share_.to_left() = in_[kLeft];
      }
      if (largest_.of(most) <= kEnough) return;
    }
  }

  void check() override {
    for (std::size_t i = 0; i < share_.upper.size(); ++i) {
      const std::size_t at = 2 * (static_cast<std::size_t>(pairs_.first) + i);
      app::require(share_.upper[i] == right_[at] &&
                       share_.lower[share_.lower.size() - 1 - i] == right_[at + 1],
                   "column %zu or the next is wrong", at);
    }
  }

 private:
  enum { kLeft, kRight };

  int order_;
  app::Block pairs_;
  const std::vector<Column>& right_;
  Share share_;
  Column out_[2], in_[2];
  pattern::Messages borders_;
  Largest largest_;
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "eigen", "Eigenvalues by Jacobi's rotations: single columns.");
  const auto ways = options.choices("--ways", pattern::kWays, pattern::kWays, pattern::kWaysHelp);
  const int order = options.number("--order", 50, 18, "rows and columns of the matrix");
  const int iterations = options.number("--iterations", 20, 2, "solutions");
  app::Run run(options);
  app::want(app::ranks >= 2 && order % 2 == 0 && order / 2 >= app::ranks && iterations > 0,
            "the order is even, and there is a pair of columns for each rank");
  const std::vector<Column> right = sequential(order);
  pattern::measure(
      run,
      {.name = "eigen",
       .bytes = static_cast<long>(sizeof(double)) * order,
       .iterations = iterations,
       .repeats = options.repeats(),
       .ways = ways},
      [&](const std::string& way) { return std::make_unique<Eigenvalues>(way, order, right); });
  return run.finish();
}
