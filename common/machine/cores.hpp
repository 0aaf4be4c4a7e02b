// Cores: how many processors this process and its local peers may use together, and what
// that means for the policy. Without hwloc, in microseconds: for every start.
//
//   Cores cores = count_cores();                  // {allowed 8, bound 1}
//   Choice choice = choose_policy(cores, 4);    // 4 processes of the job on this node
//   say(choice.reason);                           // "4 processes on 8 processors: ..."
//
// Threads: count_cores() moves the calling thread over the processors for a moment.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lfc {

struct Cores {
  std::vector<int> allowed;  // by the control group, whatever this process is bound to
  std::vector<int> bound;    // where this process may run
  int quota = 0;             // processors' worth of time by the control group; 0: no limit
  // How many the processes of the node have together.
  int usable() const noexcept;
};
Cores count_cores();
// The least that the process's control groups grant, of both versions, with all that they lie in; 0: no limit.
// `mounted`: /sys/fs/cgroup; `groups`: the text of /proc/self/cgroup. In a container that sees its own groups only the
// root counts.
int cpu_quota(const std::string& mounted, std::string_view groups);

struct Choice {
  bool floating;  // else single
  std::string reason;
};
// Whether there are more processors than processes that compute.
bool has_spare(const Cores& cores, unsigned local_processes) noexcept;
// The longest time between two looks of `floating`'s thread whether its host is still in MPI. A look
// costs some microseconds, of the host itself unless a processor is to spare: every millisecond, it was
// seen to make short messages slower by a twentieth.
std::chrono::microseconds watch_interval(const Cores& cores, unsigned local_processes) noexcept;
// Where none is to spare.
inline constexpr std::chrono::microseconds kRareWatch{5000};

// Whether at this moment more wants to run on the machine than it has processors: a processor that was
// counted as one to spare may be taken by other jobs, or by other containers that count the same ones.
// The caller counts. Some microseconds; false where the kernel does not tell. Any thread.
bool is_crowded() noexcept;
// Likewise, from the text of /proc/loadavg.
bool is_crowded(std::string_view loadavg, long processors) noexcept;

// How long a process must not have polled to count as computing. Where processors are short it may wait
// for one meanwhile, inside MPI: some time slices of others.
std::chrono::microseconds absence(const Cores& cores, unsigned local_processes) noexcept;

// `auto`: floating where a wake-up can pay, single where every processor is taken twice.
Choice choose_policy(const Cores& cores, unsigned local_processes);

}  // namespace lfc
