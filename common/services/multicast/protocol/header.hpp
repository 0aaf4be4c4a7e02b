// MulticastHeader: the header of every packet, little-endian on the wire.
//
//   MulticastHeader header;
//   header.shape = TreeShape::monotone;            // and fan; for the receiver: number, tag, word
//   multicast.send(group, header, bytes, unsent);  // sets group, kind and origin
#pragma once

#include <cstdint>

#include "services/multicast/protocol/tree.hpp"

namespace lfc {

struct MulticastHeader {
  enum class Kind : std::uint8_t {
    tree,    // goes on along the tree with root `origin`
    direct,  // from one member to another
    lost,    // the sender can do no more for the group; `tag` is MulticastReason
    last_ = lost,
  };
  std::uint64_t group = 0;   // key
  std::uint64_t number = 0;  // of the packet, for the receiver
  std::uint32_t origin = 0;  // member that sent it first; `peer` of a frame is the last hop
  Kind kind = Kind::tree;
  TreeShape shape = TreeShape::monotone;
  std::uint8_t fan = 1;
  std::uint8_t tag = 0;    // for the receiver
  std::uint64_t word = 0;  // for the receiver
};
static_assert(sizeof(MulticastHeader) == 32);

// MulticastReason: the reason why a group ends.
enum class MulticastReason : std::uint8_t { loss, disagreement, revocation, last_ = revocation };

}  // namespace lfc
