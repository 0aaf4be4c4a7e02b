// Calls of windows whose memory runs out: each leaves a state with which the window goes on, or can be freed.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lfc/windows.h"
#include "services/windows/window_service.hpp"
#include "unit/failing_allocation.hpp"
#include "unit/services/fake_port.hpp"
#include "unit/services/windows/protocol_world.hpp"

namespace lfc {
namespace {

// Runs `attempt` with its `number`-th allocation failing. Returns whether that was reached.
bool fails(unsigned number, const std::function<void()>& attempt) {
  const FailingAllocation failing(number);
  try {
    attempt();
  } catch (const std::bad_alloc&) {
  }
  return failing.has_failed();
}

void warn_if_none(unsigned failures) {
  if (failures == 0) WARN("skipped: no allocation has failed");
}

}  // namespace

TEST_CASE("a window that cannot be connected reports that memory is short", "[windows]") {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::array<PeerId, kRanks> kPeers{kNoPeer, 1, 2, 3};
  constexpr std::array<bool, kRanks> kLocalPeers{};
  unsigned failures = 0;
  for (bool has_failed = true; has_failed;) {
    FakePort port;
    FakeMemory links;
    FakeHost host;
    WindowService windows(port, links, host, {[] {}, [](void*, WindowStatus) {}});
    std::array<std::byte, 64> memory{};
    WindowShape shape;
    shape.base = memory.data();
    shape.size = memory.size();
    shape.ranks = kRanks;
    const std::unique_ptr<Window> window = windows.create(std::move(shape));
    std::vector<WindowFacts> facts(kRanks, window->facts());
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {  // each takes tables of its own
      facts[rank].size += rank;
      facts[rank].displacement_unit += rank;
      facts[rank].region.id = rank;
      facts[rank].region.links[0].key = rank;
    }
    auto* const handle = reinterpret_cast<lfc_rma_window*>(window.get());
    bool mapped = false;
    bool has_thrown = true;
    lfc_rma_status status = LFC_RMA_OK;
    has_failed = fails(failures, [&] {
      status =
          lfc_rma_window_connect(handle, facts.data(), kPeers.data(), kLocalPeers.data(), &mapped);
      has_thrown = false;
    });
    if (has_failed) ++failures;
    REQUIRE_FALSE(has_thrown);
    REQUIRE(status == (has_failed ? LFC_RMA_NO_MEMORY : LFC_RMA_OK));
    REQUIRE(mapped != has_failed);
  }
  CHECK((failures == 0 || failures >= 4));
  warn_if_none(failures);
}

namespace rma {

TEST_CASE("an epoch for which memory is short does not begin", "[windows]") {
  const std::array<Rank, 3> group{0, 1, 2};
  for (const bool exposure : {false, true}) {
    unsigned failures = 0;
    for (bool has_failed = true; has_failed;) {
      ProtocolWorld world(3);
      Epochs& epochs = world.at(0).epochs;
      epochs.fence_enter(true);
      const auto begin = [&] {
        // Without a check, because the frames of this test take memory as well.
        return exposure ? epochs.post(group, true) : epochs.start(group, true);
      };
      has_failed = fails(failures, [&] { (void)begin(); });
      if (has_failed) ++failures;
      CAPTURE(exposure, failures);
      REQUIRE((exposure ? epochs.exposed() : epochs.started()) != has_failed);
      REQUIRE(world.at(0).origin.access().fence_open == has_failed);
      if (has_failed) REQUIRE(begin() == WindowStatus::ok);
    }
    CHECK((failures == 0 || failures >= 3));
    warn_if_none(failures);
  }
}

TEST_CASE("a request for a lock for which memory is short takes no ticket", "[windows]") {
  const auto asks = [](WindowKind kind) {
    return head_of(kind, kind == WindowKind::lock ? std::uint8_t{kExclusive} : std::uint8_t{0});
  };
  unsigned failures = 0;
  for (bool has_failed = true; has_failed;) {
    ProtocolWorld world(4);
    Protocol& target = world.at(0);
    REQUIRE(target.on_head(2, asks(WindowKind::lock), {}) == Verdict::release);  // holds it
    REQUIRE(target.on_head(3, asks(WindowKind::lock), {}) == Verdict::release);  // waits
    has_failed = fails(failures, [&] { (void)target.on_head(1, asks(WindowKind::lock), {}); });
    if (has_failed) {
      ++failures;
      REQUIRE(target.on_head(1, asks(WindowKind::lock), {}) == Verdict::release);
    }
    for (const Rank holder : {2u, 3u})
      REQUIRE(target.on_head(holder, asks(WindowKind::unlock), {}) == Verdict::hold);
    REQUIRE(target.target.peer(1).holds);
  }
  CHECK((failures == 0 || failures >= 2));
  warn_if_none(failures);
}

}  // namespace rma
}  // namespace lfc
