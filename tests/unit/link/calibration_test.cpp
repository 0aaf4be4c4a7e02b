// What single copy and ring cost, and what is kept of it.
#include "link/shm/calibration.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

using namespace lfc;

Calibration costs(double ring, double ring_start, double cma, double cma_start) {
  Calibration out;
  out.ring_ns_per_byte = ring;
  out.ring_ns_start = ring_start;
  out.cma_ns_per_byte = cma;
  out.cma_ns_start = cma_start;
  return out;
}

// The cache directory is one of the test's own.
class CacheDirectory {
 public:
  CacheDirectory() : path_(std::filesystem::temp_directory_path() / name()) {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    std::filesystem::create_directories(path_);
    setenv("XDG_CACHE_HOME", path_.c_str(), 1);
  }
  ~CacheDirectory() {
    std::filesystem::remove_all(path_);
    if (before_.empty()) {
      unsetenv("XDG_CACHE_HOME");
    } else {
      setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    }
  }

 private:
  static std::string name() { return "lfc-calibration-test-" + std::to_string(getpid()); }
  std::filesystem::path path_;
  std::string before_;
};

void replace_line(const std::string& file, int number, const std::string& text) {
  std::vector<std::string> lines;
  {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  lines.at(static_cast<std::size_t>(number)) = text;
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace

TEST_CASE("calibration: the single copy begins where the lines cross", "[calibration]") {
  // 2 ns/B after 1000 ns against 1 ns/B after 5000 ns: equal at 4000 B.
  CHECK(crossover(costs(2, 1000, 1, 5000)) == 4000);
  CHECK(crossover(costs(2, 5000, 1, 1000)) == 1);
  CHECK(crossover(costs(1, 1000, 1, 500)) == Calibration::kNever);
  CHECK(crossover(costs(1, 1000, 2, 0)) == Calibration::kNever);
  CHECK(crossover(costs(1, 1000, HUGE_VAL, 0)) == Calibration::kNever);
}

TEST_CASE("calibration: what was measured is plausible, kept, and read again", "[calibration]") {
  const CacheDirectory cache;
  const std::string file = calibration_file();
  CHECK_FALSE(load_calibration(file));
  const Calibration first = calibrate();
  CHECK(first.ring_ns_per_byte > 0.001);
  CHECK(first.ring_ns_per_byte < 1000);
  CHECK(first.cma_ns_per_byte >= 0);
  CHECK(first.single_copy_from == crossover(first));
  if (!std::filesystem::exists(file)) {
    CHECK((first.cma_ns_per_byte == HUGE_VAL || first.disturbed));  // nothing worth keeping
    return;
  }
  CHECK_FALSE(std::filesystem::exists(file + ".lock"));
  const Calibration second = calibrate();
  CHECK(second.how.find(file) != std::string::npos);
  CHECK(second.ring_ns_per_byte == Approx(first.ring_ns_per_byte).epsilon(1e-4));
  CHECK(second.cma_ns_start == Approx(first.cma_ns_start).epsilon(1e-4));
}

TEST_CASE("calibration: a file that is damaged or another machine's is not believed",
          "[calibration]") {
  const CacheDirectory cache;
  const std::string file = calibration_file();
  const auto stored = [&] { return store_calibration(file, costs(2, 1000, 1, 5000)); };
  REQUIRE(stored());
  REQUIRE(load_calibration(file)->single_copy_from == 4000);
  replace_line(file, 0, "lfc calibration 0");
  CHECK_FALSE(load_calibration(file));
  REQUIRE(stored());
  replace_line(file, 1, "another processor");
  CHECK_FALSE(load_calibration(file));
  for (const char* line : {"ring_ns_per_byte -1", "ring_ns_per_byte nan", "cma_ns_start 1", ""}) {
    REQUIRE(stored());
    replace_line(file, 2, line);
    CHECK_FALSE(load_calibration(file));
  }
}

TEST_CASE("calibration: without a place to keep it, and beside a lock that was left behind",
          "[calibration]") {
  const CacheDirectory cache;
  const std::string file = calibration_file();
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  {
    const std::ofstream lock(file + ".lock");  // somebody measures, and never comes to an end
    CHECK(calibrate().ring_ns_per_byte > 0);
    CHECK_FALSE(std::filesystem::exists(file));
  }
  std::filesystem::last_write_time(
      file + ".lock", std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  CHECK(calibrate().ring_ns_per_byte > 0);
  CHECK_FALSE(std::filesystem::exists(file + ".lock"));

  setenv("XDG_CACHE_HOME", "/proc/nothing/can/be/made/here", 1);
  CHECK(calibrate().ring_ns_per_byte > 0);
}

TEST_CASE("calibration: several that begin together leave one file", "[calibration]") {
  const CacheDirectory cache;
  std::vector<std::thread> together;
  std::vector<Calibration> seen(4);
  for (std::size_t i = 0; i < seen.size(); ++i)
    together.emplace_back([&seen, i] { seen[i] = calibrate(); });
  for (std::thread& one : together) one.join();
  for (const Calibration& one : seen) CHECK(one.ring_ns_per_byte > 0);
  CHECK_FALSE(std::filesystem::exists(calibration_file() + ".lock"));
}
