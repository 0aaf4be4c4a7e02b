#include "verdict.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "look/states.hpp"
#include "waits.hpp"

namespace look {
namespace {

using lfc::look::number_of;

// Credits and signs of life go to and fro in a job that hangs, too.
constexpr std::uint64_t kFewFrames = 16;

std::string seconds(double time) {
  char text[32];
  std::snprintf(text, sizeof text, time < 10 ? "%.1f s" : "%.0f s", time);
  return text;
}

// The reason why the process runs no instruction, in any call. Empty: it may run.
std::string halt_of(const Rank& rank) {
  if (rank.state == 'T') return "is stopped";
  if (rank.state == 't') return "is held by a debugger";
  if (rank.state == 'Z' || rank.state == 'X') return "has ended";
  return "";
}
bool is_halted(const Rank& rank) { return !halt_of(rank).empty(); }

// Why nothing is done for others in a rank that is not inside MPI.
std::string unserved(const Rank& rank) {
  if (rank.ni("policy") == number_of(lfc::look::Policy::single))
    return ", and LFC has no thread there (policy single)";
  const bool unread = std::any_of(rank.sockets.begin(), rank.sockets.end(),
                                  [](const Socket& socket) { return socket.unread != 0; });
  if (unread && rank.thread_state.rfind('S', 0) == 0)
    return ", and LFC's thread there sleeps though something has come for it";
  return "";
}

// "rank 1", "ranks 1 and 3", "ranks 0 to 3 and 7"
std::string names(const std::set<std::uint32_t>& ranks) {
  std::vector<std::string> parts;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    const bool range = *last - *first > 1;
    if (range) parts.push_back(std::to_string(*first) + " to " + std::to_string(*last));
    for (auto rank = first; !range && rank != std::next(last); ++rank)
      parts.push_back(std::to_string(*rank));
    first = std::next(last);
  }
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

// Only waits of ranks that are blocked in MPI are reported; a rank that computes may have started the operation without
// waiting for it.
bool is_held_up(const Rank& rank) { return rank.polled && !is_halted(rank); }

class Sentences {
 public:
  explicit Sentences(const Job& job) : job_(job) {
    for (const Rank& rank : job) waits_[rank.rank()] = waits_of(job, rank);
  }

  std::vector<std::string> all() {
    add_halted();
    if (moves()) return lines_;
    add_waits();
    add_others();
    return lines_;
  }

 private:
  // These lines come first, also in a job that is at work, because all other findings may follow from them.
  void add_halted() {
    std::map<std::string, std::set<std::uint32_t>> halted;
    for (const Rank& rank : job_)
      if (is_halted(rank)) halted[doing(rank)].insert(rank.rank());
    add_alike(halted);
  }

  void add_alike(const std::map<std::string, std::set<std::uint32_t>>& ranks_doing) {
    for (const auto& [what, ranks] : ranks_doing) {
      lines_.push_back((ranks.size() == 1 ? "" : "each of ") + names(ranks) + " " + what);
      named_.insert(ranks.begin(), ranks.end());
    }
  }

  bool moves() {
    std::uint64_t frames = 0;
    for (const Rank& rank : job_) frames += rank.frames;
    if (frames <= kFewFrames * job_.size()) return false;
    lines_.push_back("the job is at work: " + std::to_string(frames) +
                     " frames came and went within " + seconds(job_.front().looked));
    return true;
  }

  // The activity of a rank that others wait for, and the rank that it waits for in turn.
  std::string culprit(const Wait& awaited, std::set<std::uint32_t> before) {
    const std::uint32_t number = *awaited.on;
    named_.insert(number);
    const Rank* const rank = find_rank(job_, number);
    if (rank == nullptr) return called(number) + " is not on this node: run lfc-look there";
    if (is_halted(*rank)) return called(number) + " " + halt_of(*rank);
    if (!before.insert(number).second) return "which closes the circle";
    const std::vector<Wait>& waits = waits_[number];
    if (is_held_up(*rank) && !waits.empty()) {
      const Wait& wait = waits.front();
      const std::string itself = called(number) + " waits for " + wait.what;
      return wait.on ? itself + "; " + culprit(wait, before) : itself;
    }
    return called(number) + " " + doing(*rank) +
           (rank->polled || !awaited.by_engine ? "" : unserved(*rank));
  }

  void add_waits() {
    // Those that wait for the same, together.
    std::vector<std::pair<Wait, std::set<std::uint32_t>>> groups;
    for (const bool inside : {true, false}) {
      if (!inside && !groups.empty()) break;
      for (const Rank& rank : job_) {
        if (is_held_up(rank) != inside || is_halted(rank)) continue;
        for (const Wait& wait : waits_[rank.rank()]) {
          auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
            return group.first.what == wait.what;
          });
          if (same == groups.end()) same = groups.insert(same, {wait, {}});
          same->second.insert(rank.rank());
        }
      }
    }
    for (const auto& [wait, ranks] : groups) {
      std::string line =
          names(ranks) + (ranks.size() == 1 ? " waits for " : " wait for ") + wait.what;
      if (wait.on)
        line += "; " + culprit(wait, ranks.size() == 1 ? ranks : std::set<std::uint32_t>{});
      lines_.push_back(line);
      named_.insert(ranks.begin(), ranks.end());
    }
  }

  void add_others() {
    std::set<std::uint32_t> inside;
    std::map<std::string, std::set<std::uint32_t>> outside;
    for (const Rank& rank : job_) {
      if (named_.count(rank.rank()) != 0) continue;
      if (is_held_up(rank)) {
        inside.insert(rank.rank());
      } else {
        outside[doing(rank)].insert(rank.rank());
      }
    }
    if (!inside.empty()) {
      lines_.push_back(
          names(inside) + (inside.size() == 1 ? " waits" : " wait") +
          " inside MPI for a message that no rank has sent" +
          (inside.size() == job_.size() ? ": a send or a receive is missing in the program" : ""));
    }
    add_alike(outside);
  }

  const Job& job_;
  std::map<std::uint32_t, std::vector<Wait>> waits_;
  std::set<std::uint32_t> named_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string doing(const Rank& rank) {
  const std::string since = rank.silent ? " for " + seconds(*rank.silent) : std::string();
  if (rank.state == 'T') return halt_of(rank) + since + " (by a signal; SIGCONT lets it go on)";
  if (rank.state == 't') return halt_of(rank) + since;
  if (is_halted(rank)) return halt_of(rank);
  if (rank.polled) return "waits inside MPI for a message that no rank has sent";
  std::string text = "has not called MPI";
  if (!rank.silent) {
    text += " while it was watched (" + seconds(rank.looked) + ")";
  } else {
    text += (rank.exact ? " for " : " for at least ") + seconds(*rank.silent);
  }
  if (rank.state == 'R') return text + ": it computes";
  return text + (rank.sleeps_in.empty() ? "" : ": it sleeps in " + rank.sleeps_in);
}

std::vector<std::string> verdict(const Job& job) { return Sentences(job).all(); }

}  // namespace look
