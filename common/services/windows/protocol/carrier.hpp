// Carrier: interface to the transport of one window's frames, implemented by a service of the NI or by a test.
//
// The protocol (origin.hpp, target.hpp, epochs.hpp) uses nothing else of the process. All functions are called with the
// caller's lock held. None calls back into the protocol unless its comment allows that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/windows/protocol/frames.hpp"
#include "services/windows/protocol/pending_operations.hpp"

namespace lfc::rma {

class Carrier {
 public:
  virtual ~Carrier() = default;

  // The peer that sends the member's frames.
  virtual PeerId peer_of(Rank) const noexcept = 0;
  // Bytes of the largest payload.
  virtual std::size_t frame_bytes() const noexcept = 0;

  // The carrier fills in window and rank of heads and acks.

  // Sends a fragment; there may be no runs, and no data. Its bytes may be reused on return. False: the carrier sends it
  // later. Origin::carried() follows, from inside this call only if the member is lost.
  virtual bool send(Rank to, WindowHead head, std::span<const Run> runs,
                    std::span<const std::byte> data) = 0;
  // Has the link move the bytes of a contiguous put or get, whose description may be gone on return.
  // Origin::native_done() follows, after the call.
  virtual void transfer(const WindowCall& call) = 0;
  // Sends a frame without data, now or later. Frames may overtake each other.
  virtual void signal(Rank to, WindowHead head) = 0;
  // Both send a result or count, and free the buffer of a frame that was kept with Verdict::hold.
  virtual void acknowledge(Rank to, WindowAck ack) = 0;
  virtual void reply(Rank to, const WindowHead& head, std::span<const Run> runs,
                     std::vector<std::byte> values) = 0;
  // Schedules Target::work() for the next pass of the control program.
  virtual void wake() = 0;

  // Adds to a counter of this member's notified access, perhaps 0. False: there is no such counter.
  virtual bool notify(std::uint64_t /*counter*/, std::uint64_t /*by*/) { return false; }

  // Copies contiguous bytes by the link itself; finished on return. False: nothing was done.
  virtual bool copy_at_once(const PlainCall&) noexcept { return false; }
  // Copies the puts of a bundle by the link itself, in order; finished on return. False: some may have been copied.
  virtual bool copy_bundle(Rank, std::span<const std::byte> /*bundle*/) noexcept { return false; }
};

}  // namespace lfc::rma
