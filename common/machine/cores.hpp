// Cores: how many processors this process and its local peers may use together, and the policy
// that follows from it. Without hwloc, in microseconds, so every start can afford it.
//
//   Cores cores = count_cores();                  // {allowed 8, bound 1}
//   Choice choice = choose_policy(cores, 4);    // 4 processes of the job on this node
//   say(choice.reason);                           // "4 processes on 8 processors: ..."
//
// Threads: count_cores() briefly moves the calling thread over the processors.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lfc {

struct Cores {
  std::vector<int> allowed;  // by the control group; the binding of this process does not matter
  std::vector<int> bound;    // where this process may run
  int quota = 0;             // processors' worth of time by the control group; 0: no limit
  // The processors of all processes of the node together.
  int usable() const noexcept;
};
Cores count_cores();
// Returns the least quota of the process's control groups and of all groups around them, of both versions; 0: no limit.
// `mounted`: /sys/fs/cgroup; `groups`: the text of /proc/self/cgroup. A container that sees only its own groups has the
// quota of its root.
int cpu_quota(const std::string& mounted, std::string_view groups);

struct Choice {
  bool floating;  // else single
  std::string reason;
};
// Returns whether there are more processors than processes that compute.
bool has_spare(const Cores& cores, unsigned local_processes) noexcept;
// The longest time between two looks at whether the host is still in MPI, with `floating`. A look
// costs some microseconds, of the host itself unless a processor is spare. Every millisecond, it
// made short messages slower by a twentieth.
std::chrono::microseconds watch_interval(const Cores& cores, unsigned local_processes) noexcept;
// The interval if no processor is spare.
inline constexpr std::chrono::microseconds kRareWatch{5000};

// Returns whether the machine now has more runnable threads than processors. A processor that was
// counted as spare may be taken by other jobs, or by other containers that count the same ones.
// The calling thread counts. Some microseconds; false if the kernel does not report it. Any thread.
bool is_crowded() noexcept;
// Decides that from the text of /proc/loadavg.
bool is_crowded(std::string_view loadavg, long processors) noexcept;

// How long a process must not have polled to count as computing. If processors are short, it may wait
// for one meanwhile, inside MPI, for some time slices of others.
std::chrono::microseconds absence(const Cores& cores, unsigned local_processes) noexcept;

// The policy for `auto`: floating if a wake-up can pay, single if ranks share processors.
Choice choose_policy(const Cores& cores, unsigned local_processes);

}  // namespace lfc
