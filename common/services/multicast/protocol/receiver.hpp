// MulticastReceiver: who takes the packets of a group at one member; all its functions run with ServicePort::Access
// held, and must not call the host or wait.
//
//   Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) override {
//     return ready ? (use(bytes), Answer::taken) : Answer::keep;
//   }
//   void keep(MulticastPacket& packet) override { kept_ = &packet; }   // until Multicast::release()
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/multicast/protocol/header.hpp"
#include "services/multicast/protocol/packets.hpp"

namespace lfc {

// Who has something to do that no packet brings.
class MulticastWorker {
 public:
  virtual ~MulticastWorker() = default;
  // Called in the next pass of the control program after Multicast::wake(). True: again in the one after.
  virtual bool work() { return false; }
};

class MulticastReceiver : public MulticastWorker {
 public:
  enum class Answer : std::uint8_t { taken, keep, malformed };
  // A packet for this member. `keep`: keep() follows with a copy. `malformed`: whoever has sent it breaks
  // the protocol; of a packet of a tree nobody knows who that is, and the group is given up.
  virtual Answer take(const MulticastHeader& header, std::span<const std::byte> bytes) = 0;
  // The packet stays the receiver's until Multicast::release().
  virtual void keep(MulticastPacket& packet) = 0;
  // The group ends: a member is lost, or has given up, and what it should have sent or forwarded will not come.
  virtual void lost(MulticastReason reason) = 0;
};

}  // namespace lfc
