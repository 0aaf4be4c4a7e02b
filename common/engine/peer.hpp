// Peer: the NI's state for one other process: both directions of one pair.
//
// Invariant: `waiting` is empty, or its first frame waits for a credit, for room in the link, or for the
// connection to be set up. Frames that wait are sent in the order in which they were posted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/lasting.hpp"
#include "base/lazy_queue.hpp"
#include "engine/flow.hpp"
#include "engine/remote_memory.hpp"
#include "engine/service.hpp"
#include "engine/waiting.hpp"
#include "link/link.hpp"
#include "link/ring.hpp"
#include "look/published.hpp"
#include "look/states.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

template <>
const look::Schema Insight<struct Peer>::kSchema;  // engine/shown.cpp

// The fields that every message touches come first and share a line or two.
struct alignas(kCacheLine) Peer {
  using State = look::PeerState;

  // A control frame that the link had no room for. Bounded: each is the reply to a data frame, and the peer gets
  // that frame's credit only with the reply (common/engine/README.md). Held by tests/unit/engine/ni_test.cpp.
  struct ControlFrame {
    FrameType type{};
    std::uint8_t tag = 0;
    std::uint8_t size = 0;
    bool releases = false;  // the receive buffer of the frame that it replies to
    std::array<std::byte, kServiceAckRoom> payload{};
  };
  static_assert(sizeof(AckPayload) <= kServiceAckRoom);
  static_assert(kServiceAckRoom <= kInlinePayload);  // it needs only a slot of a ring

  // `window`: the receive buffers that the peer is promised.
  Peer(PeerId id_, const Address& address_, std::uint32_t window)
      : id(id_), flow(address_.identity().initial_window, window), address(address_) {}
  bool is_lost() const noexcept { return state >= State::broken; }
  // The traits of the link that carries its frames; named "none" if no link does.
  const LinkTraits& traits() const noexcept {
    if (link != nullptr) return link->traits();
    static Lasting<LinkTraits> none(LinkTraits{.name = "none"});
    return *none;
  }

  PeerId id;
  State state = State::known;
  bool to_retry = false;        // in the NI's list of such peers
  bool stall_counted = false;   // the reason why the head of `waiting` waits has been counted
  bool pumping = false;         // its queues are being sent from
  bool pump_again = false;      // meanwhile something has been added
  bool credit_overdue = false;  // an explicit credit frame found no room
  bool admitted = false;        // its receive window is charged to the budget
  std::uint8_t link_index = 0;
  Flow flow;
  RingWriter* ring = nullptr;  // of `link`, if frames may be written to it directly
  void* context = nullptr;     // the host's
  WaitingQueue waiting;
  Link* link = nullptr;
  WaitingQueue services;  // answers to the peer's gets; they need no credit
  Peer* next_to_retry = nullptr;
  std::size_t outstanding = 0;  // remote operations of ours that have not finished
  LazyQueue<ControlFrame> control;
  std::vector<IncomingPut> incoming_puts;  // puts of which some bytes are still missing
  Address address;
  const look::Published shown{Insight<Peer>::kSchema, this};
};

}  // namespace lfc
