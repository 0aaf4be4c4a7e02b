// A pipeline of ranks: each has some columns of a grid and computes a row of them as soon as the rank on
// its left has sent the last number of that row. Each message has 8 bytes, and the next rank waits for
// it. After all rows the last rank returns the corner to the first, which begins the next iteration.
// Ways: messages, post-start-complete-wait, and NEON's announced puts and puts with counters. Targets
// permit the write of the next number while they compute a row.
// Source: the kernel Synch_p2p of the Parallel Research Kernels.
#include <memory>

#include "app.hpp"
#ifdef APP_NEON
#include <mpix_neon.h>
#endif

namespace {

const std::vector<std::string> kWays = {
    "send",
    "pscw",
#ifdef APP_NEON
    "neon",
    "notify",
#endif
};

bool is_first() { return app::rank == 0; }
bool is_last() { return app::rank == app::ranks - 1; }
int left() { return app::rank - 1; }
int right() { return app::rank + 1; }

// Numbers travel from each rank to the next one: `numbers` in all. Even and odd ones have a place each.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  Link(Link&&) = delete;
  Link& operator=(Link&&) = delete;
  virtual ~Link() = default;
  virtual void begin(long numbers) { (void)numbers; }
  virtual double receive(long k) = 0;
  virtual void send(long k, double number) = 0;
  [[nodiscard]] virtual std::string problem() const { return ""; }
};

class Messages : public Link {
 public:
  double receive(long /*k*/) override {
    double number = 0;
    MPI_Recv(&number, 1, MPI_DOUBLE, left(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
  }
  void send(long /*k*/, double number) override {
    MPI_Send(&number, 1, MPI_DOUBLE, right(), 0, MPI_COMM_WORLD);
  }
};

class Windowed : public Link {
 public:
  explicit Windowed(const std::string& windows) : window_(2 * 8, windows) {}
  [[nodiscard]] std::string problem() const override { return window_.problem(); }

 protected:
  static MPI_Aint place(long k) { return 8 * (k % 2); }
  [[nodiscard]] double at(long k) const {
    return *reinterpret_cast<const double*>(window_.memory() + place(k));
  }
  [[nodiscard]] MPI_Win window() const { return window_.get(); }
  app::Window window_;
};

class Pscw : public Windowed {
 public:
  explicit Pscw(const std::string& windows) : Windowed(windows) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int before = std::max(left(), 0), behind = std::min(right(), app::ranks - 1);
    MPI_Group_incl(world, 1, &before, &left_);
    MPI_Group_incl(world, 1, &behind, &right_);
    MPI_Group_free(&world);
  }
  Pscw(const Pscw&) = delete;
  Pscw& operator=(const Pscw&) = delete;
  Pscw(Pscw&&) = delete;
  Pscw& operator=(Pscw&&) = delete;
  ~Pscw() override {
    MPI_Group_free(&left_);
    MPI_Group_free(&right_);
  }
  void begin(long numbers) override {
    numbers_ = numbers;
    if (!is_first()) MPI_Win_post(left_, 0, window());
  }
  double receive(long k) override {
    MPI_Win_wait(window());
    if (k + 1 < numbers_) MPI_Win_post(left_, 0, window());
    return at(k);
  }
  void send(long k, double number) override {
    MPI_Win_start(right_, 0, window());
    MPI_Put(&number, 1, MPI_DOUBLE, right(), place(k), 1, MPI_DOUBLE, window());
    MPI_Win_complete(window());
  }

 private:
  MPI_Group left_ = MPI_GROUP_NULL;
  MPI_Group right_ = MPI_GROUP_NULL;
  long numbers_ = 0;
};

#ifdef APP_NEON
class Neon : public Windowed {
 public:
  explicit Neon(const std::string& windows) : Windowed(windows) {
    if (!problem().empty()) return;
    MPIX_Neon_attach(window());
    const int origin = left();
    for (int i = 0; i < 2 && !is_first(); ++i)
      MPIX_Neon_announce_init(place(i), 8, 1, &origin, i, 0, window(), &places_[i]);
  }
  Neon(const Neon&) = delete;
  Neon& operator=(const Neon&) = delete;
  Neon(Neon&&) = delete;
  Neon& operator=(Neon&&) = delete;
  ~Neon() override {
    for (auto& announced : places_)
      if (announced != MPI_REQUEST_NULL) MPI_Request_free(&announced);
  }
  void begin(long numbers) override {
    numbers_ = numbers;
    for (long k = 0; k < std::min(2L, numbers) && !is_first(); ++k) MPI_Start(&places_[k]);
  }
  double receive(long k) override {
    MPI_Wait(&places_[k % 2], MPI_STATUS_IGNORE);
    const double number = at(k);
    if (k + 2 < numbers_) MPI_Start(&places_[k % 2]);
    return number;
  }
  void send(long k, double number) override {
    MPI_Request put = MPI_REQUEST_NULL;
    MPIX_Neon_put(&number, 1, MPI_DOUBLE, right(), static_cast<int>(k % 2), 0, 1, MPI_DOUBLE,
                  MPIX_NEON_FINAL, window(), &put);
    MPI_Wait(&put, MPI_STATUS_IGNORE);
  }

 private:
  MPI_Request places_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  long numbers_ = 0;
};

// Without NEON's announcements each number of an iteration has a place of its own. The corner that returns
// to the first rank frees all of them.
class Notify : public Link {
 public:
  Notify(const std::string& windows, int rows)
      : rows_(static_cast<std::size_t>(rows)),
        window_(8 * static_cast<MPI_Aint>(rows), windows),
        sent_(rows_) {
    if (problem().empty()) MPIX_Win_set_num_notify(window_.get(), MPI_INFO_NULL, 1);
  }
  [[nodiscard]] std::string problem() const override { return window_.problem(); }
  double receive(long k) override {
    MPIX_Win_wait_notify(window_.get(), 0, ++received_);
    return reinterpret_cast<const double*>(window_.memory())[static_cast<std::size_t>(k) % rows_];
  }
  void send(long k, double number) override {
    const auto row = static_cast<std::size_t>(k) % rows_;
    sent_[row] = number;
    MPIX_Put_notify(&sent_[row], 1, MPI_DOUBLE, right(), 8 * static_cast<MPI_Aint>(row), 1,
                    MPI_DOUBLE, 0, window_.get());
  }

 private:
  std::size_t rows_;
  app::Window window_;
  std::vector<double> sent_;  // origins of puts, which last until the corner has returned
  std::uint64_t received_ = 0;
};
#endif

std::unique_ptr<Link> make(const std::string& way, const std::string& windows, int rows) {
  if (way == "send") return std::make_unique<Messages>();
  if (way == "pscw") return std::make_unique<Pscw>(windows);
#ifdef APP_NEON
  if (way == "neon") return std::make_unique<Neon>(windows);
  if (way == "notify") return std::make_unique<Notify>(windows, rows);
#endif
  app::fail("no way '%s' for %d rows", way.c_str(), rows);
}

// This rank's columns of the grid. The first row has the numbers of the columns, the first column those
// of the rows. In iteration n, from 0, row i of column j is i + j + n * (rows + columns - 2). An error of
// a number disappears in the next row, so each rank checks all numbers that it receives.
class Grid {
 public:
  Grid(int rows, int columns)
      : rows_(rows),
        growth_(rows + columns - 2),
        mine_(app::block_of(columns, app::rank, app::ranks)),
        cells_(static_cast<std::size_t>(rows)) {
    for (int i = 0; i < rows; ++i) {
      auto& row = cells_[static_cast<std::size_t>(i)];
      row.assign(static_cast<std::size_t>(mine_.count) + 1, 0);
      if (is_first()) row[1] = i;
    }
    for (int j = 0; j <= mine_.count; ++j)
      cells_[0][static_cast<std::size_t>(j)] = mine_.first + j - 1;
  }

  void iterate(Link& link, int iteration) {
    for (int i = 1; i < rows_; ++i) {
      auto& row = cells_[static_cast<std::size_t>(i)];
      const auto& above = cells_[static_cast<std::size_t>(i) - 1];
      const long k = iteration * (rows_ - 1L) + i - 1;
      if (!is_first()) {
        row[0] = link.receive(k);
        const double wanted = i + mine_.first - 1 + iteration * growth_;
        app::require(row[0] == wanted, "row %d of iteration %d: received %.17g, not %.17g", i,
                     iteration, row[0], wanted);
      }
      for (std::size_t j = is_first() ? 2 : 1; j < row.size(); ++j)
        row[j] = above[j] + row[j - 1] - above[j - 1];
      if (!is_last()) link.send(k, row.back());
    }
    double corner = -cells_.back().back();
    if (is_last()) MPI_Send(&corner, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    if (!is_first()) return;
    MPI_Recv(&corner, 1, MPI_DOUBLE, app::ranks - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    cells_[0][1] = corner;
  }

  [[nodiscard]] double corner() const { return cells_.back().back(); }

 private:
  int rows_;
  double growth_;  // of each cell in an iteration
  app::Block mine_;
  std::vector<std::vector<double>> cells_;  // column 0 belongs to the rank on the left
};

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "pipeline", "Rows of a grid pass through all ranks.");
  const auto ways = options.choices("--ways", kWays, kWays, "how a number reaches the next rank");
  const int rows = options.number("--rows", 1000, 40, "rows of the grid");
  const int columns = options.number("--columns", 1000, 40, "columns of the grid");
  const int iterations = options.number("--iterations", 10, 4, "iterations");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(app::ranks >= 2 && columns >= 2 * app::ranks, "a rank has two columns at least");
  app::want(rows >= 2 && iterations > 0, "a size is wrong");

  const long numbers = static_cast<long>(rows - 1) * iterations;
  for (const auto& way : ways) {
    const auto link = make(way, windows, rows);
    if (!link->problem().empty()) {
      app::Run::absent("pipeline_" + way, columns, link->problem());
      continue;
    }
    std::vector<double> values;
    for (int repeat = 0; repeat < options.repeats(); ++repeat) {
      Grid grid(rows, columns);
      link->begin(numbers);
      values.push_back(app::longest([&] {
                         for (int k = 0; k < iterations; ++k) grid.iterate(*link, k);
                       }) *
                       1e6 / static_cast<double>(numbers));
      const double right_corner = static_cast<double>(iterations) * (rows + columns - 2);
      app::require(!is_last() || grid.corner() == right_corner,
                   "%s: the corner is %.17g, not %.17g", way.c_str(), grid.corner(), right_corner);
    }
    run.report({.bench = "pipeline_" + way,
                .size = columns,
                .values = values,
                .counts = {{"rows", rows}, {"iterations", iterations}},
                .against = {"pipeline_send", "pipeline_pscw"}});
  }
  return run.finish();
}
