// Confirmer, Confirmations: an origin requests that the target confirms frames of a generation once they are in the
// buffer. So a program can wait for that although its puts did not request it: no put pays for a wait that never comes.
//
//   Status status = confirmer.begin(op, target, tag, generation);     // origin; op.done follows
//   if (!confirmations.add(header)) return false;                     // target: not in place yet
//   confirmations.take(tag, generation, arrived, [&](std::uint64_t id) { reply(id); });
//
// The request names the number of frames that have been sent so far, or all of a generation that has been sent. The
// target replies when these are in place, or when they never will be: kFailed (withdrawn) or kFailed and kOverrun (a
// put of that generation did not fit). The frames of the request are sent, so the reply waits for the announcement
// alone.
// Memory: an origin has at most kMaxConfirmations requests under way; a target that gets more from one origin rejects
// them. Time: a frame that arrives examines the requests that it satisfies and one more, however many wait.
// Held by: tests/unit/services/neon/confirmation_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/name_table.hpp"
#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/frame.hpp"
#include "services/neon/protocol/operation.hpp"

namespace lfc::neon {

class Origin;

inline constexpr std::size_t kMaxConfirmations = 1 << 16;
inline constexpr std::uint32_t kAllFrames = 0xffffffff;

// At the origin: the requests under way to all targets.
class Confirmer {
 public:
  Confirmer(const Origin& origin, Outlet& outlet) : origin_(origin), outlet_(outlet) {}

  // Begins an operation that ends when all that has been sent so far of this generation of a stream is in the target's
  // buffer. Not ok: nothing has begun; busy: not now, because there are too many, or a direct write of the stream is
  // under way.
  Status begin(Operation& op, Rank target, std::uint32_t tag, std::uint32_t generation);
  bool on_confirmed(Rank from, const Header& header);
  void on_lost(Rank peer);

 private:
  void finish(Operation& op, Status status);

  const Origin& origin_;
  Outlet& outlet_;
  NameTable<Operation, std::uint64_t> begun_{32};
  std::size_t open_ = 0;
};

// At the target: the requests of one origin that wait, and the generations that failed.
class Confirmations {
 public:
  bool empty() const noexcept { return waiting_.empty(); }
  // False: the origin has too many requests.
  bool add(const Header& request);
  // Calls each(id) for the requests that the first `arrived` frames of this generation satisfy, and forgets them.
  // Returns how many requests it has examined: at most one more, so a frame that satisfies none is cheap.
  template <class Each>
  std::size_t take(std::uint32_t tag, std::uint32_t generation, std::uint32_t arrived, Each each) {
    std::size_t examined = 0;
    for (auto at = waiting_.lower_bound({tag, generation, 0}); at != waiting_.end(); ++examined) {
      const auto [of_tag, of_generation, frames] = at->first;
      if (of_tag != tag || of_generation != generation || frames > arrived) return examined + 1;
      const std::uint64_t id = at->second;
      at = waiting_.erase(at);
      each(id);
    }
    return examined;
  }
  // Notes that a generation was withdrawn (kFailed), or that a put of it did not fit (kFailed | kOverrun).
  void note_failure(std::uint32_t tag, std::uint32_t generation, std::uint8_t flags);
  // Returns the flags of a reply, 0 if the generation has not failed. It knows each of the last kFailures that failed.
  // If an older one of the tag failed, that one and those before it count as failed: no failure is confirmed as ok.
  std::uint8_t failure(std::uint32_t tag, std::uint32_t generation) noexcept;

 private:
  static constexpr std::size_t kFailures = 64;
  using Waited =
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // tag, generation, frames
  struct Failure {
    std::uint32_t tag, generation;
    std::uint8_t flags;
  };

  std::multimap<Waited, std::uint64_t> waiting_;  // the origin's names of the requests
  std::vector<Failure> failures_;
  std::size_t oldest_ = 0;                          // of `failures_`, once there are kFailures
  std::map<std::uint32_t, std::uint32_t> dropped_;  // by tag: the last one that is no longer there
};

}  // namespace lfc::neon
