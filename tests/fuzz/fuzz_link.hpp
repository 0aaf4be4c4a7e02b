// FuzzLink: a link whose other end is the fuzzer. It delivers the queued frames and records the frames sent.
//
//   auto made = std::make_unique<FuzzLink>(ni.sink(), random);
//   FuzzLink* link = made.get();
//   ni.add_link(std::move(made));
//   link->inbound.push_back({peer, meta, payload});
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "link/link.hpp"
#include "link/ring.hpp"
#include "link/sim/random.hpp"
#include "ring_memory.hpp"

namespace lfc {

class FuzzLink final : public Link {
 public:
  struct Inbound {
    PeerId peer;
    Meta meta;
    std::vector<std::byte> payload;
  };
  struct Outbound {
    PeerId peer;
    Meta meta;
    std::vector<std::byte> payload;
  };

  FuzzLink(FrameSink& sink, Random& random)
      : Link({.name = "fuzz"}), sink_(sink), random_(random) {}
  std::size_t max_payload() const noexcept override { return 512; }
  void publish(AddressWriter& writer) const override { writer.add(name(), {}); }
  bool reach(const Address&, std::string&) override { return true; }
  bool connect(PeerId, const Address&, std::string&) override { return true; }
  void close(PeerId) noexcept override { ++closed; }
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override {
    if (random_.chance(100)) return SendStatus::again;
    if (random_.chance(1)) return SendStatus::broken;
    Outbound frame{peer, meta, {}};
    for (int i = 0; i < count; ++i) {
      const auto* bytes = static_cast<const std::byte*>(slices[i].data);
      frame.payload.insert(frame.payload.end(), bytes, bytes + slices[i].size);
    }
    outbound.push_back(std::move(frame));
    return SendStatus::sent;
  }
  int poll() noexcept override {
    int events = 0;
    while (!inbound.empty()) {
      const Inbound frame = std::move(inbound.front());
      inbound.pop_front();
      deliver(frame);
      ++events;
    }
    if (connect_from) {
      sink_.on_connect(*this, *connect_from);
      connect_from.reset();
    }
    if (break_peer != kNoPeer) {
      sink_.on_broken(break_peer, *this, "the fuzzer says so");
      break_peer = kNoPeer;
    }
    return events;
  }

  std::deque<Inbound> inbound;
  std::deque<Outbound> outbound;
  std::optional<Address> connect_from;
  PeerId break_peer = kNoPeer;
  int closed = 0;

 private:
  // Delivers it directly, as a link without rings, or through a ring.
  void deliver(const Inbound& frame) {
    const Slice slice{frame.payload.data(), frame.payload.size()};
    if (random_.chance(500) || writer_.send(frame.meta, &slice, 1) != SendStatus::sent)
      return sink_.on_frame(frame.peer, frame.meta, frame.payload);
    if (sink_.on_ring(frame.peer, reader_, 1) != 0) return;
    sink_.on_frame(frame.peer, frame.meta, frame.payload);
    RingFrame left;
    (void)reader_.peek(left);
    reader_.pop();
  }

  FrameSink& sink_;
  Random& random_;
  const RingShape shape_;
  RingMemory ring_{shape_};
  RingWriter writer_{ring_.get(), shape_};
  RingReader reader_{ring_.get(), shape_};
};

}  // namespace lfc
