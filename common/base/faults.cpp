#include "base/faults.hpp"

#ifdef LFC_SMALL_WORLD

#include <array>
#include <atomic>
#include <cstdio>
#include <string>

#include "base/small_world.hpp"

namespace lfc {
namespace {

constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::count_);
constexpr std::array<std::string_view, kFaults> kNames{
    "send_refused", "copy_refused", "pass_skipped", "host_absent", "host_leaves", "queue_full",
    "thread_wakes", "thread_runs",  "rail_strays",  "write_short", "read_short",  "board_waits"};

struct Point {
  std::atomic<std::uint64_t> random = 0;  // by name and seed
  std::atomic<std::uint64_t> period = 0;  // 0: off
  std::atomic<std::uint64_t> passes = 0;  // since the last restart
  std::atomic<std::uint64_t> all_passes = 0;
  std::atomic<std::uint64_t> fired = 0;
};

class Faults {
 public:
  Faults() noexcept { restart(0); }
  ~Faults() { print_totals(); }

  void restart(std::uint64_t seed) noexcept {
    const std::uint64_t both = small_world::seed() + seed;
    for (std::size_t i = 0; i < kFaults; ++i) {
      const std::uint64_t random = small_world::mix(kNames[i], both);
      const bool is_drawn = random % 2 != 0 || i == static_cast<std::size_t>(Fault::pass_skipped);
      const std::uint64_t drawn = is_drawn ? std::uint64_t{2} << random / 2 % 8 : 0;
      points_[i].random = random;
      const bool off = !small_world::is_listed("LFC_SMALL_WORLD_FAULTS", kNames[i]);
      points_[i].period = off ? 0 : both == 0 ? 16 : drawn;
      points_[i].passes = 0;
    }
  }

  bool passes(Fault where) noexcept {
    Point& point = points_[static_cast<std::size_t>(where)];
    const std::uint64_t period = point.period.load(std::memory_order_relaxed);
    if (period == 0) return false;
    point.all_passes.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t pass = point.passes.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t random = point.random.load(std::memory_order_relaxed);
    if (small_world::scramble(random + pass * 0x9e3779b97f4a7c15) % period != 0) return false;
    point.fired.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  void print_totals() const {
    std::uint64_t all = 0;
    std::string text;
    for (std::size_t i = 0; i < kFaults; ++i) {
      const Point& point = points_[i];
      if (point.all_passes == 0) continue;
      all += point.fired;
      text += " " + std::string(kNames[i]) + "=" + std::to_string(point.fired) + "/" +
              std::to_string(point.all_passes);
    }
    if (!text.empty())
      std::fprintf(stderr, "lfc-faults fired=%llu%s\n", static_cast<unsigned long long>(all),
                   text.c_str());
  }

  std::array<Point, kFaults> points_;
};

Faults g_faults;

}  // namespace

bool fault(Fault where) noexcept { return g_faults.passes(where); }
void restart_faults(std::uint64_t seed) noexcept { g_faults.restart(seed); }

}  // namespace lfc

#endif
