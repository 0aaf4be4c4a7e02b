// Frames of services whose bytes are placed as they arrive.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "catch.hpp"
#include "link/tcp/stream.hpp"
#include "link/tcp/tcp_link.hpp"
#include "unit/link/tcp/world.hpp"

namespace lfc::tcp_world {

namespace {

// A receiver that places the bytes of services' frames, refuses the place at once, or moves it later. The first byte
// of the head selects the behaviour.
struct Placer {
  explicit Placer(Node& at) : node(at) {
    node.places = [this](const Placing& frame) { return place(frame); };
    node.placed = [this](PeerId peer, Meta meta, const Placing& frame) {
      REQUIRE(landed < frame.landed);
      landed = frame.landed;
      if (frame.left != 0) return;
      Bytes whole(frame.head.begin(), frame.head.end());
      whole.insert(whole.end(), memory.begin(), memory.begin() + static_cast<long>(landed));
      node.on_frame(peer, meta, whole);
      landed = 0;
      ++frames;
    };
  }
  std::byte* place(const Placing& frame) {
    REQUIRE(frame.head.size() == kPlacedHead);
    if (frame.head.front() == std::byte{1}) return nullptr;
    REQUIRE(frame.landed == landed);
    if (frame.head.front() == std::byte{2}) {  // later bytes go elsewhere
      Bytes other(limits::kTcpPlaced);
      std::copy(memory.begin(), memory.begin() + static_cast<long>(landed), other.begin());
      memory.swap(other);
    }
    return memory.data() + landed;
  }
  Node& node;
  Bytes memory = Bytes(limits::kTcpPlaced);
  std::size_t landed = 0;
  int frames = 0;
};

}  // namespace

TEST_CASE("tcp: the bytes of services' frames land where they are wanted", "[tcp]") {
  const TcpOptions options = GENERATE(false, true) ? tiny_buffers() : loopback();
  Node a(0, options);
  Node b(1, options);
  const PeerId ab = a.connect(b);
  Placer placer(b);
  Random random(7);
  std::vector<std::pair<Meta, Bytes>> sent;
  REQUIRE(a.link->traits().placed_payload == limits::kTcpPlaced);
  for (int i = 0; i < 400; ++i) {
    const bool service = random() % 3 != 0;
    const std::size_t most = service ? limits::kTcpPlaced : a.link->max_message();
    const std::size_t size = random() % 4 == 0 ? most : static_cast<std::size_t>(random()) % 300;
    Bytes payload = random_bytes(random, size);
    if (size != 0) payload[0] = static_cast<std::byte>(random() % 8);
    const Meta meta{service ? FrameType::service : FrameType::message,
                    static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random())};
    send_all({&a, &b}, a, ab, meta, payload);
    sent.emplace_back(meta, std::move(payload));
  }
  pump({&a, &b}, [&] { return b.frames.size() == sent.size(); });
  for (std::size_t i = 0; i < sent.size(); ++i) {
    CAPTURE(i);
    REQUIRE(b.frames[i].meta.type == sent[i].first.type);
    REQUIRE(b.frames[i].meta.tag == sent[i].first.tag);
    REQUIRE(b.frames[i].meta.credits == sent[i].first.credits);
    REQUIRE(b.frames[i].payload == sent[i].second);
  }
  CHECK(placer.frames > 5);
  CHECK(b.broken.empty());
}

TEST_CASE(
    "tcp: a frame that does not fit is not placed, nor is the rest of a frame whose sender ends",
    "[tcp]") {
  Node a(0);
  Placer placer(a);
  RawPeer peer(a);
  peer.write(hello(a.identity, blob_of({{9, 1}, 5, 8})));
  pump({&a}, [&] { return a.connects == 1; });
  const auto service = static_cast<tcp::Kind>(FrameType::service);
  const bool too_large = GENERATE(false, true);
  Bytes bytes = frame_bytes(
      {static_cast<std::uint32_t>(limits::kTcpPlaced + (too_large ? 1 : 0)), service, 0, 0}, 0,
      Bytes(limits::kTcpPlaced + 1));
  bytes.resize(1000);
  peer.write(bytes);
  if (too_large) {
    pump({&a}, [&] { return a.broken.size() == 1; });
    CHECK(placer.landed == 0);
    return;
  }
  pump({&a}, [&] { return placer.landed == 1000 - tcp::kPrefix - kPlacedHead; });
  peer.leave();
  pump({&a}, [&] { return a.broken.size() == 1; });
  CHECK(placer.frames == 0);
}

}  // namespace lfc::tcp_world
