#include "job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "look/states.hpp"
#include "process.hpp"
#include "reader.hpp"

namespace look {
namespace {

using lfc::look::number_of;
using lfc::look::Policy;

// The number that changes with each poll of the rank.
std::uint64_t polls(const Rank& rank) {
  return rank.ni("policy") == number_of(Policy::fixed) ? rank.ni("visits") / 2 : rank.ni("passes");
}
std::uint64_t frames(const Rank& rank) {
  return rank.ni("frames_sent") + rank.ni("frames_received");
}

// Since when the rank has not been seen inside MPI: by its engine's thread, if that has seen it leave.
void explain_silence(Rank& rank) {
  constexpr std::uint64_t kVisits = (std::uint64_t{1} << 40) - 1;  // Turn::presence()
  if (rank.polled) return;
  const bool seen = rank.ni("presence") != 0 && rank.ni("presence_changed") != 0 &&
                    (rank.ni("presence") & kVisits) == (rank.ni("visits") / 2 & kVisits);
  if (seen && rank.ni("policy") != number_of(Policy::fixed)) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto then =
        std::chrono::nanoseconds(static_cast<std::int64_t>(rank.ni("presence_changed")));
    rank.silent = std::max(rank.looked, std::chrono::duration<double>(now - then).count());
    rank.exact = true;
    return;
  }
  rank.silent = seconds_off(rank.pid);
  if (rank.silent && *rank.silent < rank.looked) rank.silent.reset();
}

}  // namespace

Found look_at(const std::vector<int>& pids, double seconds) {
  struct Seen {
    Reader reader;
    Rank first;
  };
  Found found;
  std::vector<std::unique_ptr<Seen>> seen;
  const auto begun = std::chrono::steady_clock::now();
  for (const int pid : pids) {
    auto one = std::make_unique<Seen>(Seen{Reader(pid), {}});
    std::string problem;
    if (!one->reader.open(problem)) {
      if (!problem.empty()) found.problems.push_back(problem);
      continue;
    }
    one->first.pid = pid;
    one->first.rows = one->reader.rows();
    seen.push_back(std::move(one));
  }
  if (seen.empty()) return found;
  std::this_thread::sleep_until(begun + std::chrono::duration<double>(seconds));
  for (const auto& one : seen) {
    Rank rank;
    rank.rows = one->reader.rows();
    if (rank.find("ni") == nullptr) continue;  // not open yet, or ended
    describe_process(one->first.pid, rank);
    rank.looked = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    rank.polled = polls(rank) != polls(one->first);
    rank.frames = frames(rank) - frames(one->first);
    explain_silence(rank);
    found.jobs[rank.job()].push_back(std::move(rank));
  }
  for (auto& [number, job] : found.jobs)
    std::sort(job.begin(), job.end(),
              [](const Rank& a, const Rank& b) { return a.rank() < b.rank(); });
  return found;
}

}  // namespace look
