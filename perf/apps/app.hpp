// Tools of all application kernels: options, start and end, a watchdog, failures, repeatable random
// numbers, calibrated work, and the lines of output.
//
//   int main(int argc, char** argv) {
//     app::Options options(argc, argv, "asp", "All-pairs shortest paths.");
//     const int n = options.number("--vertices", 256, 64, "vertices of the graph");
//     app::Run run(options);                                  // MPI is up until the end of main
//     const double seconds = app::longest([&] { solve(); });  // of the slowest rank
//     app::require(right, "row %d is wrong", i);              // ends the job with exit code 1
//     run.report({.bench = "asp", .size = n, .values = {seconds * 1e6}, .counts = {{"rows", n}}});
//     return run.finish();                                    // "ok" is the last line
//   }
//
// Every result is one JSON line, as mpi_bench prints it (measure/applications.py reads it), and one
// line for people. For programs with one thread.
#pragma once

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#endif
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace app {

inline int rank = 0;
inline int ranks = 1;
inline std::uint64_t seed = 1;
inline char name[32] = "app";

// --- Failures ---

[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "FAIL %s rank %d of %d (seed %llu): %s\n", name, rank, ranks,
               static_cast<unsigned long long>(seed), text);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

template <class... Arguments>
void require(bool condition, const char* format, Arguments... arguments) {
  if (condition) return;
  if constexpr (sizeof...(arguments) == 0)
    fail("%s", format);
  else
    fail(format, arguments...);
}

// Requires a condition on the user's options, the same on all ranks. Otherwise it prints the text and
// ends the job with exit code 2.
template <class... Arguments>
void want(bool condition, const char* format, Arguments... arguments) {
  if (condition) return;
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);  // rank 0 ends the job
  std::fprintf(stderr, "%s: ", name);
  if constexpr (sizeof...(arguments) == 0)
    std::fputs(format, stderr);
  else
    std::fprintf(stderr, format, arguments...);
  std::fputs("; see --help\n", stderr);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::_Exit(2);
}

extern "C" inline void app_on_alarm(int) {
  char line[96];
  const int n = std::snprintf(line, sizeof line, "HANG %s rank %d of %d\n", name, rank, ranks);
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(n)) != n) std::_Exit(125);
  std::_Exit(124);
}

// --- Options ---

// The program's options. A read of an option declares it; Run rejects options that were not declared.
class Options {
 public:
  Options(int argc, char** argv, const char* program, const char* what)
      : words_(argv + 1, argv + argc), used_(words_.size()) {
    std::snprintf(name, sizeof name, "%s", program);
    help_ = std::string("usage: mpirun -n RANKS ") + program + " [OPTIONS]\n\n" + what + "\n\n";
    quick_ = flag("--quick", "a small problem: seconds at most, to check and not to measure");
    seed = static_cast<std::uint64_t>(number("--seed", 1, 1, "of everything random"));
    repeats_ = number("--repeats", 5, 1, "timed runs");
    if (repeats_ < 1) refuse("--repeats: one at least");
    limit_ = number("--limit", 300, 60, "seconds after which the program gives up");
  }

  bool flag(const char* option, const char* what) {
    describe(option, "", what);
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] == option) return used_[i] = true;
    return false;
  }

  // Returns a number of at least 0. `quick` is the default with --quick.
  int number(const char* option, int usual, int quick, const char* what) {
    const double value = real(option, usual, quick, what);
    if (value > 1e9 || value != std::floor(value)) refuse(std::string(option) + ": no such number");
    return static_cast<int>(value);
  }

  double real(const char* option, double usual, double quick, const char* what) {
    char shown[64];
    std::snprintf(shown, sizeof shown, " N (%g, quick %g)", usual, quick);
    describe(option, shown, what);
    const std::string* text = value_of(option);
    if (text == nullptr) return quick_ ? quick : usual;
    char* end = nullptr;
    const double value = std::strtod(text->c_str(), &end);
    if (text->empty() || *end != '\0' || !(value >= 0))
      refuse(std::string(option) + " " + *text + ": a number is wanted");
    return value;
  }

  // Returns one of some words; the first is the default.
  std::string choice(const char* option, const std::vector<std::string>& known, const char* what) {
    const auto chosen = choices(option, known, {known.front()}, what);
    if (chosen.size() != 1) refuse(std::string(option) + ": one of them is wanted");
    return chosen.front();
  }

  // Returns some of the words, separated by commas, or `all`.
  std::vector<std::string> choices(const char* option, const std::vector<std::string>& known,
                                   const std::vector<std::string>& usual, const char* what) {
    describe(option, " " + joined(known) + " (" + (usual == known ? "all" : joined(usual)) + ")",
             what);
    const std::string* text = value_of(option);
    if (text == nullptr) return usual;
    if (*text == "all") return known;
    std::vector<std::string> chosen;
    for (std::size_t from = 0; from <= text->size();) {
      const std::size_t to = std::min(text->find(',', from), text->size());
      chosen.push_back(text->substr(from, to - from));
      from = to + 1;
      if (std::find(known.begin(), known.end(), chosen.back()) == known.end())
        refuse(std::string(option) + ": no '" + chosen.back() + "', there are " + joined(known));
    }
    return chosen;
  }

  // Returns integers separated by commas.
  std::vector<int> numbers(const char* option, std::vector<int> usual, std::vector<int> quick,
                           const char* what) {
    describe(option, " N,N,...", what);
    const std::string* text = value_of(option);
    if (text == nullptr) return quick_ ? quick : usual;
    std::vector<int> chosen;
    for (const char* at = text->c_str();;) {
      char* end = nullptr;
      const long value = std::strtol(at, &end, 10);
      if (end == at || value < 0 || value > 1000000000 || (*end != '\0' && *end != ','))
        refuse(std::string(option) + " " + *text + ": numbers are wanted");
      chosen.push_back(static_cast<int>(value));
      if (*end == '\0') return chosen;
      at = end + 1;
    }
  }

  [[nodiscard]] bool quick() const { return quick_; }
  [[nodiscard]] int repeats() const { return repeats_; }
  [[nodiscard]] int limit() const { return limit_; }

  // Handles --help, and rejects options that were not declared. Run calls it.
  void finish() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == "--help" || words_[i] == "-h") {
        std::printf("%s", help_.c_str());
        std::exit(0);
      }
      if (!used_[i]) refuse("unknown option '" + words_[i] + "'; see --help");
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", name, why.c_str());
    std::exit(2);
  }

  static std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const auto& word : words) all += (all.empty() ? "" : ",") + word;
    return all;
  }

  void describe(const std::string& option, const std::string& values, const char* what) {
    help_ += "  " + option + values + "\n        " + what + "\n";
  }

  const std::string* value_of(const char* option) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != option) continue;
      if (i + 1 == words_.size()) refuse(std::string(option) + ": a value is missing");
      used_[i] = used_[i + 1] = true;
      return &words_[i + 1];
    }
    return nullptr;
  }

  std::vector<std::string> words_;
  std::vector<bool> used_;
  std::string help_;
  bool quick_ = false;
  int repeats_ = 1;
  int limit_ = 60;
};

// --- Results ---

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

struct Series {
  std::string bench;
  long size = 0;
  std::string unit = "us";
  std::vector<double> values = {};  // one for each repetition
  std::vector<std::pair<std::string, double>> counts = {};
  // Benches of the same size and unit whose values were measured in the same rounds.
  std::vector<std::string> against = {};
};

class Run {
 public:
  explicit Run(Options& options) {
    options.finish();
    std::signal(SIGALRM, app_on_alarm);
    alarm(static_cast<unsigned>(options.limit()));
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  Run(Run&&) = delete;
  Run& operator=(Run&&) = delete;
  ~Run() {
    if (!right_) std::_Exit(1);  // main has thrown: end the job
    MPI_Finalize();
    if (rank == 0) std::printf("ok\n");
  }

  void report(const Series& series) {
    series_.push_back(series);
    if (rank != 0) return;
    const auto at = [&](double q) { return quantile(series.values, q); };
    std::printf(
        "{\"bench\":\"%s\",\"size\":%ld,\"depth\":1,\"ranks\":%d,\"seed\":%llu,"
        "\"median\":%.6g,\"min\":%.6g,\"p25\":%.6g,\"p75\":%.6g,\"repeats\":%zu,"
        "\"unit\":\"%s\"",
        series.bench.c_str(), series.size, ranks, static_cast<unsigned long long>(seed), at(0.5),
        at(0), at(0.25), at(0.75), series.values.size(), series.unit.c_str());
    for (const auto& [key, value] : series.counts) std::printf(",\"%s\":%.10g", key.c_str(), value);
    for (std::size_t i = 0; i < series.against.size(); ++i)
      std::printf("%s\"%s\"%s", i == 0 ? ",\"against\":[" : ",", series.against[i].c_str(),
                  i + 1 == series.against.size() ? "]" : "");
    std::printf("}\n%s, size %ld, %d ranks: %.4g %s [%.4g..%.4g]", series.bench.c_str(),
                series.size, ranks, at(0.5), series.unit.c_str(), at(0.25), at(0.75));
    for (const auto& [key, value] : series.counts) std::printf(", %s %.6g", key.c_str(), value);
    std::printf("\n");
    std::fflush(stdout);
  }

  // Reports a bench that cannot be measured here, and the reason.
  static void absent(const std::string& bench, long size, const std::string& why) {
    if (rank != 0) return;
    std::printf("{\"bench\":\"%s\",\"size\":%ld,\"depth\":1,\"absent\":\"%s\"}\n%s: absent, %s\n",
                bench.c_str(), size, why.c_str(), bench.c_str(), why.c_str());
    std::fflush(stdout);
  }

  // Reports success, and returns the result of main. MPI ends with this object, so after all objects
  // that were made later.
  int finish() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) show_ratios();
    right_ = true;
    return 0;
  }

 private:
  void show_ratios() const {
    for (const auto& one : series_) {
      for (const auto& other : series_) {
        const bool wanted = std::count(one.against.begin(), one.against.end(), other.bench) > 0;
        if (!wanted || one.size != other.size || one.bench == other.bench) continue;
        std::vector<double> ratios;
        for (std::size_t i = 0; i < std::min(one.values.size(), other.values.size()); ++i)
          if (other.values[i] > 0) ratios.push_back(one.values[i] / other.values[i]);
        if (ratios.empty()) continue;
        std::printf("%s / %s, size %ld: %.3f [%.3f..%.3f]\n", one.bench.c_str(),
                    other.bench.c_str(), one.size, quantile(ratios, 0.5), quantile(ratios, 0.25),
                    quantile(ratios, 0.75));
      }
    }
  }

  std::vector<Series> series_;
  bool right_ = false;
};

// Returns the seconds that the slowest rank needs; all ranks begin together.
template <class Function>
double longest(Function&& function) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  function();
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

// --- Repeatable random numbers (splitmix64) ---

class Random {
 public:
  explicit Random(std::uint64_t start) : state_(start) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

 private:
  std::uint64_t state_;
};

// --- Shares ---

// Returns the share of a rank when `total` things are divided into blocks as equal as possible.
struct Block {
  int first = 0;
  int count = 0;
};

inline Block block_of(int total, int owner, int owners) {
  const int least = total / owners;
  const int more = total % owners;
  return {owner * least + std::min(owner, more), least + (owner < more ? 1 : 0)};
}

inline int owner_in_blocks(int index, int total, int owners) {
  int owner = std::min(owners - 1, index / (total / owners + 1));
  while (true) {
    const Block block = block_of(total, owner, owners);
    if (index < block.first + block.count) return owner;
    ++owner;
  }
}

// --- Computing ---

// Does work that the compiler can neither drop nor move and that does not touch memory. One unit
// takes some nanoseconds.
inline void toil(long units) {
  double x = 1.0;
  __asm__ __volatile__("" : "+m"(x));
  for (long i = 0; i < units; ++i) x = x * 0.999999 + 1e-6;
  __asm__ __volatile__("" : : "m"(x));
}

// Computes for a number of microseconds of an undisturbed core, the same work on every rank.
class Work {
 public:
  // Collective.
  Work() {
    constexpr long kUnits = 20000;
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
      const double start = MPI_Wtime();
      toil(kUnits);
      best = std::min(best, MPI_Wtime() - start);
    }
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    units_per_us_ = kUnits / (best * 1e6);
  }
  void operator()(double us) const { toil(static_cast<long>(us * units_per_us_)); }

 private:
  double units_per_us_ = 0;
};

inline void sleep_us(double us) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<long>(us * 1e3)));
}

// --- Broadcast that MPI or the program forwards ---

inline const std::vector<std::string> kForwarding = {"mpi", "host"};
inline constexpr const char* kForwardingHelp =
    "who forwards broadcasts: MPI_Bcast's way, or this program's own binomial tree of MPI_Send";

// Broadcasts from `root` to all ranks.
inline void broadcast(void* data, int count, MPI_Datatype type, int root, bool host) {
  if (!host) {
    MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
    return;
  }
  constexpr int kTag = 77;
  const int place = (rank - root + ranks) % ranks;
  int bit = 1;
  while (bit < ranks && (place & bit) == 0) bit <<= 1;
  if (place != 0)
    MPI_Recv(data, count, type, (place - bit + root) % ranks, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (place + bit < ranks)
      MPI_Send(data, count, type, (place + bit + root) % ranks, kTag, MPI_COMM_WORLD);
}

// --- Windows ---

// Memory that MPI allocates is shared between the ranks of a node, and then they use no transport.
inline const std::vector<std::string> kWindows = {"create", "allocate"};
inline constexpr const char* kWindowsHelp = "windows by MPI_Win_create or by MPI_Win_allocate";

// A window of `bytes` zeroed bytes on each rank. If MPI offers no window, problem() is not empty.
class Window {
 public:
  // Collective. `how` is one of kWindows.
  Window(MPI_Aint bytes, const std::string& how) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int made = MPI_SUCCESS;
    if (how == "allocate") {
      made = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    } else {
      own_.resize(static_cast<std::size_t>(bytes / 8 + 1));
      memory_ = reinterpret_cast<char*>(own_.data());
      made = MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    int ok = made == MPI_SUCCESS ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (ok == 0) {
      problem_ = "this MPI offers no window here";
      return;
    }
    std::memset(memory_, 0, static_cast<std::size_t>(bytes));
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  Window(Window&&) = delete;
  Window& operator=(Window&&) = delete;
  ~Window() {
    if (!problem_.empty()) return;
    if (locked_) MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  // Collective. Begins passive-target access of all ranks to all, until the end.
  void lock_all() {
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    locked_ = true;
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] MPI_Win get() const { return window_; }
  [[nodiscard]] char* memory() const { return memory_; }

 private:
  std::vector<double> own_;
  char* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::string problem_;
  bool locked_ = false;
};

}  // namespace app
