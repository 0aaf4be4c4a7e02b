// Processes with a link ofi each, in one process, over each provider that is present.
//
//   for_each_provider([](const Candidate& candidate) {
//     Pair pair(candidate.provider);
//     pair.join();
//     REQUIRE(run(pair.both(), 5s, [&] { return pair.b.frames.size() == 1; }));
//   });
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "published.hpp"

namespace lfc::ofi_world {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Received {
  PeerId peer;
  Meta meta;
  Bytes payload;
};

// One end: a link, and a sink that records its calls.
class Node final : public FrameSink {
 public:
  explicit Node(std::uint32_t rank) : identity_{{1, rank}, 0xabc0000u + rank, 8} {}

  bool open(const std::string& provider, const std::function<void(OfiOptions&)>& adjust = {}) {
    OfiOptions options;
    options.provider = provider;
    options.interface = "127.0.0.1";
    options.interfaces = list_interfaces();
    if (adjust) adjust(options);
    link_ = make_ofi_link(options, identity_, *this, counters_, why_not);
    if (!link_) return false;
    address_ = Address::parse(publish(*link_, identity_));
    return address_.has_value();
  }
  void shut() { link_.reset(); }

  const Address& address() const { return *address_; }
  const Identity& identity() const { return identity_; }
  Link& link() { return *link_; }
  bool is_open() const { return link_ != nullptr; }
  const Counters& counters() const { return counters_; }
  PeerId id_of(const ProcessName& name) {
    const auto [entry, fresh] =
        ids_.try_emplace(name.packed(), static_cast<PeerId>(ids_.size() + first_id_));
    return entry->second;
  }
  PeerId connect(const Address& peer) {
    const PeerId id = id_of(peer.identity().name);
    REQUIRE(link_->connect(id, peer, why_not));
    return id;
  }

  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override {
    misaligned_ |= reinterpret_cast<std::uintptr_t>(payload.data()) % 8 != 0;
    frames.push_back({peer, meta, Bytes(payload.begin(), payload.end())});
    if (on_each) on_each(peer);
  }
  PeerId on_connect(Link& link, const Address& from) override {
    CHECK(&link == link_.get());
    ++connects;
    return refuse ? kNoPeer : id_of(from.identity().name);
  }
  void on_broken(PeerId peer, Link&, std::string_view why) override {
    ++broken[peer];
    last_why = why;
  }

  bool misaligned() const { return misaligned_; }

  std::deque<Received> frames;
  std::map<PeerId, int> broken;
  std::function<void(PeerId)> on_each;
  std::string last_why;
  std::string why_not;
  int connects = 0;
  bool refuse = false;

 private:
  Identity identity_;
  Counters counters_;
  std::unique_ptr<Link> link_;
  std::optional<Address> address_;
  std::map<std::uint64_t, PeerId> ids_;
  std::uint32_t first_id_ = identity_.name.rank % 3;  // so that the two sides' indices differ
  bool misaligned_ = false;
};

// Polls the nodes until `done` returns true. False, after a message with the nodes' state: time is up.
inline bool run(std::vector<Node*> nodes, Clock::duration limit,
                const std::function<bool()>& done) {
  Deadline deadline(limit);
  while (!done()) {
    for (Node* node : nodes)
      if (node->is_open()) node->link().poll();
    if (!deadline.is_over()) continue;
    for (Node* node : nodes)
      UNSCOPED_INFO("rank " << node->identity().name.rank << ": frames=" << node->frames.size()
                            << " connects=" << node->connects << " broken=" << node->broken.size()
                            << " why='" << node->last_why
                            << "' dropped=" << node->counters().get(Counter::frames_dropped));
    return false;
  }
  return true;
}

inline Bytes pattern(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  std::minstd_rand random(seed + 1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 7);
  return bytes;
}

inline SendStatus send_bytes(Node& from, PeerId to, Meta meta, const Bytes& bytes) {
  // In three slices, one of them empty.
  const std::size_t first = bytes.size() / 3;
  const Slice slices[] = {
      {bytes.data(), first}, {nullptr, 0}, {bytes.data() + first, bytes.size() - first}};
  return from.link().send(to, meta, slices, 3);
}

// Retries until it is sent. False: the link broke, or time is up.
inline bool send_all(Node& from, PeerId to, const Bytes& bytes, std::vector<Node*> polled,
                     Clock::duration limit = 10s, std::uint8_t tag = 0) {
  SendStatus status = SendStatus::again;
  const bool in_time = run(std::move(polled), limit, [&] {
    status = send_bytes(from, to, {FrameType::message, tag, 0}, bytes);
    return status != SendStatus::again;
  });
  return in_time && status == SendStatus::sent;
}

struct Candidate {
  const char* provider;
  bool slow;      // few rounds only
  bool over_tcp;  // a failed peer is detected
};
inline constexpr Candidate kCandidates[] = {{"net", false, true},
                                            {"tcp", false, true},
                                            {"tcp;ofi_rxm", false, true},
                                            {"udp;ofi_rxd", true, false},
                                            {"shm", false, false}};

// Runs `body` for each provider that is present, and prints the others. `sockets` is not tested (ofi_link.hpp).
inline void for_each_provider(const std::function<void(const Candidate&)>& body) {
  const std::vector<std::string> present = ofi_providers();
  REQUIRE_FALSE(present.empty());
  int ran = 0;
  for (const Candidate& candidate : kCandidates) {
    if (std::find(present.begin(), present.end(), candidate.provider) == present.end()) {
      WARN("skipped, not present: " << candidate.provider);
      continue;
    }
    INFO("provider " << candidate.provider);
    body(candidate);
    ++ran;
  }
  REQUIRE(ran > 0);
}

struct Pair {
  explicit Pair(const char* provider, const std::function<void(OfiOptions&)>& adjust = {}) {
    const bool opened = a.open(provider, adjust) && b.open(provider, adjust);
    INFO(a.why_not << b.why_not);
    REQUIRE(opened);
  }
  // Connects a to b and waits until both can send.
  void join() {
    std::string why;
    REQUIRE(a.link().reach(b.address(), why));
    a_to_b = a.connect(b.address());
    REQUIRE(send_all(a, a_to_b, {}, {&a, &b}));
    REQUIRE(run({&a, &b}, 5s, [&] { return !b.frames.empty(); }));
    b_to_a = b.frames.front().peer;
    REQUIRE(b_to_a == b.id_of(a.identity().name));
    b.frames.clear();
  }
  std::vector<Node*> both() { return {&a, &b}; }

  Node a{1};
  Node b{2};
  PeerId a_to_b = kNoPeer;
  PeerId b_to_a = kNoPeer;
};

}  // namespace lfc::ofi_world
