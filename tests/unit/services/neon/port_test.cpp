// NEON's window behind a fake port: frames that leave, wait for a credit, or are withdrawn.
#include <array>
#include <cstdint>
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
  Origin() {
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
  CHECK(at.window->sent()[1] == 1);
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
