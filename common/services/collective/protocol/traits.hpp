// CollectiveTraits: the properties of one kind of call that its plan and its progress depend on. A member of its row
// (collective.hpp).
//
//   if (traits.synchronises) ...
//
// Threads: a value.
#pragma once

#include <cstdint>

namespace lfc {

struct CollectiveTraits {
  // It ends at no rank before all ranks have begun it, which bounds how far ranks are ahead of each other.
  bool synchronises = false;
  // One room holds a chunk for each rank.
  bool shares_room = false;
  // Its number of steps on one node, whatever its size; 0: one or more for each chunk.
  std::uint64_t whole = 0;
  // The same among nodes, where each leader then gets a block from each other one.
  std::uint64_t exchange = 0;
  // Its contributions are combined on their way up the tree (node_reductions.hpp).
  bool combined_in_tree = false;
  // A call without bytes is done at once, without the other ranks.
  bool skipped_if_empty = false;
  // It takes no step of the communicator's, and begins without its board.
  bool apart = false;
  // The NI's thread may advance it: a bounded piece of work each time, and nothing but memory and the tree.
  bool aside = false;
};

}  // namespace lfc
