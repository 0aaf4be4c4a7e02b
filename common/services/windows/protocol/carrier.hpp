// Carrier: what moves the frames of one window and tells the rest of the process: a service of the NI, or a test.
//
// The two halves of the protocol, origin.hpp and target.hpp, and what joins them, epochs.hpp, know nothing else of what
// is around them. Everything is called with the caller's lock held, and none of it calls back into the protocol but
// where it says so.
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

  // Whose frames are the member's.
  virtual PeerId peer_of(Rank) const noexcept = 0;
  // Bytes of the largest payload.
  virtual std::size_t frame_bytes() const noexcept = 0;

  // The carrier fills in window and rank of heads and answers.

  // Sends a fragment; there may be no runs, and no data. Its bytes may be reused on return. False: it goes when it can;
  // Origin::carried(to) follows, from inside this call only if the member is lost.
  virtual bool send(Rank to, WindowHead head, std::span<const Run> runs,
                    std::span<const std::byte> data) = 0;
  // Sends a frame without data, now or when it can. Frames may overtake each other.
  virtual void signal(Rank to, WindowHead head) = 0;
  // Each frees the buffer of a frame that was kept with Verdict::hold.
  virtual void answer(Rank to, WindowAck ack) = 0;
  virtual void reply(Rank to, const WindowHead& head, std::span<const Run> runs,
                     std::vector<std::byte> values) = 0;
  // Target::work() in the next pass of the control program.
  virtual void wake() = 0;

  // The link's own copy of contiguous bytes, finished on return. False: nothing was done.
  virtual bool copy_at_once(const PlainCall&) noexcept { return false; }
};

}  // namespace lfc::rma
