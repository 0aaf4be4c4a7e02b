// Plan: the keys of ordinary messages that get a channel. A run is right with any plan, also with that of another
// program; a plan decides only which messages may use a channel.
//
//   lfc-plan version=2 ranks=2 program=app digest=00000000deadbeef
//   open comm=1234/2 from=0 to=1 tag=7 messages=1000
//
//   std::string why;
//   std::optional<Plan> plan = Plan::parse(text, own_program(), 2, why);
//   if (plan && plan->names({1234, 0, 1, 7})) ...
//
// `open every` names all keys. `ranks` and `digest` may be `any`. A key may have `gain`, the time in us that its
// `messages` are expected to save together. Threads: values.
// Tests: tests/unit/services/channels/plan_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "services/channels/protocol/recording.hpp"

namespace lfc::channels {

class Plan {
 public:
  struct Messages {
    std::uint64_t comm = 0;         // its name (mca/pml_hooks/communicator_names.h)
    std::int32_t from = 0, to = 0;  // ranks in MPI_COMM_WORLD
    std::int32_t tag = 0;
    bool operator==(const Messages&) const = default;
  };

  // Nothing: the text is no plan, or not one for this program and this number of ranks; `why_not` has the reason.
  static std::optional<Plan> parse(std::string_view text, const Program& program, int ranks,
                                   std::string& why_not);

  bool names(const Messages& messages) const { return every_ || open_.contains(messages); }
  // Whether it names messages from or to this rank.
  bool concerns(std::int32_t rank) const noexcept;
  std::size_t size() const noexcept { return open_.size(); }
  bool names_every() const noexcept { return every_; }
  // Returns the time in us that one of these messages is expected to save. 0: the plan does not have it.
  double gain_us(const Messages& messages) const;
  // Returns the time in us that all messages are expected to save together. 0: the plan does not have it.
  double gain_us() const noexcept;

 private:
  struct Hash {
    std::size_t operator()(const Messages& messages) const noexcept;
  };

  struct Expected {
    double gain_us = 0;  // of all messages
    std::uint64_t messages = 1;
  };

  static Expected expected(std::string_view line);

  std::unordered_map<Messages, Expected, Hash> open_;
  bool every_ = false;
};

}  // namespace lfc::channels
