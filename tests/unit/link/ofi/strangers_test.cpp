// Frames of unknown senders, invalid hellos, and frames that are reordered or lost.
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/proof.hpp"
#include "unit/link/ofi/world.hpp"

namespace lfc::ofi_world {

TEST_CASE("ofi: frames of an unknown sender are counted and dropped", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    Identity wrong = pair.b.identity();
    wrong = {wrong.name, wrong.key.low ^ 1, wrong.initial_window};
    AddressWriter writer(wrong);
    pair.b.link().publish(writer);
    const std::optional<Address> stale = Address::parse(std::move(writer).finish());
    REQUIRE(stale);
    const PeerId peer = pair.a.connect(*stale);
    REQUIRE(
        run(pair.both(), 10s, [&] { return pair.b.counters().get(Counter::frames_dropped) >= 1; }));
    CHECK(pair.b.connects == 0);
    CHECK(send_bytes(pair.a, peer, {FrameType::message}, {}) == SendStatus::again);
    pair.a.link().close(peer);

    // A sink that rejects a peer.
    pair.b.refuse = true;
    const auto before = pair.b.counters().get(Counter::frames_dropped);
    pair.a.connect(pair.b.address());
    REQUIRE(run(pair.both(), 10s, [&] {
      return pair.b.connects >= 1 && pair.b.counters().get(Counter::frames_dropped) > before;
    }));
    CHECK(pair.b.frames.empty());
  });
}

// Another process on the same network, which sends any bytes.
class Outsider {
 public:
  Outsider(const char* provider, Pair& pair) : pair_(pair) {
    OfiOptions options;
    options.provider = provider;
    options.interface = "127.0.0.1";
    options.interfaces = list_interfaces();
    std::string why;
    fabric_ = OfiFabric::open(options, why);
    INFO(why);
    REQUIRE(fabric_);
    // The target's libfabric address is the tail of its section.
    const std::span<const std::byte> section = pair.b.address().section("ofi");
    REQUIRE(fi_av_insert(fabric_->av(), section.data() + section.size() - fabric_->name().size(), 1,
                         &victim_, 0, nullptr) == 1);
  }
  void send(const void* frame, std::size_t size) {
    fi_context2 context{};
    ssize_t started = -FI_EAGAIN;
    REQUIRE(run(pair_.both(), 10s, [&] {
      if (started == -FI_EAGAIN)
        started = fi_send(fabric_->ep(), frame, size, nullptr, victim_, &context);
      return poll() == 1;
    }));
    REQUIRE(started == 0);
  }
  // A frame of the connection from a to b.
  void send_frame(std::uint32_t slot, std::uint32_t sequence) {
    struct {
      Header header;
      std::uint64_t payload;
    } frame;
    encode_header(frame.header, pair_.b.identity().tag, slot, sequence, {FrameType::message}, 8);
    frame.payload = sequence;
    send(&frame, sizeof frame);
  }
  ssize_t poll() {
    fi_cq_data_entry entry;
    return fi_cq_read(fabric_->cq(), &entry, 1);
  }

 private:
  Pair& pair_;
  std::unique_ptr<OfiFabric> fabric_;
  fi_addr_t victim_ = FI_ADDR_UNSPEC;
};

TEST_CASE("ofi: garbage from the network is dropped", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    Outsider outsider(candidate.provider, pair);
    std::mt19937 random(11);
    const std::uint64_t count = candidate.slow ? 20 : 400;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i % 4 == 0) {
        outsider.send_frame(77, 1);  // valid but for the slot
        continue;
      }
      alignas(8) std::byte frame[64];
      for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
      if (i % 4 == 1) {  // a hello with an invalid address
        Header header;
        encode_header(header, pair.b.identity().tag, kNoPeer, 0, {FrameType::hello}, 40);
        std::memcpy(frame, &header, sizeof header);
      }
      outsider.send(frame, i % 4 == 1 ? 64 : random() % 64);
    }
    REQUIRE(run(pair.both(), 10s, [&] {
      outsider.poll();
      return pair.b.counters().get(Counter::frames_dropped) == count;
    }));
    CHECK(pair.b.frames.empty());
    CHECK(pair.b.broken.empty());
    REQUIRE(send_all(pair.a, pair.a_to_b, pattern(10, 1), pair.both()));
    REQUIRE(run(pair.both(), 5s, [&] { return pair.b.frames.size() == 1; }));
  });
}

namespace {

// A forged frame of a handshake. Its author has the address of the receiver, but perhaps not the key.
Bytes made_up(const Identity& to, FrameType type, std::uint32_t slot, const HelloHead& head,
              const Bytes& rest) {
  Header header;
  encode_header(header, to.tag, slot, 0, {type},
                static_cast<std::uint32_t>(sizeof head + rest.size()));
  Bytes frame(sizeof header + sizeof head);
  std::memcpy(frame.data(), &header, sizeof header);
  std::memcpy(frame.data() + sizeof header, &head, sizeof head);
  frame.insert(frame.end(), rest.begin(), rest.end());
  frame.resize(round_up(frame.size(), 8));
  return frame;
}

}  // namespace

TEST_CASE("ofi: a hello needs the receiver's key, and a recorded hello is rejected", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    Node third(3);
    REQUIRE(third.open(candidate.provider));
    Outsider outsider(candidate.provider, pair);
    const Identity& target = pair.b.identity();
    std::uint64_t wrong = 0;
    const auto say = [&](FrameType type, std::uint32_t slot, const HelloHead& head,
                         const Bytes& rest, bool refused = true) {
      const Bytes frame = made_up(target, type, slot, head, rest);
      outsider.send(frame.data(), frame.size());
      wrong += refused ? 1 : 0;
      REQUIRE(run(pair.both(), 10s, [&] {
        outsider.poll();
        return pair.b.counters().get(Counter::frames_dropped) >= wrong;
      }));
    };
    Bytes rest(8);  // the slot, then the address
    AddressWriter writer(third.identity());
    third.link().publish(writer);
    const Bytes address = without_key(std::move(writer).finish());
    rest.insert(rest.end(), address.begin(), address.end());

    Identity guess = target;
    guess.key.high ^= 1;  // the public tag is right
    const Key nonce{1, 2};
    say(FrameType::hello, kNoPeer, {nonce, hello_proof(guess, "ofi", nonce, rest)}, rest);
    Bytes altered = rest;
    altered[0] ^= std::byte{1};
    say(FrameType::hello, kNoPeer, {nonce, hello_proof(target, "ofi", nonce, rest)}, altered);
    CHECK(pair.b.connects == 0);

    // b sends a hello to a peer that does not reply; no other process can reply for it.
    const PeerId silent = pair.b.connect(third.address());
    pair.b.link().poll();
    say(FrameType::hello_ack, 0, {nonce, ack_proof(guess, "ofi", nonce)}, Bytes(8));
    CHECK(send_bytes(pair.b, silent, {FrameType::message}, {}) == SendStatus::again);
    pair.b.link().close(silent);

    const HelloHead right{nonce, hello_proof(target, "ofi", nonce, rest)};
    say(FrameType::hello, kNoPeer, right, rest, false);
    REQUIRE(run(pair.both(), 10s, [&] { return pair.b.connects == 1; }));
    pair.b.link().close(pair.b.id_of(third.identity().name));
    say(FrameType::hello, kNoPeer, right, rest);
    CHECK(pair.b.connects == 1);
    CHECK(pair.b.frames.empty());
  });
}

TEST_CASE("ofi: frames that overtake one another are put in order, a lost one is noticed",
          "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();  // one frame from a to b, on b's slot 0
    Outsider outsider(candidate.provider, pair);
    if (traits_of(candidate.provider).in_order) {
      outsider.send_frame(0, 3);
      REQUIRE(run(pair.both(), 5s, [&] { return pair.b.broken[pair.b_to_a] == 1; }));
      CHECK(pair.b.last_why.find("expected number 2, got 3") != std::string::npos);
      CHECK(pair.b.frames.empty());
      return;
    }
    for (const std::uint32_t sequence : {5u, 3u, 4u, 2u, 7u, 6u}) outsider.send_frame(0, sequence);
    REQUIRE(run(pair.both(), 5s, [&] {
      outsider.poll();
      return pair.b.frames.size() == 6;
    }));
    for (std::uint64_t i = 0; i < 6; ++i) {
      std::uint64_t number = 0;
      std::memcpy(&number, pair.b.frames[i].payload.data(), sizeof number);
      CHECK(number == i + 2);
    }
    CHECK_FALSE(pair.b.misaligned());
    CHECK(pair.b.broken.empty());

    outsider.send_frame(0, 8 + 100'000);  // too far ahead
    REQUIRE(run(pair.both(), 5s, [&] { return pair.b.broken[pair.b_to_a] == 1; }));
  });
}

TEST_CASE("ofi: a gap that does not close breaks the connection", "[ofi]") {
  const char* provider = "tcp;ofi_rxm";  // the only provider with this property on each system
  Pair pair(provider);
  pair.join();
  Outsider outsider(provider, pair);
  outsider.send_frame(0, 3);
  REQUIRE(run(pair.both(), 15s, [&] { return pair.b.broken[pair.b_to_a] == 1; }));
  CHECK(pair.b.last_why.find("frame 2 was lost") != std::string::npos);
  CHECK(pair.b.frames.empty());
}

}  // namespace lfc::ofi_world
