// The engine's state that lfc-look shows (look/records.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "engine/ni.hpp"
#include "engine/ni_thread.hpp"
#include "look/fields.hpp"

LFC_LOOK_OFFSETS

namespace lfc {

using look::number;
using look::text;

template <>
const look::Field Insight<Peer>::kFields[] = {
    number<std::uint32_t>("job", {offsetof(Peer, address.identity_.name.job)}),
    number<std::uint32_t>("rank", {offsetof(Peer, address.identity_.name.rank)}),
    number<PeerId>("id", {offsetof(Peer, id)}),
    number<Peer::State>("state", {offsetof(Peer, state)}),
    // The standard library's strings begin with the address of their bytes.
    text("link", 16, {offsetof(Peer, link), offsetof(Link, traits_.name), 0}),
    number<void*>("ring", {offsetof(Peer, ring)}),
    number<std::uint32_t>("credits", {offsetof(Peer, flow.credits_.available_)}),
    number<std::uint32_t>("window", {offsetof(Peer, flow.window_.window_)}),
    number<std::uint32_t>("owed", {offsetof(Peer, flow.window_.owed_.count_)}),
    number<std::uint32_t>("promised", {offsetof(Peer, flow.window_.promised_)}),
    number<std::size_t>("waiting", {offsetof(Peer, waiting.size_)}),
    number<Waiting::Kind>("head", {offsetof(Peer, waiting.head_), offsetof(Waiting, kind)}),
    number<FrameType>("head_type", {offsetof(Peer, waiting.head_), offsetof(WaitingFrame, type)}),
    number<std::uint8_t>("head_tag", {offsetof(Peer, waiting.head_), offsetof(WaitingFrame, tag)}),
    number<std::size_t>("answers", {offsetof(Peer, services.size_)}),
    number<std::size_t>("outstanding", {offsetof(Peer, outstanding)}),
    number<bool>("credit_overdue", {offsetof(Peer, credit_overdue)}),
    number<bool>("to_retry", {offsetof(Peer, to_retry)}),
};
template <>
const look::Schema Insight<Peer>::kSchema = look::schema("peer", kFields);

template <>
struct Insight<Ni> {
  static const look::Field kFields[];
  static look::Field counter(std::size_t index) noexcept {
    using Cell = std::uint64_t;
    static_assert(sizeof(Counters) == kCounters * sizeof(Cell));
    return number<Cell>(counter_info()[index].name,
                        {offsetof(Ni, counters_) + index * sizeof(Cell)});
  }
};
const look::Field Insight<Ni>::kFields[] = {
    number<std::uint32_t>("job", {offsetof(Ni, identity_.name.job)}),
    number<std::uint32_t>("rank", {offsetof(Ni, identity_.name.rank)}),
    number<Policy>("policy", {offsetof(Ni, config_.policy)}),
    // They change when the host polls: the first with Policy::fixed, otherwise the second.
    number<std::uint64_t>("visits", {offsetof(Ni, lock_.visits_)}),
    number<unsigned>("passes", {offsetof(Ni, turn_.passes_)}),
    number<bool>("used", {offsetof(Ni, turn_.activity_.used_)}),
    number<std::uint32_t>("attended", {offsetof(Ni, turn_.activity_.polling_threads_)}),
    number<bool>("driven", {offsetof(Ni, turn_.activity_.driven_)}),
    number<bool>("armed", {offsetof(Ni, turn_.activity_.armed_)}),
    number<bool>("left_over", {offsetof(Ni, turn_.activity_.left_over_)}),
    number<std::size_t>("host_queue", {offsetof(Ni, receiver_.host_.count_)}),
    number<std::uint64_t>("granted", {offsetof(Ni, peers_.budget_.granted_)}),
    number<std::uint64_t>("window_cap", {offsetof(Ni, peers_.budget_.cap_)}),
    number<void*>("thread", {offsetof(Ni, turn_.thread_)}),
    number<Watchdog::Action>("thread_action",
                             {offsetof(Ni, turn_.thread_), offsetof(NiThread, action_)}),
    number<std::uint64_t>("presence", {offsetof(Ni, turn_.thread_), offsetof(NiThread, presence_)}),
    number<std::int64_t>("presence_changed",
                         {offsetof(Ni, turn_.thread_), offsetof(NiThread, presence_changed_)}),
};

// The counters follow.
const look::Schema& ni_schema() noexcept {
  constexpr std::size_t kOwn = std::size(Insight<Ni>::kFields);
  static const auto fields = [] {
    std::array<look::Field, kOwn + kCounters> made{};
    const auto counter = std::copy_n(Insight<Ni>::kFields, kOwn, made.begin());
    for (std::size_t i = 0; i < kCounters; ++i) counter[i] = Insight<Ni>::counter(i);
    return made;
  }();
  static const look::Schema schema{"ni", fields.data(), fields.size()};
  return schema;
}

}  // namespace lfc
