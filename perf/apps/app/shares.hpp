// Block: the share of a rank when things are divided into blocks.
#pragma once

#include <algorithm>

namespace app {

// Returns the share of a rank when `total` things are divided into blocks as equal as possible.
struct Block {
  int first = 0;
  int count = 0;
};

inline Block block_of(int total, int owner, int owners) {
  const int least = total / owners;
  const int more = total % owners;
  return {owner * least + std::min(owner, more), least + (owner < more ? 1 : 0)};
}

inline int owner_in_blocks(int index, int total, int owners) {
  int owner = std::min(owners - 1, index / (total / owners + 1));
  while (true) {
    const Block block = block_of(total, owner, owners);
    if (index < block.first + block.count) return owner;
    ++owner;
  }
}

}  // namespace app
