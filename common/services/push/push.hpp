// Push: a service that sends the bytes of a large message directly after its RTS, so that the receiver has them when it
// needs them, instead of a round trip later. They may be dropped: the receiver fetches a message that it does not have.
//
//   Push push(ni.services(), ni.host());                  // one for each process
//   sender:    std::uint64_t number = push.offer(peer, size);      // 0: not this one
//              ... send the RTS, the number in it ...
//              push.push(peer, number, data, size);                // no effect if it has been released
//              push.release(peer, number);                         // the receiver has it; `data` is not read any more
//   receiver:  if (!push.fetch(peer, number, place, size, operation))                        // else done() follows
//                ni.remote().get(peer, place, nullptr, address, remote, size, operation);
//
// Frames: `service` (under the NI's credits) has a Head, then a fragment of the message, in order of offsets.
// `service_ack` has numbers. A receiver acknowledges soon the messages that it has taken if their sender requested it,
// and at once a message that it drops unread: then the sender pushes nothing to it for a while (README.md).
//
// Bounds: a receiver keeps at most limits::kPushShare bytes of each peer that it has not fetched; for more, it drops
// the oldest message. A sender has at most as many under way, in messages that are neither released nor taken.
// Why nothing waits in a circle: a frame's credit is free when on_frame() returns; nothing is kept for the
// host. Held by tests/unit/services/push/push_test.cpp, tests/mpi/rts.c.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "engine/host_call.hpp"
#include "engine/host_port.hpp"

namespace lfc {

class Push final : private Service {
 public:
  // The largest message that is pushed; its sender's decision alone.
  Push(ServicePort& port, HostPort& engine, std::size_t largest = limits::kPushMessage);
  // No operation of fetch() may be under way.
  ~Push() override;
  Push(const Push&) = delete;
  Push& operator=(const Push&) = delete;

  // Decides whether to push a message of `size` bytes: returns its number, or 0. With a number, the caller must call
  // push() and release(), in either order: the receiver may take the message in another way once it has the RTS.
  // If too much is under way, makes one pass in the host's stead, which may receive acknowledgements. Does not wait.
  // Not with Access held.
  std::uint64_t offer(PeerId peer, std::size_t size);
  // Sends the RTS, which is a message of the host, or does nothing and returns false: as Ni::try_send(). It leaves
  // together with the fragments of push(), which the caller calls next.
  bool send_rts(PeerId peer, std::uint8_t tag, const Slice* slices, int count);
  void push(PeerId peer, std::uint64_t number, const void* data, std::size_t size);
  void release(PeerId peer, std::uint64_t number);

  // Takes message `number` of the peer to `place`, now or as it comes; done() is called like that of Ni::get(). False:
  // the message is not here any more, and nothing was done.
  bool fetch(PeerId peer, std::uint64_t number, void* place, std::size_t size,
             Operation* operation);

  // Returns the bytes of a peer that are here and not fetched yet.
  std::size_t kept(PeerId peer);

 private:
  struct Head {
    std::uint64_t number;
    std::uint32_t total;      // bytes of the message
    std::uint32_t wants_ack;  // not 0: the sender requests an acknowledgement soon
    std::uint64_t offset;     // of this fragment
  };
  static_assert(sizeof(Head) == kPlacedHead);
  // A `service_ack` has up to kMostAcks numbers of messages that were taken, or one of a dropped message with kDropped.
  static constexpr std::size_t kMostAcks = kServiceAckRoom / sizeof(std::uint64_t);
  static constexpr std::uint64_t kDropped = std::uint64_t{1} << 63;
  // A message that has been offered, and not released.
  struct Offered {
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    std::uint32_t wants_ack = 0;
    bool taken = false;
    std::uint32_t waiting = 0;  // fragments that wait for a credit
  };
  // A message that arrives.
  struct Arrival {
    std::uint64_t number = 0;
    std::uint64_t total = 0;
    bool wants_ack = false;
    std::uint64_t arrived = 0;
    std::byte* place = nullptr;  // the receiver's, once it has fetched; else in `own`
    std::unique_ptr<std::byte[]> own;
    Operation* operation = nullptr;

    std::byte* start() const noexcept { return place != nullptr ? place : own.get(); }
    // Whether the `size` bytes behind the first `landed` ones of a fragment are the next of the message.
    bool expects(const Head& head, std::size_t landed, std::size_t size) const noexcept {
      return head.total == total && head.offset <= arrived && landed == arrived - head.offset &&
             size <= total - arrived;
    }
  };
  struct Peer {
    std::uint64_t last = 0;  // number offered to it
    std::vector<Offered> offered;
    std::size_t under_way = 0;  // bytes of those that have not been taken
    std::uint32_t pause = 0;    // messages that will not be offered, because it dropped one
    std::uint64_t seen = 0;     // the highest number that has come from it
    std::size_t kept = 0;       // bytes of arrivals not fetched
    std::deque<Arrival> arrivals;
    std::vector<std::uint64_t> unacknowledged;  // numbers of taken messages, not acknowledged yet
    std::size_t unacknowledged_bytes = 0;       // theirs

    void taken(Offered& one) noexcept {
      if (!std::exchange(one.taken, true)) under_way -= one.size;
    }
  };
  struct Ended {
    Operation* operation;
    Result result;
  };

  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  std::byte* place(PeerId peer, const Placing& frame) override;
  Verdict on_placed(PeerId peer, const Placing& frame) override;
  void on_left(PeerId peer, std::uint64_t number, Result result) override;
  void on_lost(PeerId peer) override;

  Peer& at(PeerId peer);
  std::uint64_t try_offer(PeerId peer, std::size_t size, bool& full);
  Verdict on_word(PeerId peer, std::span<const std::byte> payload);
  void acknowledge(PeerId id, Peer& peer, const Arrival& arrival);
  static Offered* find_offered(Peer& peer, std::uint64_t number) noexcept;
  static Arrival* find(Peer& peer, std::uint64_t number) noexcept;
  std::size_t fragment_to(PeerId peer) const noexcept;
  Arrival* begin(PeerId id, Peer& peer, const Head& head);
  void arrived(PeerId id, Peer& peer, Arrival& arrival, std::uint64_t bytes);
  void make_room(PeerId id, Peer& peer, std::size_t size);
  void erase(Peer& peer, Arrival& arrival) noexcept;
  std::unique_ptr<std::byte[]> take_memory();
  void keep_memory(std::unique_ptr<std::byte[]> memory);
  void end(Operation* operation, Result result);
  void call_back();

  ServicePort& port_;
  HostPort& engine_;
  const std::size_t largest_;
  const std::size_t fragment_;                              // bytes of a message in one frame
  std::vector<std::unique_ptr<Peer>> peers_;                // by PeerId
  std::vector<std::unique_ptr<std::byte[]>> spare_memory_;  // of kPushMessage bytes each
  std::vector<Ended> ended_;
  HostCall host_;
};

}  // namespace lfc
