#include "machine/cores.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace lfc {
namespace {

std::vector<int> to_list(const cpu_set_t& set) {
  std::vector<int> list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) list.push_back(cpu);
  return list;
}

// The quota of one group, rounded up. Version 2 has "QUOTA PERIOD" in microseconds, or "max PERIOD", in one file;
// version 1 has two files, and -1 for no limit.
int quota_in(const std::string& folder) {
  std::string amount;
  long period = 0;
  std::ifstream both(folder + "/cpu.max");
  if (!(both >> amount >> period)) {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> amount;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  const long granted = std::strtol(amount.c_str(), nullptr, 10);
  return granted > 0 && period > 0 ? static_cast<int>((granted + period - 1) / period) : 0;
}

// The least quota of this group and of all groups around it.
int quota_along(const std::string& mounted, std::string group) {
  int least = 0;
  for (;;) {
    const int found = quota_in(mounted + group);
    if (found > 0 && (least == 0 || found < least)) least = found;
    const std::size_t last = group.rfind('/');
    if (last == std::string::npos) return least;
    group.resize(last);
  }
}

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int Cores::usable() const noexcept {
  const int count = static_cast<int>(allowed.size());
  return quota > 0 ? std::min(quota, count) : count;
}

int cpu_quota(const std::string& mounted, std::string_view groups) {
  int least = 0;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    const bool unified = controllers.empty();
    if (!unified && ("," + std::string(controllers) + ",").find(",cpu,") == std::string::npos)
      continue;
    for (const char* folder : {unified ? "" : "/cpu", unified ? "/unified" : "/cpu,cpuacct"}) {
      const int found = quota_along(mounted + folder, group);
      if (found > 0 && (least == 0 || found < least)) least = found;
    }
  }
  return least;
}

Cores count_cores() {
  Cores cores;
  cores.quota = cpu_quota("/sys/fs/cgroup", contents("/proc/self/cgroup"));
  cpu_set_t bound;
  if (sched_getaffinity(0, sizeof bound, &bound) != 0) return cores;
  cores.bound = to_list(bound);
  // The kernel reduces a request for all processors to those of the control group.
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  cpu_set_t allowed;
  if (sched_setaffinity(0, sizeof all, &all) == 0 &&
      sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    cores.allowed = to_list(allowed);
  (void)sched_setaffinity(0, sizeof bound, &bound);
  if (cores.allowed.empty()) cores.allowed = cores.bound;
  return cores;
}

bool has_spare(const Cores& cores, unsigned local_processes) noexcept {
  return cores.usable() > static_cast<int>(local_processes);
}

std::chrono::microseconds watch_interval(const Cores& cores, unsigned local_processes) noexcept {
  using std::chrono::microseconds;
  return has_spare(cores, local_processes) ? microseconds(200) : kRareWatch;
}

bool is_crowded(std::string_view loadavg, long processors) noexcept {
  // "0.20 0.18 0.12 RUNNABLE/ALL LAST-PID"
  for (int word = 0; word < 3; ++word) {
    const std::size_t space = loadavg.find(' ');
    if (space == std::string_view::npos) return false;
    loadavg.remove_prefix(space + 1);
  }
  long runnable = 0;
  const auto [end, error] =
      std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), runnable);
  return error == std::errc() && processors > 0 && runnable > processors;
}

bool is_crowded() noexcept {
  const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 128> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  return size > 0 &&
         is_crowded({text.data(), static_cast<std::size_t>(size)}, ::sysconf(_SC_NPROCESSORS_ONLN));
}

std::chrono::microseconds absence(const Cores& cores, unsigned local_processes) noexcept {
  using std::chrono::microseconds;
  const bool short_of = static_cast<int>(local_processes) > cores.usable();
  return short_of ? microseconds(20'000) : microseconds(0);
}

Choice choose_policy(const Cores& cores, unsigned local_processes) {
  const auto usable = static_cast<unsigned>(cores.usable());
  const std::string where = std::to_string(local_processes) +
                            (local_processes == 1 ? " process on " : " processes on ") +
                            std::to_string(usable) + (usable == 1 ? " processor" : " processors");
  if (local_processes > usable)
    return {false, where + ": a wake-up would take the processor from another process"};
  return {true, where};
}

}  // namespace lfc
