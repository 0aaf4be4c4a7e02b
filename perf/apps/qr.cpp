// QR factorisation with column pivoting (modified Gram-Schmidt). In each iteration all ranks agree on
// the longest column (an MPI_Allreduce of 2 doubles and 2 ints). Its owner normalises and broadcasts
// it, and all ranks subtract its part from their columns. The root jumps about, so no part of an
// iteration can start during the one before. So the program is bound by latency.
// Source: Bhoedjang 2000, 8.5.8 (QR).
#include "app.hpp"

namespace {

// Columns are dealt out in turn: column j belongs to rank j % ranks.
struct Share {
  int n;
  int count;               // columns of this rank
  std::vector<double> a;   // the rest of these columns
  std::vector<double> r;   // r[c * n + k]: part of column c along q_k
  std::vector<bool> done;  // is a q by now
  std::vector<double> q;   // all of q, as received
  double* column(int c) { return &a[static_cast<std::size_t>(c) * static_cast<std::size_t>(n)]; }
};

double dot(const double* x, const double* y, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// Returns a column of the matrix, the same on every rank.
void fill_column(double* column, int n, int j) {
  app::Random random(app::seed * 1000003 + static_cast<std::uint64_t>(j));
  for (int i = 0; i < n; ++i) column[i] = random.uniform() - 0.5;
}

Share make_share(int n) {
  const auto width = static_cast<std::size_t>(n);
  const int count = n / app::ranks + (app::rank < n % app::ranks ? 1 : 0);
  const auto columns = static_cast<std::size_t>(count);
  Share share{n,
              count,
              std::vector<double>(columns * width),
              std::vector<double>(columns * width),
              std::vector<bool>(columns),
              std::vector<double>(width * width)};
  for (int c = 0; c < count; ++c) fill_column(share.column(c), n, c * app::ranks + app::rank);
  return share;
}

struct Pivot {
  double length;
  int column;
};

void parallel(Share& share, bool host) {
  const int n = share.n;
  const auto width = static_cast<std::size_t>(n);
  std::vector<double> square(static_cast<std::size_t>(share.count));
  for (int c = 0; c < share.count; ++c)
    square[static_cast<std::size_t>(c)] = dot(share.column(c), share.column(c), n);
  for (int k = 0; k < n; ++k) {
    // The longest column is the pivot. The shortest one shows how regular the matrix still is.
    Pivot extremes[2] = {{-1, n}, {-1e300, n}};
    for (int c = 0; c < share.count; ++c) {
      const auto at = static_cast<std::size_t>(c);
      if (share.done[at]) continue;
      const int column = c * app::ranks + app::rank;
      if (square[at] > extremes[0].length) extremes[0] = {square[at], column};
      if (-square[at] > extremes[1].length) extremes[1] = {-square[at], column};
    }
    MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    app::require(extremes[0].length > 0 && extremes[0].column < n, "no pivot in iteration %d", k);

    const int owner = extremes[0].column % app::ranks;
    double* q = &share.q[static_cast<std::size_t>(k) * width];
    if (owner == app::rank) {
      const int c = extremes[0].column / app::ranks;
      const double length = std::sqrt(dot(share.column(c), share.column(c), n));
      for (int i = 0; i < n; ++i) q[i] = share.column(c)[i] / length;
      share.done[static_cast<std::size_t>(c)] = true;
      share.r[static_cast<std::size_t>(c) * width + static_cast<std::size_t>(k)] = length;
    }
    app::broadcast(q, n, MPI_DOUBLE, owner, host);
    for (int c = 0; c < share.count; ++c) {
      const auto at = static_cast<std::size_t>(c);
      if (share.done[at]) continue;
      double* column = share.column(c);
      const double part = dot(q, column, n);
      share.r[at * width + static_cast<std::size_t>(k)] = part;
      for (int i = 0; i < n; ++i) column[i] -= part * q[i];
      square[at] = dot(column, column, n);
    }
  }
}

// Computes the largest deviations: of Q's columns from orthonormal, and of Q R from the matrix.
std::pair<double, double> errors(const Share& share) {
  const int n = share.n;
  const auto width = static_cast<std::size_t>(n);
  double worst[2] = {0, 0};
  std::vector<double> column(width);
  for (int c = 0; c < share.count; ++c) {
    const int j = c * app::ranks + app::rank;
    const double* q = &share.q[static_cast<std::size_t>(j) * width];
    for (int k = 0; k < n; ++k) {
      const double product = dot(q, &share.q[static_cast<std::size_t>(k) * width], n);
      worst[0] = std::max(worst[0], std::fabs(product - (k == j ? 1 : 0)));
    }
    fill_column(column.data(), n, j);
    for (std::size_t k = 0; k < width; ++k) {
      const double part = share.r[static_cast<std::size_t>(c) * width + k];
      for (std::size_t i = 0; i < width; ++i) column[i] -= part * share.q[k * width + i];
    }
    for (const double left : column) worst[1] = std::max(worst[1], std::fabs(left));
  }
  MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return {worst[0], worst[1]};
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "qr",
                       "QR factorisation: one small reduction and one column broadcast each time.");
  const int n = options.number("--columns", 256, 64, "columns, and rows, of the matrix");
  const bool host =
      options.choice("--forwarding", app::kForwarding, app::kForwardingHelp) == "host";
  app::Run run(options);
  app::want(n >= app::ranks, "%d columns are too few", n);

  std::vector<double> values;
  std::pair<double, double> worst;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    Share share = make_share(n);
    values.push_back(app::longest([&] { parallel(share, host); }) * 1e6 / n);
    worst = errors(share);
    app::require(worst.first < 1e-7, "Q is not orthogonal: %g", worst.first);
    app::require(worst.second < 1e-11, "Q R is not the matrix: %g", worst.second);
  }
  run.report({.bench = "qr",
              .size = n,
              .values = values,
              .counts = {{"iterations", n},
                         {"bytes_each", n * 8.0},
                         {"host", host},
                         {"not_orthogonal", worst.first},
                         {"residual", worst.second}}});
  return run.finish();
}
