// Neighbourhood: the edges of a communicator's process topology as this rank sees them, and where it meets its
// neighbours.
//
//   Neighbourhood neighbourhood(topology, state);         // the ranks at the other end of each edge
//   if (!neighbourhood.open(state)) ...                   // some neighbour has not come yet
//   const std::uint64_t step = neighbourhood.next();
//   if (neighbourhood.writable(step, size)) neighbourhood.own().publish(0, step, label);
//   neighbourhood.finish();
//
// Open MPI lets a rank whose blocks are empty skip some of these calls, without a word to others. So steps are numbered
// by each rank for itself: those who share an edge count alike, and nobody waits for ranks that it has no edge with.
// Each rank has a board with a lane of its own, which its neighbours read. A slot is written again when those who
// read it have finished its step before.
// Threads: the caller serialises each CommunicatorState.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lfc/collective_call.h"
#include "services/collective/protocol/board.hpp"

namespace lfc {

class CommunicatorState;

class Neighbourhood {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  // Which of its writer's edges an edge is: not known yet, or none.
  static constexpr std::int32_t kUnknown = -1;
  static constexpr std::int32_t kMissing = -2;
  struct Source {
    std::uint32_t lane;  // kNobody: nothing comes
    std::int32_t edge;
  };

  Neighbourhood(const lfc_coll_topology& topology, const CommunicatorState& state);
  ~Neighbourhood();
  Neighbourhood(const Neighbourhood&) = delete;
  Neighbourhood& operator=(const Neighbourhood&) = delete;

  // The boards of this rank and of all neighbours. False: one is not there yet.
  bool open(CommunicatorState& state);
  bool is_open() const noexcept { return unopened_.empty(); }

  const std::vector<Source>& sources() const noexcept { return sources_; }
  // By edge, the rank that it leads to; negative: none.
  std::span<const int> destinations() const noexcept { return to_; }
  // Lanes of those who read this rank's row.
  const std::vector<std::uint32_t>& readers() const noexcept { return readers_; }
  // Whether all sources know which of this rank's edges is theirs, without reading that first.
  bool is_known() const noexcept { return known_; }
  // `to`: the destinations of the rank with this lane.
  void learn(std::uint32_t lane, std::span<const int> to);

  Board& own() noexcept { return own_; }
  const Board& of(std::uint32_t lane) const noexcept { return boards_[lane]; }
  std::uint64_t next() const noexcept { return next_; }
  bool writable(std::uint64_t step, std::size_t size) noexcept;
  // This rank has read all that it gets in the next step.
  void finish() noexcept;

 private:
  const int self_;  // as a rank
  std::vector<int> to_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> readers_;
  std::vector<std::uint32_t> unopened_;  // lanes
  const std::uint32_t self_lane_;
  std::uint32_t users_ = 1;  // who will attach to this rank's board
  Board own_;
  std::vector<Board> boards_;  // by lane
  bool known_;
  std::uint64_t next_ = 0;
  std::uint64_t read_ = 0;  // all readers have finished so many steps, or more
};

}  // namespace lfc

// As C knows it.
struct lfc_coll_neighbours {
  lfc_coll_neighbours(const lfc_coll_topology& topology, const lfc::CommunicatorState& state)
      : hood(topology, state) {}
  lfc::Neighbourhood hood;
};
