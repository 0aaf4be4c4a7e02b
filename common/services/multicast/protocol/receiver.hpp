// MulticastReceiver: interface of the user that takes the packets of a group at one member. All its functions run with
// ServicePort::Access held, and must not call the host or wait.
//
//   Reception take(const MulticastHeader& header, std::span<const std::byte> bytes) override {
//     return ready ? (use(bytes), Reception::taken) : Reception::keep;
//   }
//   void keep(MulticastPacket& packet) override { kept_ = &packet; }   // until Multicast::release()
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/multicast/protocol/header.hpp"
#include "services/multicast/protocol/packets.hpp"

namespace lfc {

// MulticastWorker: interface of a user that has work without a packet to cause it.
class MulticastWorker {
 public:
  virtual ~MulticastWorker() = default;
  // Runs in the next pass of the control program after Multicast::wake(). True: runs again in the pass after that.
  virtual bool work() { return false; }
};

class MulticastReceiver : public MulticastWorker {
 public:
  enum class Reception : std::uint8_t { taken, keep, malformed };
  // Takes a packet for this member. `keep`: keep() follows with a copy. `malformed`: its sender breaks the protocol.
  // The sender of a tree's packet cannot be identified, so then the group is given up.
  virtual Reception take(const MulticastHeader& header, std::span<const std::byte> bytes) = 0;
  // Keeps the packet, which belongs to the receiver until Multicast::release().
  virtual void keep(MulticastPacket& packet) = 0;
  // The group ends: a member is lost or has given up, so packets from it or forwarded by it will not come.
  virtual void lost(MulticastReason reason) = 0;
};

}  // namespace lfc
