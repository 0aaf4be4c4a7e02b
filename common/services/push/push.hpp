// Push: the bytes of a message that waits to be fetched follow its RTS at once, so that its receiver has them
// when it asks, instead of a round trip later. Whether they come is no promise: what is not here is fetched as ever.
//
//   Push push(ni.services(), ni.host());                  // one for each process
//   sender:    std::uint64_t number = push.offer(peer, size);      // 0: not this one
//              ... send the RTS, the number in it ...
//              push.push(peer, number, data, size);                // nothing, if it has been released
//              push.release(peer, number);                         // the receiver has it; `data` is not read any more
//   receiver:  if (!push.fetch(peer, number, place, size, operation)) ni.remote().get(...);   // else done() follows
//
// Frames (`service`, under the NI's credits): a Head, then a fragment of the message, in order of offsets. Of messages
// whose sender asks for it a receiver says soon that it has taken them (`service_ack`, their numbers), and of one that
// it drops unread at once: then its sender leaves it alone for a while.
//
// Bounds: of what nobody has fetched a receiver keeps limits::kPushShare bytes of each peer; for more, the oldest goes.
// A sender has no more than that under way: messages that have neither been released nor taken.
// Why nothing waits in a circle: a frame's receive buffer is free when on_frame() returns; nothing is kept for the
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
#include "base/spares.hpp"
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

  // Whether a message of so many bytes is to be pushed: its number, or 0. With a number, push() and release() follow,
  // in either order: its receiver may have taken it in another way as soon as it has been announced. If too much is
  // under way it looks once, in the host's stead, whether some of it has been taken. Not with Access.
  std::uint64_t offer(PeerId peer, std::size_t size);
  // Sends the RTS, which is a message of the host, or does nothing and returns false: as Ni::try_send(). It
  // leaves with what push() sends, which follows at once.
  bool send_rts(PeerId peer, std::uint8_t tag, const Slice* slices, int count);
  void push(PeerId peer, std::uint64_t number, const void* data, std::size_t size);
  void release(PeerId peer, std::uint64_t number);

  // Takes message `number` of the peer to `place`, now or as it comes; done() is called like that of Ni::get(). False:
  // nothing was done, it is not here any more.
  bool fetch(PeerId peer, std::uint64_t number, void* place, std::size_t size,
             Operation* operation);

  // Bytes of a peer that nobody has fetched yet.
  std::size_t kept(PeerId peer);

 private:
  struct Head {
    std::uint64_t number;
    std::uint32_t total;   // bytes of the message
    std::uint32_t asks;    // not 0: the sender wants to hear soon that it has been taken
    std::uint64_t offset;  // of this fragment
  };
  static_assert(sizeof(Head) == kPlacedHead);
  // In a `service_ack` are up to kTold numbers of messages that were taken; or one with kDropped, that was not.
  static constexpr std::size_t kTold = kServiceAckRoom / sizeof(std::uint64_t);
  static constexpr std::uint64_t kDropped = std::uint64_t{1} << 63;
  // A message that has been offered, and not released.
  struct Offered {
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    std::uint32_t asks = 0;
    bool taken = false;
  };
  // A message that arrives.
  struct Arrival {
    std::uint64_t number = 0;
    std::uint64_t total = 0;
    bool asks = false;
    std::uint64_t arrived = 0;
    std::byte* place = nullptr;  // the receiver's, once it has fetched; else in `own`
    std::unique_ptr<std::byte[]> own;
    Operation* operation = nullptr;

    std::byte* start() const noexcept { return place != nullptr ? place : own.get(); }
    // Whether so many bytes behind the first ones of a fragment are the next.
    bool expects(const Head& head, std::size_t landed, std::size_t size) const noexcept {
      return head.total == total && head.offset <= arrived && landed == arrived - head.offset &&
             size <= total - arrived;
    }
  };
  struct Peer {
    std::uint64_t last = 0;  // number offered to it
    std::vector<Offered> offered;
    std::size_t under_way = 0;  // bytes of those that have not been taken
    std::uint32_t pause = 0;    // messages that are not offered, for it does not take them
    std::uint64_t seen = 0;     // the highest number that has come from it
    std::size_t kept = 0;       // bytes of arrivals that nobody has fetched
    std::deque<Arrival> arrivals;
    std::vector<std::uint64_t> untold;  // numbers that have been taken
    std::size_t untold_bytes = 0;       // theirs

    void taken(Offered& one) noexcept {
      if (!std::exchange(one.taken, true)) under_way -= one.size;
    }
  };
  // A fragment that waits for a credit.
  struct Carrier : Message {
    Push* owner;
    PeerId peer;
    Head head;
  };
  struct Ended {
    Operation* operation;
    Result result;
  };

  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  std::byte* place(PeerId peer, const Placing& frame) override;
  Verdict on_placed(PeerId peer, const Placing& frame) override;
  void on_lost(PeerId peer) override;

  Peer& at(PeerId peer);
  std::uint64_t try_offer(PeerId peer, std::size_t size, bool& full);
  Verdict on_word(PeerId peer, std::span<const std::byte> payload);
  void tell(PeerId id, Peer& peer, const Arrival& arrival);
  static Arrival* find(Peer& peer, std::uint64_t number) noexcept;
  std::size_t fragment_to(PeerId peer) const noexcept;
  void post(PeerId peer, const Head& head, const std::byte* data, std::size_t size);
  static void sent(Message* message, Result result);
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
  const std::size_t fragment_;                // bytes of a message in one frame
  std::vector<std::unique_ptr<Peer>> peers_;  // by PeerId
  std::vector<Carrier*> waiting_;
  Spares<Carrier> spare_carriers_;
  std::vector<std::unique_ptr<std::byte[]>> spare_memory_;  // of kPushMessage bytes each
  std::vector<Ended> ended_;
  HostCall host_;
};

}  // namespace lfc
