// NodeResults: the results that come down a tree to a node. They are placed onto the node's board, once for all of its
// ranks, or directly into the buffer of the host's operation. Results that come too early stay in the NI's buffers.
//
//   if (!results.place(step, label, bytes)) ...      // no room, or not begun: keep(packet) follows
//   while (results.work()) ...                       // tries again; true: some is left that the board has no room for
//
// Threads: under ServicePort::Access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "services/collective/protocol/board.hpp"
#include "services/collective/tree_position.hpp"

namespace lfc {

class NodeResults {
 public:
  explicit NodeResults(TreePosition& position) noexcept : position_(position) {}

  void set_board(const Board& board) noexcept { board_ = board; }
  // Writes the result to the place that the ranks of this node read. False: there is no room, or no operation, yet.
  bool place(std::uint64_t step, Label label, std::span<const std::byte> bytes);
  bool place_in_buffer(std::uint64_t step, Label label, std::span<const std::byte> bytes);
  // Places the result of a tree whose root is this node; stores it if there is no room.
  void place_own(std::uint64_t step, Label label, std::span<const std::byte> bytes);
  // Stores a packet that place() did not take.
  void keep(Multicast::Packet& packet);
  bool any_waits() const noexcept { return !kept_.empty() || !own_.empty(); }
  bool work();
  void drop() noexcept;

 private:
  struct Own {
    Label label;
    std::vector<std::byte> bytes;
  };

  TreePosition& position_;
  Board board_;  // the NI's own view: it writes while the host reads
  std::multimap<std::uint64_t, Multicast::Packet*> kept_;  // by step
  std::map<std::uint64_t, Own> own_;                       // that the board has no room for
};

}  // namespace lfc
