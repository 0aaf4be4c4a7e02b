// The libfabric link, over every provider that is present: two (or more) links in one process.
#include "link/ofi/ofi_link.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "flight.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/peer_probe.hpp"
#include "link/proof.hpp"

namespace lfc {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Received {
  PeerId peer;
  Meta meta;
  Bytes payload;
};

// One process's side: a link, and a sink that remembers what it was told.
class Node final : public FrameSink {
 public:
  explicit Node(std::uint32_t rank) : identity_{{1, rank}, 0xabc0000u + rank, 8} {}

  bool open(const std::string& provider, const std::function<void(OfiOptions&)>& adjust = {}) {
    OfiOptions options;
    options.provider = provider;
    options.interface = "127.0.0.1";
    if (adjust) adjust(options);
    link_ = make_ofi_link(options, identity_, *this, counters_, why_not);
    if (!link_) return false;
    AddressWriter writer(identity_);
    link_->publish(writer);
    Bytes blob = std::move(writer).finish();
    link_->set_own_address(without_key(blob));
    address_ = Address::parse(blob);
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

// Polls the nodes until `done` says so; false, and the nodes' state is told, when time is up.
bool run(std::vector<Node*> nodes, Clock::duration limit, const std::function<bool()>& done) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    for (Node* node : nodes)
      if (node->is_open()) node->link().poll();
    if (Clock::now() < end) continue;
    for (Node* node : nodes)
      UNSCOPED_INFO("rank " << node->identity().name.rank << ": frames=" << node->frames.size()
                            << " connects=" << node->connects << " broken=" << node->broken.size()
                            << " why='" << node->last_why
                            << "' dropped=" << node->counters().get(Counter::frames_dropped));
    return false;
  }
  return true;
}

Bytes pattern(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  std::minstd_rand random(seed + 1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 7);
  return bytes;
}

SendStatus send_bytes(Node& from, PeerId to, Meta meta, const Bytes& bytes) {
  // In three pieces, one of them empty.
  const std::size_t first = bytes.size() / 3;
  const Slice slices[] = {
      {bytes.data(), first}, {nullptr, 0}, {bytes.data() + first, bytes.size() - first}};
  return from.link().send(to, meta, slices, 3);
}

// Sends until it is sent; false when the link breaks or time is up.
bool send_all(Node& from, PeerId to, const Bytes& bytes, std::vector<Node*> polled,
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
  bool slow;      // keep it short
  bool over_tcp;  // a dead peer is recognised
};
constexpr Candidate kCandidates[] = {{"net", false, true},         {"tcp", false, true},
                                     {"tcp;ofi_rxm", false, true}, {"udp;ofi_rxd", true, false},
                                     {"sockets", true, true},      {"shm", false, false}};

// Runs `body` for each candidate that is present, and says which are not.
void for_each_provider(const std::function<void(const Candidate&)>& body) {
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

TEST_CASE("ofi: every size arrives whole, in order and aligned, both ways", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    const std::size_t largest = pair.a.link().max_payload();
    std::mt19937 random(7);
    std::vector<std::size_t> sizes = {0, 1, 7, 8, 9, 40, 41, 103, 104, 105, 231, 232, 233, largest};
    const std::size_t count = candidate.slow ? 100 : 1500;
    while (sizes.size() < count) {
      const std::size_t limit = random() % 4 == 0 ? largest : std::min<std::size_t>(largest, 512);
      sizes.push_back(random() % (limit + 1));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes bytes = pattern(sizes[i], static_cast<std::uint32_t>(i));
      const auto tag = static_cast<std::uint8_t>(i);
      REQUIRE(send_all(pair.a, pair.a_to_b, bytes, pair.both(), 10s, tag));
      REQUIRE(send_all(pair.b, pair.b_to_a, bytes, pair.both(), 10s, tag));
    }
    REQUIRE(run(pair.both(), 20s,
                [&] { return pair.a.frames.size() >= count && pair.b.frames.size() >= count; }));
    for (Node* node : pair.both()) {
      REQUIRE(node->frames.size() == count);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Received& frame = node->frames[i];
        wrong += frame.payload != pattern(sizes[i], static_cast<std::uint32_t>(i)) ||
                 frame.meta.tag != static_cast<std::uint8_t>(i) ||
                 frame.meta.type != FrameType::message;
      }
      CHECK(wrong == 0);
      CHECK_FALSE(node->misaligned());
      CHECK(node->broken.empty());
      CHECK(node->counters().get(Counter::frames_dropped) == 0);
    }
    CHECK(run(pair.both(), 5s, [&] { return pair.a.link().drained(); }));
  });
}

TEST_CASE("ofi: a flood to a peer that does not poll is held back, control still leaves", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    const Bytes data = pattern(pair.a.link().max_payload(), 3);
    std::size_t sent = 0;
    // A socket buffer of 6 MB and the link's own: it ends.
    const auto end = Clock::now() + (candidate.slow ? 1s : 3s);
    SendStatus status = SendStatus::sent;
    int refused = 0;
    while (refused < 100 && Clock::now() < end) {
      status = send_bytes(pair.a, pair.a_to_b, {FrameType::message}, data);
      REQUIRE(status != SendStatus::broken);
      if (status == SendStatus::sent) ++sent;
      refused = status == SendStatus::again ? refused + 1 : 0;
      pair.a.link().poll();
    }
    REQUIRE(refused == 100);
    const Bytes credit = pattern(8, 1);
    for (int i = 0; i < 4; ++i)
      REQUIRE(send_bytes(pair.a, pair.a_to_b, {FrameType::credit}, credit) == SendStatus::sent);
    REQUIRE(run(pair.both(), 20s, [&] { return pair.b.frames.size() == sent + 4; }));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sent; ++i) wrong += pair.b.frames[i].payload != data;
    CHECK(wrong == 0);
    CHECK(pair.b.frames.back().meta.type == FrameType::credit);
    CHECK(pair.b.frames.back().payload == credit);
    REQUIRE(run(pair.both(), 5s, [&] { return pair.a.link().drained(); }));
  });
}

TEST_CASE("ofi: hellos that cross make one connection", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    const int rounds = candidate.slow ? 2 : 12;
    for (int round = 0; round < rounds; ++round) {
      Pair pair(candidate.provider);
      const PeerId a_to_b = pair.a.connect(pair.b.address());
      const PeerId b_to_a = pair.b.connect(pair.a.address());
      CHECK(pair.a.connect(pair.b.address()) == a_to_b);
      // Different numbers of polls in between: different interleavings.
      for (int i = 0; i < round; ++i) pair.a.link().poll();
      const Bytes bytes = pattern(100, 5);
      bool a_sent = false;
      bool b_sent = false;
      REQUIRE(run(pair.both(), 10s, [&] {
        const Meta meta{FrameType::message};
        if (!a_sent) a_sent = send_bytes(pair.a, a_to_b, meta, bytes) == SendStatus::sent;
        if (!b_sent) b_sent = send_bytes(pair.b, b_to_a, meta, bytes) == SendStatus::sent;
        return !pair.a.frames.empty() && !pair.b.frames.empty();
      }));
      CHECK(pair.a.frames.size() == 1);
      CHECK(pair.b.frames.size() == 1);
      CHECK(pair.a.frames[0].peer == a_to_b);
      CHECK(pair.b.frames[0].peer == b_to_a);
      CHECK(pair.a.broken.empty());
      CHECK(pair.b.broken.empty());
    }
  });
}

TEST_CASE("ofi: all to all among six links, connected at the same time", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    if (candidate.slow) return;  // the pairs above cover it
    constexpr std::size_t kNodes = 6;
    constexpr int kEach = 20;
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Node*> all;
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      nodes.push_back(std::make_unique<Node>(i));
      REQUIRE(nodes.back()->open(candidate.provider));
      all.push_back(nodes.back().get());
    }
    std::map<std::pair<std::size_t, std::size_t>, int> sent;
    for (Node* from : all)
      for (Node* to : all) from->connect(to->address());  // itself included
    REQUIRE(run(all, 20s, [&] {
      bool complete = true;
      for (std::size_t i = 0; i < kNodes; ++i)
        for (std::size_t j = 0; j < kNodes; ++j) {
          int& count = sent[{i, j}];
          const PeerId to = all[i]->id_of(all[j]->identity().name);
          const auto tag = static_cast<std::uint8_t>(count);
          if (count < kEach && send_bytes(*all[i], to, {FrameType::message, tag, 0},
                                          pattern(300, tag)) == SendStatus::sent)
            ++count;
          complete &= count == kEach && all[i]->frames.size() == kNodes * kEach;
        }
      return complete;
    }));
    for (Node* node : all) {
      CHECK(node->broken.empty());
      std::map<PeerId, std::uint8_t> expected;
      std::size_t wrong = 0;
      for (const Received& frame : node->frames)
        wrong += frame.meta.tag != expected[frame.peer]++ || frame.payload.size() != 300;
      CHECK(wrong == 0);
      CHECK(expected.size() == kNodes);
    }
  });
}

TEST_CASE("ofi: the sink may send and close from inside", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    const int hops = candidate.slow ? 20 : 300;
    int left = hops;
    const Bytes ball = pattern(64, 9);
    const auto bounce = [&](Node& node) {
      return [&](PeerId from) {
        if (--left > 0) {
          CHECK(send_bytes(node, from, {FrameType::message}, ball) == SendStatus::sent);
        } else {
          node.link().close(from);
        }
      };
    };
    pair.a.on_each = bounce(pair.a);
    pair.b.on_each = bounce(pair.b);
    REQUIRE(send_all(pair.a, pair.a_to_b, ball, pair.both()));
    REQUIRE(run(pair.both(), 10s, [&] { return left == 0; }));
    CHECK(pair.a.frames.size() + pair.b.frames.size() == static_cast<std::size_t>(hops));
  });
}

TEST_CASE("ofi: close tells the peer, and a new connection begins afresh", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    for (int round = 0; round < 3; ++round) {
      const Bytes last = pattern(200, 11);
      REQUIRE(send_all(pair.a, pair.a_to_b, last, pair.both()));
      pair.a.link().close(pair.a_to_b);
      CHECK(send_bytes(pair.a, pair.a_to_b, {FrameType::message}, last) == SendStatus::broken);
      // What was sent before is delivered; then the peer's sends fail.
      REQUIRE(run(pair.both(), 5s, [&] {
        return pair.b.frames.size() == 1 &&
               send_bytes(pair.b, pair.b_to_a, {FrameType::message}, {}) == SendStatus::broken;
      }));
      CHECK(pair.b.frames.front().payload == last);
      REQUIRE(run(pair.both(), 5s, [&] { return pair.a.link().drained(); }));
      pair.b.frames.clear();
      pair.a.frames.clear();

      // Either side may begin again.
      Node& again = round % 2 == 0 ? pair.a : pair.b;
      Node& other = round % 2 == 0 ? pair.b : pair.a;
      const PeerId to = again.connect(other.address());
      REQUIRE(send_all(again, to, last, pair.both()));
      REQUIRE(run(pair.both(), 5s, [&] { return !other.frames.empty(); }));
      CHECK(other.frames.front().payload == last);
      other.frames.clear();
      REQUIRE(send_all(other, other.id_of(again.identity().name), last, pair.both()));
      REQUIRE(run(pair.both(), 5s, [&] { return !again.frames.empty(); }));
      again.frames.clear();
    }
    CHECK(pair.a.broken.empty());
    CHECK(pair.b.broken.empty());
  });
}

TEST_CASE("ofi: a stranger's frames are counted and dropped", "[ofi]") {
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

    // A sink that refuses a peer.
    pair.b.refuse = true;
    const auto before = pair.b.counters().get(Counter::frames_dropped);
    pair.a.connect(pair.b.address());
    REQUIRE(run(pair.both(), 10s, [&] {
      return pair.b.connects >= 1 && pair.b.counters().get(Counter::frames_dropped) > before;
    }));
    CHECK(pair.b.frames.empty());
  });
}

// Someone on the same network who sends what it likes.
class Outsider {
 public:
  Outsider(const char* provider, Pair& pair) : pair_(pair) {
    OfiOptions options;
    options.provider = provider;
    options.interface = "127.0.0.1";
    std::string why;
    fabric_ = OfiFabric::open(options, why);
    INFO(why);
    REQUIRE(fabric_);
    // The victim's libfabric address is the tail of its section.
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
  // A frame of the channel from a to b.
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
        outsider.send_frame(77, 1);  // right but for the slot
        continue;
      }
      alignas(8) std::byte frame[64];
      for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
      if (i % 4 == 1) {  // a hello whose address is garbage
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

// A frame of a handshake as somebody makes it up who has seen the address of its receiver, but perhaps not his key.
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

TEST_CASE(
    "ofi: who does not know a process's key is not believed nor is who repeats another's words",
    "[ofi]") {
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
    guess.key.high ^= 1;  // the tag, which anybody may know, is right
    const Key nonce{1, 2};
    say(FrameType::hello, kNoPeer, {nonce, hello_proof(guess, "ofi", nonce, rest)}, rest);
    Bytes altered = rest;
    altered[0] ^= std::byte{1};
    say(FrameType::hello, kNoPeer, {nonce, hello_proof(target, "ofi", nonce, rest)}, altered);
    CHECK(pair.b.connects == 0);

    // b greets somebody who does not answer; nobody else answers for him.
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

    outsider.send_frame(0, 8 + 100'000);  // nothing is that far ahead
    REQUIRE(run(pair.both(), 5s, [&] { return pair.b.broken[pair.b_to_a] == 1; }));
  });
}

TEST_CASE("ofi: a gap that does not close breaks the channel", "[ofi]") {
  const char* provider = "tcp;ofi_rxm";  // the only one with this property on every system
  Pair pair(provider);
  pair.join();
  Outsider outsider(provider, pair);
  outsider.send_frame(0, 3);
  REQUIRE(run(pair.both(), 15s, [&] { return pair.b.broken[pair.b_to_a] == 1; }));
  CHECK(pair.b.last_why.find("frame 2 was lost") != std::string::npos);
  CHECK(pair.b.frames.empty());
}

// Starts an operation and waits for its end.
Result finish(Pair& pair, Flight& operation, const std::function<Link::Start()>& begin) {
  Link::Start start = Link::Start::again;
  REQUIRE(run(pair.both(), 10s, [&] {
    start = begin();
    return start != Link::Start::again;
  }));
  if (start == Link::Start::failed) return Result::not_supported;
  if (start == Link::Start::done) return Result::ok;
  REQUIRE(run(pair.both(), 20s, [&] { return operation.calls == 1; }));
  return operation.result;
}

TEST_CASE("ofi: put and get reach the peer's memory", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    for (const PutProof proof : {PutProof::automatic, PutProof::read_back}) {
      Pair pair(candidate.provider, [&](OfiOptions& options) { options.put_proof = proof; });
      pair.join();
      if (!pair.a.link().remote_memory(pair.a_to_b)) {
        WARN("no remote memory over " << candidate.provider);
        return;
      }
      const std::size_t size = candidate.slow ? (1u << 17) : (20u << 20);
      Bytes target = pattern(size, 1);
      Bytes local(size);
      LinkRegion local_region;
      LinkRegion target_region;
      REQUIRE(pair.a.link().register_memory(local.data(), size, local_region));
      REQUIRE(pair.b.link().register_memory(target.data(), size, target_region));
      const LinkRegion seen_by_peer{target_region.key, target_region.base, nullptr};
      const auto base = reinterpret_cast<std::uint64_t>(target.data());
      int seed = 50;
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4097}, size - 3}) {
        const std::size_t offset = std::min<std::size_t>(3, size - length);
        for (const LinkRegion& region : {local_region, LinkRegion{}}) {
          // get: what the peer has.
          std::fill(local.begin(), local.end(), std::byte{0});
          Flight got;
          REQUIRE(finish(pair, got, [&] {
                    return pair.a.link().get(pair.a_to_b, local.data() + offset, region,
                                             base + offset, seen_by_peer, length, &got);
                  }) == Result::ok);
          CHECK(std::memcmp(local.data() + offset, target.data() + offset, length) == 0);
          if (offset != 0) CHECK(local[offset - 1] == std::byte{0});

          // put: visible when it is done, without another poll of the peer.
          const Bytes fresh = pattern(length, static_cast<std::uint32_t>(++seed));
          if (length != 0) std::memcpy(local.data() + offset, fresh.data(), length);
          const std::byte guard = target[offset - 1];
          Flight written;
          REQUIRE(finish(pair, written, [&] {
                    return pair.a.link().put(pair.a_to_b, local.data() + offset, region,
                                             base + offset, seen_by_peer, length, &written);
                  }) == Result::ok);
          CHECK(std::equal(fresh.begin(), fresh.end(), target.data() + offset));
          CHECK(target[offset - 1] == guard);
        }
      }
      pair.a.link().deregister_memory(local_region);
      pair.b.link().deregister_memory(target_region);
      CHECK(pair.a.broken.empty());
      CHECK(pair.b.broken.empty());
    }
  });
}

TEST_CASE("ofi: many operations at once, frames in between", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    if (!pair.a.link().remote_memory(pair.a_to_b)) return;
    constexpr std::size_t kPiece = 1000;
    const std::size_t count = candidate.slow ? 40 : 500;
    Bytes source = pattern(count * kPiece, 21);
    Bytes target(count * kPiece);
    LinkRegion region;
    REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
    std::vector<Flight> operations(count);
    std::size_t started = 0;
    std::size_t sent = 0;
    REQUIRE(run(pair.both(), 20s, [&] {
      if (started < count) {
        const Link::Start start =
            pair.a.link().put(pair.a_to_b, source.data() + started * kPiece, {},
                              reinterpret_cast<std::uint64_t>(target.data()) + started * kPiece,
                              {region.key, region.base, nullptr}, kPiece, &operations[started]);
        REQUIRE(start != Link::Start::failed);
        if (start != Link::Start::again) ++started;
      }
      if (sent < count)
        sent += send_bytes(pair.a, pair.a_to_b, {FrameType::message}, pattern(100, 2)) ==
                SendStatus::sent;
      return pair.b.frames.size() == count &&
             std::all_of(operations.begin(), operations.end(),
                         [](const Flight& op) { return op.calls == 1; });
    }));
    CHECK(target == source);
    CHECK(std::all_of(operations.begin(), operations.end(),
                      [](const Flight& op) { return op.result == Result::ok; }));
    pair.b.link().deregister_memory(region);
  });
}

TEST_CASE("ofi: closing completes what is under way, once", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    if (!pair.a.link().remote_memory(pair.a_to_b)) return;
    Bytes source = pattern(1 << 16, 1);
    Bytes target(1 << 16);
    LinkRegion region;
    REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
    std::vector<Flight> operations(4);
    int started = 0;
    for (Flight& operation : operations)
      started += pair.a.link().put(pair.a_to_b, source.data(), {},
                                   reinterpret_cast<std::uint64_t>(target.data()),
                                   {region.key, region.base, nullptr}, source.size(),
                                   &operation) == Link::Start::started;
    REQUIRE(started > 0);
    pair.a.link().close(pair.a_to_b);
    const auto calls = [&] {
      return std::count_if(operations.begin(), operations.end(),
                           [](const Flight& op) { return op.calls == 1; });
    };
    CHECK(calls() == started);
    const auto end = Clock::now() + 200ms;
    REQUIRE(run(pair.both(), 2s, [&] { return Clock::now() > end; }));
    CHECK(calls() == started);
    pair.b.link().deregister_memory(region);
  });
}

TEST_CASE("ofi: a peer that dies is noticed, once", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    if (!candidate.over_tcp) return;  // the provider's own timers, or none
    {
      INFO("while frames flow");
      Pair pair(candidate.provider);
      pair.join();
      pair.b.shut();
      const Bytes data = pattern(1000, 1);
      REQUIRE(run({&pair.a}, 10s, [&] {
        return send_bytes(pair.a, pair.a_to_b, {FrameType::message}, data) == SendStatus::broken &&
               !pair.a.broken.empty();
      }));
      CHECK(pair.a.broken[pair.a_to_b] == 1);
      CHECK_FALSE(pair.a.last_why.empty());
      const auto end = Clock::now() + 100ms;
      REQUIRE(run({&pair.a}, 2s, [&] { return Clock::now() > end; }));
      CHECK(pair.a.broken[pair.a_to_b] == 1);
    }
    {
      INFO("before the connection");
      Pair pair(candidate.provider);
      pair.b.shut();
      const PeerId peer = pair.a.connect(pair.b.address());
      REQUIRE(run({&pair.a}, 10s, [&] { return pair.a.broken[peer] != 0; }));
      CHECK(send_bytes(pair.a, peer, {FrameType::message}, {}) == SendStatus::broken);
    }
    {
      INFO("with an operation under way");
      Pair pair(candidate.provider);
      pair.join();
      if (!pair.a.link().remote_memory(pair.a_to_b)) return;
      Bytes source = pattern(1 << 20, 1);
      Bytes target(1 << 20);
      LinkRegion region;
      REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
      Flight operation;
      REQUIRE(pair.a.link().put(pair.a_to_b, source.data(), {},
                                reinterpret_cast<std::uint64_t>(target.data()),
                                {region.key, region.base, nullptr}, source.size(),
                                &operation) == Link::Start::started);
      pair.b.link().deregister_memory(region);
      pair.b.shut();
      REQUIRE(run({&pair.a}, 10s, [&] {
        send_bytes(pair.a, pair.a_to_b, {FrameType::credit}, {});
        return operation.calls == 1 && pair.a.broken[pair.a_to_b] == 1;
      }));
      CHECK(operation.result == Result::unreachable);
    }
  });
}

TEST_CASE("ofi: what cannot be opened is explained in one line", "[ofi]") {
  Node node(1);
  CHECK_FALSE(node.open("no_such_provider"));
  CHECK(node.why_not.find("no_such_provider") != std::string::npos);
  for (const std::string& present : ofi_providers())
    CHECK(node.why_not.find(present) != std::string::npos);
  CHECK(node.why_not.find('\n') == std::string::npos);

  CHECK_FALSE(node.open("", [](OfiOptions& options) { options.interface = "nosuchdev0"; }));
  CHECK(node.why_not.find("nosuchdev0") != std::string::npos);

  CHECK_FALSE(node.open("", [](OfiOptions& options) { options.frame_size = 100; }));
  CHECK(node.why_not.find("too small") != std::string::npos);
}

TEST_CASE("ofi: a peer that does not fit is not reached", "[ofi]") {
  Node a(1);
  REQUIRE(a.open(""));
  Node small(2);
  REQUIRE(small.open("", [](OfiOptions& options) { options.frame_size = 4096; }));
  std::string why;
  CHECK_FALSE(a.link().reach(small.address(), why));
  CHECK(why.find("4096") != std::string::npos);
  CHECK(small.link().reach(a.address(), why));

  Node other(3);
  REQUIRE(other.open("", [](OfiOptions& options) { options.name = "ofi1"; }));
  CHECK(other.link().name() == "ofi1");
  CHECK_FALSE(a.link().reach(other.address(), why));
}

TEST_CASE("ofi: by default no provider that stays on the host or is meant for tests", "[ofi]") {
  OfiOptions options;
  options.interface = "127.0.0.1";
  std::string why;
  const std::unique_ptr<OfiFabric> fabric = OfiFabric::open(options, why);
  INFO(why);
  REQUIRE(fabric);
  const std::set<std::string> never = {"shm", "sm2", "sockets", "udp;ofi_rxd", "net;ofi_rxm"};
  CHECK(never.count(std::string(fabric->provider())) == 0);
}

TEST_CASE("ofi: a probe tells a listening process from none", "[ofi]") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(listener >= 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&where), size) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size) == 0);
  const auto ask = [&] {
    PeerProbe probe;
    probe.start(std::as_bytes(std::span(&where, 1)));
    std::string why;
    PeerProbe::Answer answer = PeerProbe::Answer::none;
    REQUIRE(run({}, 5s, [&] {
      answer = probe.poll(why);
      return answer != PeerProbe::Answer::none;
    }));
    CHECK_FALSE(probe.running());
    CHECK(why.empty() == (answer == PeerProbe::Answer::alive));
    return answer;
  };
  CHECK(ask() == PeerProbe::Answer::alive);
  ::close(listener);
  CHECK(ask() == PeerProbe::Answer::dead);
}

}  // namespace
}  // namespace lfc
