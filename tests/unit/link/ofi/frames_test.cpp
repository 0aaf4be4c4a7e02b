// Frames over each provider, and connections as they are made and closed.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "unit/link/ofi/world.hpp"

namespace lfc::ofi_world {

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
    // A socket buffer of 6 MB and the link's own memory fill up, so the loop ends.
    Deadline deadline(30s);
    SendStatus status = SendStatus::sent;
    int refused = 0;
    while (refused < 100 && !deadline.is_over()) {
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

TEST_CASE("ofi: half a frame of one sender waits while others send", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    if (!candidate.over_tcp) return;  // no socket that is full in the middle of a frame
    constexpr std::uint32_t kSenders = 3;
    constexpr std::uint32_t kEach = 4000;
    Node to(0);
    REQUIRE(to.open(candidate.provider));
    std::vector<std::unique_ptr<Node>> senders;
    std::map<PeerId, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < kSenders; ++i) {
      senders.push_back(std::make_unique<Node>(i + 1));
      REQUIRE(senders.back()->open(candidate.provider));
      const PeerId id = senders.back()->connect(to.address());
      REQUIRE(send_all(*senders.back(), id, {}, {senders.back().get(), &to}));
      expected[to.id_of(senders.back()->identity().name)] = 0;
    }
    REQUIRE(run({&to}, 5s, [&] { return to.frames.size() == kSenders; }));
    to.frames.clear();

    std::vector<Bytes> patterns;
    for (std::uint32_t seed = 0; seed < 7; ++seed)
      patterns.push_back(pattern(to.link().max_payload() - seed * 600, seed));
    std::vector<std::uint32_t> sent(kSenders);
    const auto send_what_fits = [&](std::uint32_t i) {
      const PeerId id = senders[i]->id_of(to.identity().name);
      for (std::uint32_t refused = 0; refused < 10; senders[i]->link().poll()) {
        const bool goes = sent[i] < kEach && send_bytes(*senders[i], id, {FrameType::message},
                                                        patterns[sent[i] % 7]) == SendStatus::sent;
        goes ? ++sent[i] : ++refused;
      }
    };
    std::size_t wrong = 0;
    std::size_t received = 0;
    const auto receive = [&] {
      for (const Received& frame : to.frames)
        wrong += frame.payload != patterns[expected[frame.peer]++ % 7];
      received += to.frames.size();
      to.frames.clear();
    };
    // The first sender stops in the middle of a frame, while the others send everything.
    send_what_fits(0);
    REQUIRE(run({&to}, 20s, [&] {
      for (std::uint32_t i = 1; i < kSenders; ++i) send_what_fits(i);
      receive();
      return received == (kSenders - 1) * kEach + expected[to.id_of(senders[0]->identity().name)] ||
             !to.broken.empty();
    }));
    REQUIRE(run({&to}, 20s, [&] {
      send_what_fits(0);
      receive();
      return received == kSenders * kEach || !to.broken.empty();
    }));
    CHECK(wrong == 0);
    CHECK(to.broken.empty());
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

TEST_CASE("ofi: close notifies the peer, and a new connection begins afresh", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    for (int round = 0; round < 3; ++round) {
      const Bytes last = pattern(200, 11);
      REQUIRE(send_all(pair.a, pair.a_to_b, last, pair.both()));
      pair.a.link().close(pair.a_to_b);
      CHECK(send_bytes(pair.a, pair.a_to_b, {FrameType::message}, last) == SendStatus::broken);
      // Frames sent before are delivered; then the peer's sends fail.
      REQUIRE(run(pair.both(), 5s, [&] {
        return pair.b.frames.size() == 1 &&
               send_bytes(pair.b, pair.b_to_a, {FrameType::message}, {}) == SendStatus::broken;
      }));
      CHECK(pair.b.frames.front().payload == last);
      REQUIRE(run(pair.both(), 5s, [&] { return pair.a.link().drained(); }));
      pair.b.frames.clear();
      pair.a.frames.clear();

      // Either side may connect again.
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

}  // namespace lfc::ofi_world
