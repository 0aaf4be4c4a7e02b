// NEON's window behind a fake port: frames that leave, wait for a credit, or are withdrawn.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "services/neon/neon_service.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;

namespace {

constexpr std::uint32_t kTag = 7;

// Rank 0 of two. Rank 1 is peer 1, and its window has the name 5.
struct Origin {
  explicit Origin(SendLock::Kind lock = SendLock::Kind::none) : port(lock) {
    window = std::make_unique<NeonWindow>(
        service, 0, neon::Limits{.frame = service->frame_bytes(), .eager = 128, .budget = 1024},
        exposure, 2);
    const std::array<PeerId, 2> peers{kNoPeer, 1};
    const std::array<std::uint32_t, 2> ids{window->id(), 5};
    window->connect(peers, ids);
  }
  neon::Status put(neon::Operation& operation) {
    operation.done = [](neon::Operation*, neon::Status) {};
    return window->neon().origin().put(operation, 1, kTag, 0, bytes.data(), bytes.size(), true,
                                       false);
  }
  neon::Header head() const { return load_pod<neon::Header>(port.head.data()); }

  FakePort port;
  neon::Exposure exposure;
  std::shared_ptr<NeonService> service = std::make_shared<NeonService>(port, nullptr);
  std::array<std::byte, 64> bytes{};
  std::unique_ptr<NeonWindow> window;
};

}  // namespace

TEST_CASE("a put of NEON leaves at once where there is a credit", "[neon_service]") {
  Origin at;
  neon::Operation first;
  REQUIRE(at.put(first) == neon::Status::ok);
  CHECK(at.port.sent == std::vector<PeerId>{1});
  CHECK(at.head().kind == neon::Kind::data);
  CHECK(at.head().window == 5);
  CHECK(at.window->traffic().sent[1] == 1);
  CHECK(at.window->quiet());
}

TEST_CASE(
    "a window of NEON queues one frame for each peer without credit, and withdraws it at its end",
    "[neon_service]") {
  Origin at;
  at.port.credit[1] = false;
  neon::Operation first, second;
  REQUIRE(at.put(first) == neon::Status::ok);
  REQUIRE(at.put(second) == neon::Status::ok);
  CHECK(at.port.sent.empty());
  CHECK(at.port.waiting.size() == 1);
  CHECK_FALSE(at.window->quiet());
  at.window.reset();
  CHECK(at.port.waiting.empty());
}

TEST_CASE("a window of NEON has lost a member as soon as its port reports the loss",
          "[neon_service]") {
  Origin at;
  at.port.service->on_lost(1);
  CHECK(at.window->has_lost());
}

TEST_CASE("frames that wait for an announcement end with their window, with Access",
          "[neon_service]") {
  Origin at(SendLock::Kind::shared);
  GuardedBytes kept(at.port);
  std::array<std::byte, sizeof(neon::Header) + 64> frame{};
  neon::Header header;
  header.kind = neon::Kind::data;
  header.flags = neon::kFinal | neon::kCharged;
  header.window = at.window->id();
  header.tag = 7;
  header.generation = 1;
  header.count = 1;
  std::memcpy(frame.data(), &header, sizeof header);
  REQUIRE(at.port.service->on_frame(1, FrameType::service, frame) == Service::Verdict::release);
  REQUIRE(kept.owners == 1);
  at.window.reset();
  CHECK(kept.ended == 1);
  CHECK(kept.ended_without_access == 0);
}

TEST_CASE("a window of NEON goes on in the pass in which a frame has left, once for all",
          "[neon_service]") {
  Origin at;
  at.port.credit[1] = false;
  neon::Operation first, second;
  REQUIRE(at.put(first) == neon::Status::ok);
  REQUIRE(at.put(second) == neon::Status::ok);
  at.port.credit[1] = true;
  at.port.awake = false;
  at.port.leaves();
  CHECK(at.port.sent.empty());
  REQUIRE(at.port.awake);
  at.port.service->work();
  CHECK(at.port.sent == std::vector<PeerId>{1});
  CHECK(at.window->quiet());
}
