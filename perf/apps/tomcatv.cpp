// Mesh generation after SPEC's tomcatv. Each iteration exchanges boundary rows (residuals need the
// neighbours), reduces the largest residual, and solves a tridiagonal system along every column. A
// column lies across all ranks, so the data are transposed, solved, and transposed back. The program
// mostly computes; its messages are few and large.
// Source: Falsafi and Wood 1996, 6.2 (tomcatv).
#include "app.hpp"

namespace {

// Rows [first, first + count) of an n x n mesh, with one more row on either side.
struct Mesh {
  int n;
  app::Block block;
  bool alone;  // the whole mesh, no messages
  std::vector<double> x, y;
};

double* row_of(std::vector<double>& field, int n, int i) {  // -1 .. count
  return &field[static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(n)];
}

Mesh make_mesh(int n, app::Block block, bool alone) {
  Mesh mesh{n, block, alone, {}, {}};
  mesh.x.resize(static_cast<std::size_t>(block.count + 2) * static_cast<std::size_t>(n));
  mesh.y.resize(mesh.x.size());
  for (int i = -1; i <= block.count; ++i) {
    app::Random random(app::seed * 65537 + static_cast<std::uint64_t>(block.first + i + 1));
    for (int j = 0; j < n; ++j) {
      const bool edge = j == 0 || j == n - 1 || block.first + i <= 0 || block.first + i >= n - 1;
      const double bend = edge ? 0.0 : 0.2 * (random.uniform() - 0.5);
      row_of(mesh.x, n, i)[j] = j + bend + 0.1 * std::sin(0.1 * (block.first + i));
      row_of(mesh.y, n, i)[j] = block.first + i + bend;
    }
  }
  return mesh;
}

void exchange_rows(std::vector<double>& field, const Mesh& mesh) {
  const int n = mesh.n, count = mesh.block.count;
  const int up = app::rank > 0 ? app::rank - 1 : MPI_PROC_NULL;
  const int down = app::rank + 1 < app::ranks ? app::rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(row_of(field, n, 0), n, MPI_DOUBLE, up, 1, row_of(field, n, count), n, MPI_DOUBLE,
               down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row_of(field, n, count - 1), n, MPI_DOUBLE, down, 2, row_of(field, n, -1), n,
               MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Transposes rows of this rank to columns of this rank, and back. `field` is count x n by rows; the
// result is (share of columns) x n, divided in the same way.
std::vector<double> transposed(const std::vector<double>& field, const Mesh& mesh) {
  const int n = mesh.n;
  const auto width = static_cast<std::size_t>(n);
  if (mesh.alone) {
    std::vector<double> turned(field.size());
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t j = 0; j < width; ++j) turned[j * width + i] = field[i * width + j];
    return turned;
  }
  const auto mine = static_cast<std::size_t>(mesh.block.count);
  std::vector<int> counts, places;
  std::vector<double> out(field.size()), in(field.size());
  std::size_t at = 0;
  for (int r = 0; r < app::ranks; ++r) {
    const app::Block theirs = app::block_of(n, r, app::ranks);
    places.push_back(static_cast<int>(at));
    counts.push_back(theirs.count * mesh.block.count);
    for (int j = theirs.first; j < theirs.first + theirs.count; ++j)
      for (std::size_t i = 0; i < mine; ++i)
        out[at++] = field[i * width + static_cast<std::size_t>(j)];
  }
  MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_DOUBLE, in.data(), counts.data(),
                places.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  std::vector<double> turned(field.size());
  at = 0;
  for (int r = 0; r < app::ranks; ++r) {
    const app::Block theirs = app::block_of(n, r, app::ranks);
    for (std::size_t j = 0; j < mine; ++j)
      for (int i = theirs.first; i < theirs.first + theirs.count; ++i)
        turned[j * width + static_cast<std::size_t>(i)] = in[at++];
  }
  return turned;
}

// Makes one iteration; returns the largest residual of all ranks.
double iterate(Mesh& mesh) {
  const int n = mesh.n, count = mesh.block.count;
  const auto width = static_cast<std::size_t>(n);
  const std::size_t size = static_cast<std::size_t>(count) * width;
  if (!mesh.alone) {
    exchange_rows(mesh.x, mesh);
    exchange_rows(mesh.y, mesh);
  }
  std::vector<double> rx(size), ry(size), off(size), diagonal(size, 1.0);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    if (mesh.block.first + i == 0 || mesh.block.first + i == n - 1) continue;
    const double *x = row_of(mesh.x, n, i), *xu = row_of(mesh.x, n, i - 1),
                 *xd = row_of(mesh.x, n, i + 1);
    const double *y = row_of(mesh.y, n, i), *yu = row_of(mesh.y, n, i - 1),
                 *yd = row_of(mesh.y, n, i + 1);
    for (int j = 1; j + 1 < n; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * width + static_cast<std::size_t>(j);
      const double xx = x[j + 1] - x[j - 1], yx = y[j + 1] - y[j - 1];
      const double xy = xd[j] - xu[j], yy = yd[j] - yu[j];
      const double a = 0.25 * (xy * xy + yy * yy), b = 0.25 * (xx * xx + yx * yx);
      const double c = 0.125 * (xx * xy + yx * yy);
      off[at] = -b;
      diagonal[at] = b + b + a * 2.0 / 0.98;
      rx[at] = a * (x[j + 1] - 2 * x[j] + x[j - 1]) + b * (xd[j] - 2 * x[j] + xu[j]) -
               c * (xd[j + 1] - xd[j - 1] - xu[j + 1] + xu[j - 1]);
      ry[at] = a * (y[j + 1] - 2 * y[j] + y[j - 1]) + b * (yd[j] - 2 * y[j] + yu[j]) -
               c * (yd[j + 1] - yd[j - 1] - yu[j + 1] + yu[j - 1]);
      worst = std::max({worst, std::fabs(rx[at]), std::fabs(ry[at])});
    }
  }
  if (!mesh.alone) MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

  rx = transposed(rx, mesh);
  ry = transposed(ry, mesh);
  off = transposed(off, mesh);
  diagonal = transposed(diagonal, mesh);
  std::vector<double> upper(width);
  for (std::size_t column = 0; column < size; column += width) {
    double* x = &rx[column];
    double* y = &ry[column];
    double pivot = diagonal[column];
    for (std::size_t i = 1; i < width; ++i) {
      const double lower = off[column + i];
      upper[i] = off[column + i - 1] / pivot;
      pivot = diagonal[column + i] - lower * upper[i];
      x[i] = (x[i] - lower * x[i - 1]) / pivot;
      y[i] = (y[i] - lower * y[i - 1]) / pivot;
    }
    for (std::size_t i = width - 1; i > 0; --i) {
      x[i - 1] -= upper[i] * x[i];
      y[i - 1] -= upper[i] * y[i];
    }
  }
  rx = transposed(rx, mesh);
  ry = transposed(ry, mesh);
  for (std::size_t at = 0; at < size; ++at) {
    mesh.x[at + width] += rx[at];
    mesh.y[at + width] += ry[at];
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "tomcatv",
                       "Mesh generation: row exchange, reduction, transposition each iteration.");
  const int n = options.number("--size", 256, 64, "rows and columns of the mesh");
  const int iterations = options.number("--iterations", 20, 5, "iterations");
  app::Run run(options);
  app::want(n >= app::ranks && n >= 3 && iterations > 0, "a mesh of %d is too small", n);

  Mesh whole = make_mesh(n, {0, n}, true);
  std::vector<double> right;
  for (int k = 0; k < iterations; ++k) right.push_back(iterate(whole));
  app::require(right.back() < right.front(), "the residual grows from %g to %g", right.front(),
               right.back());
  const app::Block block = app::block_of(n, app::rank, app::ranks);
  std::vector<double> values;
  for (int repeat = 0; repeat < options.repeats(); ++repeat) {
    Mesh mesh = make_mesh(n, block, false);
    std::vector<double> worst;
    const double seconds = app::longest([&] {
      for (int k = 0; k < iterations; ++k) worst.push_back(iterate(mesh));
    });
    values.push_back(seconds * 1e6 / iterations);
    for (std::size_t k = 0; k < worst.size(); ++k)
      app::require(worst[k] == right[k], "iteration %zu: residual %.17g, not %.17g", k, worst[k],
                   right[k]);
    for (int i = 0; i < block.count; ++i) {
      const double* x = row_of(whole.x, n, block.first + i);
      const double* y = row_of(whole.y, n, block.first + i);
      app::require(
          std::equal(x, x + n, row_of(mesh.x, n, i)) && std::equal(y, y + n, row_of(mesh.y, n, i)),
          "row %d of the mesh is wrong", block.first + i);
    }
  }
  run.report({.bench = "tomcatv",
              .size = n,
              .values = values,
              .counts = {{"iterations", iterations}, {"residual", right.back()}}});
  return run.finish();
}
