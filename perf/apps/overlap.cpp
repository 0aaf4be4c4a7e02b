// Measures how much of the time of a transfer the host has for computing. The host starts the
// transfer, computes, and then waits for the end. The work is doubled until the iteration takes 1.5
// times the transfer alone. Then
//     overhead     = time of the iteration - time of the same work without the transfer
//     availability = 1 - overhead / time of the transfer alone
// The transfers are:
//     isend, irecv     messages; the sender or the receiver computes, the other side is inside MPI
//     put, get, fetch  one-sided operations with flush
//     ibcast           a broadcast of the pair; the other rank is the root
//     iallreduce       an allreduce of the pair, of doubles
// With --both the other side also computes, without MPI calls.
// Ranks work in pairs, all at once; the first pair's figures are reported. With --together a collective is one of all
// ranks, not of each pair.
// Source: Sandia MPI Micro-Benchmark Suite (Doerfler and Brightwell), post-work-wait.
#include <cstring>

#include "app.hpp"

namespace {

enum Tag { kData = 1, kGo, kDone };

using Bytes = std::vector<unsigned char>;

class Transfer {
 public:
  Transfer(const std::string& kind, int bytes, app::Window& window, MPI_Comm pair)
      : kind_(kind),
        bytes_(bytes),
        window_(window),
        pair_(pair),
        members_(size_of(pair)),
        out_(static_cast<std::size_t>(bytes)),
        in_(static_cast<std::size_t>(bytes)) {}

  [[nodiscard]] bool one_sided() const {
    return kind_ == "put" || kind_ == "get" || kind_ == "fetch";
  }

  // Runs one iteration with `units` of work; both ranks of a pair call it. Returns the seconds of the
  // even rank, without the wait for its partner to be ready.
  double iterate(long work, long others_work, std::int64_t number) {
    if (app::rank % 2 == 0) return measured(work, number);
    other(others_work, number);
    return 0;
  }

 private:
  double measured(long work, std::int64_t number) {
    if (kind_ != "irecv") stamp(out_, number);
    if (kind_ == "iallreduce") stamp_numbers(number);
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer_, kGo, nullptr, 0, MPI_BYTE, peer_, kGo, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (members_ > 2) MPI_Barrier(pair_);
    const double start = MPI_Wtime();
    std::int64_t before = 0;
    if (one_sided()) {
      const std::int64_t one = 1;
      if (kind_ == "put")
        MPI_Put(out_.data(), bytes_, MPI_BYTE, peer_, 0, bytes_, MPI_BYTE, window_.get());
      else if (kind_ == "get")
        MPI_Get(in_.data(), bytes_, MPI_BYTE, peer_, 0, bytes_, MPI_BYTE, window_.get());
      else
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, peer_, 0, MPI_SUM, window_.get());
      app::toil(work);
      MPI_Win_flush(peer_, window_.get());
    } else {
      MPI_Request request;
      if (collective())
        begin_collective(&request);
      else if (kind_ == "isend")
        MPI_Isend(out_.data(), bytes_, MPI_BYTE, peer_, kData, MPI_COMM_WORLD, &request);
      else
        MPI_Irecv(in_.data(), bytes_, MPI_BYTE, peer_, kData, MPI_COMM_WORLD, &request);
      app::toil(work);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const double seconds = MPI_Wtime() - start;
    if (kind_ == "irecv" || kind_ == "ibcast") check(in_, number);
    if (kind_ == "get") check(in_, number);
    if (kind_ == "iallreduce") check_numbers(number);
    if (kind_ == "fetch")
      app::require(before == number, "counter is %lld", static_cast<long long>(before));
    MPI_Send(nullptr, 0, MPI_BYTE, peer_, kDone, MPI_COMM_WORLD);
    return seconds;
  }

  void other(long work, std::int64_t number) {
    const auto window = reinterpret_cast<unsigned char*>(window_.memory());
    if (kind_ == "irecv") stamp(out_, number);
    if (kind_ == "ibcast") stamp(in_, number);
    if (kind_ == "iallreduce") stamp_numbers(number);
    if (kind_ == "get" || kind_ == "fetch") {
      if (kind_ == "get") {
        stamp(in_, number);
        std::memcpy(window, in_.data(), in_.size());
      } else {
        std::memcpy(window, &number, 8);
      }
      MPI_Win_sync(window_.get());
    }
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, peer_, kGo, nullptr, 0, MPI_BYTE, peer_, kGo, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (members_ > 2) MPI_Barrier(pair_);
    MPI_Request request = MPI_REQUEST_NULL;
    if (collective()) begin_collective(&request);
    if (kind_ == "isend")
      MPI_Irecv(in_.data(), bytes_, MPI_BYTE, peer_, kData, MPI_COMM_WORLD, &request);
    if (kind_ == "irecv")
      MPI_Isend(out_.data(), bytes_, MPI_BYTE, peer_, kData, MPI_COMM_WORLD, &request);
    app::toil(work);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(nullptr, 0, MPI_BYTE, peer_, kDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (kind_ == "isend") check(in_, number);
    if (kind_ == "iallreduce") check_numbers(number);
    if (kind_ == "put") {
      MPI_Win_sync(window_.get());
      std::memcpy(in_.data(), window, in_.size());
      check(in_, number);
    }
  }

  static int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
  }
  [[nodiscard]] bool collective() const { return kind_ == "ibcast" || kind_ == "iallreduce"; }
  void begin_collective(MPI_Request* request) {
    if (kind_ == "ibcast")
      MPI_Ibcast(in_.data(), bytes_, MPI_BYTE, 1, pair_, request);
    else
      MPI_Iallreduce(out_.data(), in_.data(), bytes_ / 8, MPI_DOUBLE, MPI_SUM, pair_, request);
  }
  void stamp_numbers(std::int64_t number) {
    for (std::size_t at = 0; at + 8 <= out_.size(); at += 8) {
      const double value = static_cast<double>(number) + static_cast<double>(at + app::rank % 2);
      std::memcpy(&out_[at], &value, 8);
    }
  }
  void check_numbers(std::int64_t number) const {
    for (std::size_t at = 0; at + 8 <= in_.size(); at += 8) {
      double value = 0;
      std::memcpy(&value, &in_[at], 8);
      app::require(value == members_ / 2 *
                                (2 * static_cast<double>(number) + static_cast<double>(2 * at + 1)),
                   "iallreduce: wrong sum at byte %zu in iteration %lld", at,
                   static_cast<long long>(number));
    }
  }

  // Writes contents that depend on the iteration, in every word.
  static void stamp(Bytes& data, std::int64_t number) {
    for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
      const std::int64_t word = number * 1000003 + static_cast<std::int64_t>(at);
      std::memcpy(&data[at], &word, 8);
    }
  }
  void check(const Bytes& data, std::int64_t number) const {
    for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
      std::int64_t word = 0;
      std::memcpy(&word, &data[at], 8);
      app::require(word == number * 1000003 + static_cast<std::int64_t>(at),
                   "%s: wrong contents at byte %zu in iteration %lld", kind_.c_str(), at,
                   static_cast<long long>(number));
    }
  }

  const std::string kind_;
  const int bytes_;
  const int peer_ = app::rank ^ 1;
  app::Window& window_;
  const MPI_Comm pair_;  // with --together: of all ranks
  const int members_;
  Bytes out_, in_;
};

// Returns the median of the even rank's values, on both ranks.
double agreed(const std::vector<double>& seconds, MPI_Comm pair) {
  double result = app::quantile(seconds, 0.5);
  MPI_Bcast(&result, 1, MPI_DOUBLE, 0, pair);
  return result;
}

struct Figures {
  double base;       // seconds of the transfer alone
  double overhead;   // seconds
  double available;  // percent
};

Figures measure(Transfer& transfer, bool both, int iterations, MPI_Comm pair,
                std::int64_t& number) {
  const auto timed = [&](long work) {
    std::vector<double> seconds;
    for (int i = 0; i < iterations; ++i)
      seconds.push_back(transfer.iterate(work, both ? work : 0, ++number));
    return agreed(seconds, pair);
  };
  const auto work_alone = [&](long work) {
    std::vector<double> seconds;
    for (int i = 0; i < iterations; ++i) {
      const double start = MPI_Wtime();
      app::toil(work);
      seconds.push_back(MPI_Wtime() - start);
    }
    return agreed(seconds, pair);
  };
  const double base = timed(0);
  long work = 32;
  double together = base;
  for (; together < 1.5 * base; work *= 2) together = timed(work);
  const double overhead = std::max(together - work_alone(work / 2), 0.0);
  return {base, overhead, 100 * std::max(1 - overhead / base, 0.0)};
}

}  // namespace

int main(int argc, char** argv) {
  app::Options options(argc, argv, "overlap", "Host availability during transfers.");
  const std::vector<std::string> all_kinds = {"isend", "irecv",  "put",       "get",
                                              "fetch", "ibcast", "iallreduce"};
  const auto kinds = options.choices("--kinds", all_kinds, all_kinds, "of transfer");
  const auto sizes = options.numbers("--sizes", {1024, 16384, 65536, 262144, 1048576, 4194304},
                                     {1024, 262144}, "bytes, at least 8 (1 KiB to 4 MiB)");
  const int iterations = options.number("--iterations", 21, 3, "of each measurement, middle taken");
  const bool both = options.flag("--both", "the other side computes as well");
  const bool together = options.flag("--together", "collectives are of all ranks, not of pairs");
  const std::string windows = options.choice("--window", app::kWindows, app::kWindowsHelp);
  app::Run run(options);
  app::want(app::ranks % 2 == 0, "an even number of ranks is wanted");
  const int largest = *std::max_element(sizes.begin(), sizes.end());
  app::want(*std::min_element(sizes.begin(), sizes.end()) >= 8 && iterations > 0, "too small");

  app::Window window(largest, windows);
  if (window.problem().empty()) window.lock_all();
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, together ? 0 : app::rank / 2, app::rank, &pair);
  std::int64_t number = 0;
  for (const auto& kind : kinds)
    for (const int size : sizes) {
      if (kind == "fetch" && size != sizes.front()) continue;
      const int bytes = kind == "fetch" ? 8 : size;
      const std::string bench =
          "overlap_" + kind + (together ? "_together" : "") + (both ? "_both" : "");
      Transfer transfer(kind, bytes, window, pair);
      if (transfer.one_sided() && !window.problem().empty()) {
        app::Run::absent(bench, bytes, window.problem());
        continue;
      }
      std::vector<double> overheads, available;
      double base = 0;
      for (int repeat = 0; repeat < options.repeats(); ++repeat) {
        const Figures figures = measure(transfer, both, iterations, pair, number);
        base = figures.base * 1e6;
        overheads.push_back(figures.overhead * 1e6);
        available.push_back(figures.available);
      }
      run.report({.bench = bench + "_overhead",
                  .size = bytes,
                  .values = overheads,
                  .counts = {{"alone", base}}});
      run.report({.bench = bench + "_available", .size = bytes, .unit = "%", .values = available});
    }
  MPI_Comm_free(&pair);
  return run.finish();
}
