// Neighbourhood: the edges of a communicator's process topology at this rank, and the boards of its neighbours.
//
//   Neighbourhood neighbourhood(topology, state);         // the ranks at the other end of each edge
//   if (!neighbourhood.open(state)) ...                   // a neighbour has not made its board yet
//   const std::uint64_t step = neighbourhood.next();
//   if (neighbourhood.writable(step, size)) neighbourhood.own().publish(0, step, label);
//   neighbourhood.finish();
//
// Open MPI lets a rank whose blocks are empty skip some of these calls, and does not notify the others. So each rank
// numbers its steps for itself: two ranks that share an edge count alike, and no rank waits for one without an edge to
// it. Each rank has a board with one lane, which its neighbours read. A slot is written again when all its readers have
// finished its previous step. Threads: the caller serialises each CommunicatorState.
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
  static constexpr std::uint32_t kNoLane = ~std::uint32_t{0};
  // Values of Source::edge: not known yet, or the writer has no such edge.
  static constexpr std::int32_t kUnknown = -1;
  static constexpr std::int32_t kMissing = -2;
  struct Source {
    std::uint32_t lane;  // kNoLane: nothing comes
    std::int32_t edge;   // its index among the writer's edges
  };

  Neighbourhood(const lfc_coll_topology& topology, const CommunicatorState& state);
  ~Neighbourhood();
  Neighbourhood(const Neighbourhood&) = delete;
  Neighbourhood& operator=(const Neighbourhood&) = delete;

  // Opens the boards of this rank and of all neighbours. False: one is not there yet.
  bool open(CommunicatorState& state);
  bool is_open() const noexcept { return unopened_.empty(); }

  const std::vector<Source>& sources() const noexcept { return sources_; }
  // The rank at the end of each edge; negative: none.
  std::span<const int> destinations() const noexcept { return to_; }
  // Lanes of the ranks that read this rank's row.
  const std::vector<std::uint32_t>& readers() const noexcept { return readers_; }
  // Whether all readers know which of this rank's edges leads to them, without reading the list first.
  bool is_known() const noexcept { return known_; }
  // Sets the edges of all sources with this lane; `to`: the destinations of its rank.
  void set_edges(std::uint32_t lane, std::span<const int> to);

  Board& own() noexcept { return own_; }
  const Board& of(std::uint32_t lane) const noexcept { return boards_[lane]; }
  std::uint64_t next() const noexcept { return next_; }
  bool writable(std::uint64_t step, std::size_t size) noexcept;
  // Called when this rank has read all its parts of the step next().
  void finish() noexcept;

 private:
  const int self_;  // as a rank
  std::vector<int> to_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> readers_;
  std::vector<std::uint32_t> unopened_;  // lanes
  const std::uint32_t self_lane_;
  std::uint32_t users_ = 1;  // number of ranks that attach to this rank's board
  Board own_;
  std::vector<Board> boards_;  // by lane
  bool known_;
  std::uint64_t next_ = 0;
  std::uint64_t read_ = 0;  // all readers have finished at least so many steps
};

}  // namespace lfc

// The C API's name of a Neighbourhood.
struct lfc_coll_neighbours {
  lfc_coll_neighbours(const lfc_coll_topology& topology, const lfc::CommunicatorState& state)
      : hood(topology, state) {}
  lfc::Neighbourhood hood;
};
