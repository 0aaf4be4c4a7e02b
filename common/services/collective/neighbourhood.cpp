#include "services/collective/neighbourhood.hpp"

#include <algorithm>

#include "base/faults.hpp"
#include "services/collective/communicator_state.hpp"

namespace lfc {
namespace {

void add_once(std::vector<std::uint32_t>& list, std::uint32_t lane) {
  if (std::find(list.begin(), list.end(), lane) == list.end()) list.push_back(lane);
}

}  // namespace

Neighbourhood::Neighbourhood(const lfc_coll_topology& topology, const CommunicatorState& state)
    : self_(static_cast<int>(state.rank_of(state.self()))),
      to_(topology.to, topology.to + topology.destinations),
      self_lane_(state.lane()),
      boards_(state.lanes()),
      known_(topology.crossed) {
  const auto lane_of = [&](int rank) { return state.lane_of(state.member_of(rank)); };
  for (const int rank : to_)
    if (rank >= 0 && rank != self_) add_once(readers_, lane_of(rank));
  unopened_ = readers_;
  for (int i = 0; i < topology.sources; ++i) {
    const int rank = topology.from[i];
    sources_.push_back({rank < 0 ? kNoLane : lane_of(rank), topology.crossed ? (i ^ 1) : kUnknown});
    if (rank >= 0 && rank != self_) add_once(unopened_, lane_of(rank));
  }
  users_ += static_cast<std::uint32_t>(unopened_.size());
  if (users_ > 1) unopened_.push_back(self_lane_);  // the last: it is made first
  set_edges(self_lane_, to_);
}

Neighbourhood::~Neighbourhood() {
  if (own_.is_open()) own_.detach();
  for (Board& board : boards_)
    if (board.is_open()) board.detach();
}

bool Neighbourhood::open(CommunicatorState& state) {
  while (!unopened_.empty()) {
    const std::uint32_t lane = unopened_.back();
    std::byte* const memory = state.neighbour_board(lane, users_);
    if (memory == nullptr) return false;
    (lane == self_lane_ ? own_ : boards_[lane]) = Board(memory, 1, 0);
    unopened_.pop_back();
  }
  return true;
}

// Edges between the same two ranks have the same order at both ends.
void Neighbourhood::set_edges(std::uint32_t lane, std::span<const int> to) {
  auto next = to.begin();
  for (Source& source : sources_) {
    if (source.lane != lane || source.edge != kUnknown) continue;
    next = std::find(next, to.end(), self_);
    source.edge = next == to.end() ? kMissing : static_cast<std::int32_t>(next - to.begin());
    if (next != to.end()) ++next;
  }
}

bool Neighbourhood::writable(std::uint64_t step, std::size_t size) noexcept {
  if (fault(Fault::board_waits)) return false;
  const std::uint64_t depth = size <= Board::kInline ? limits::kCollSlots : limits::kCollRooms;
  if (step < read_ + depth) return true;
  std::uint64_t least = step;
  for (const std::uint32_t lane : readers_) least = std::min(least, boards_[lane].finished(0));
  read_ = least;
  return step < read_ + depth;
}

void Neighbourhood::finish() noexcept {
  ++next_;
  if (own_.is_open()) own_.finish(next_);
  known_ = true;
}

}  // namespace lfc
