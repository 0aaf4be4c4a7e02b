// Registrations of announced memory, and of the sources of writes, counted: with a cache, and without.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "catch.hpp"
#include "services/neon/neon_service.hpp"
#include "unit/services/fake_port.hpp"

namespace lfc {
namespace {

using Memory = std::array<std::byte, 4096>;

// Registers all of the memory for each part of it, and keeps the registration.
struct Cache final : RegistrationCache {
  Cache(FakeMemory& registrar_, Memory& memory_) : registrar(registrar_), memory(memory_) {}
  const RegionHandle* take(void*, std::size_t, std::uint32_t access) noexcept override {
    if (!kept && !registrar.register_memory(memory.data(), memory.size(), access, kept.emplace()))
      kept.reset();
    if (!kept) return nullptr;
    ++taken;
    return &*kept;
  }
  void give_back(const RegionHandle&) noexcept override { --taken; }

  FakeMemory& registrar;
  Memory& memory;
  std::optional<RegionHandle> kept;
  int taken = 0;
};

// A window of one rank, which announces two parts of its memory.
struct Target {
  Target() {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].address = memory.data() + 100 + 1000 * i;
      buffers[i].size = 500;
    }
  }
  void publish_and_withdraw(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (neon::Announcement& each : buffers) window.publish(each);
      for (neon::Announcement& each : buffers) window.withdraw(each);
    }
  }

  Memory memory{};
  FakePort port;
  FakeMemory remote;
  neon::Exposure exposure;
  std::shared_ptr<NeonService> service = std::make_shared<NeonService>(port, &remote);
  NeonWindow window{service, 0, neon::Limits{}, exposure, 1};
  std::array<neon::Announcement, 2> buffers;
};

// A window of two ranks, of which the other one has memory.
struct Origin {
  Origin() {
    port.traits.notified_puts = true;
    remote.native = true;
    window.connect(std::array<PeerId, 2>{kNoPeer, 1},
                   std::array<std::uint32_t, 2>{window.id(), window.id()});
    RegionHandle region;
    region.address = 1 << 20;
    region.size = memory.size();
    window.writes().prepare_for_window(1, region);
  }
  // Puts all of the memory and notifies.
  void put() {
    op.context = this;
    op.done = [](neon::Operation* self, neon::Status) {
      ++static_cast<Origin*>(self->context)->ended;
    };
    const ServicePort::Visit visit(port);
    REQUIRE(window.neon().origin().put_notify(op, 1, 0, memory.data(), memory.size(), {}, 0,
                                              false) == neon::Status::ok);
    REQUIRE(remote.puts.empty());  // it begins at the end of the visit
  }
  void end(Result result) {
    const FakeMemory::Started started = remote.puts.front();
    remote.puts.clear();
    started.end(result);
  }

  Memory memory{};
  FakePort port;
  FakeMemory remote;
  neon::Exposure exposure;
  std::shared_ptr<NeonService> service = std::make_shared<NeonService>(port, &remote);
  NeonWindow window{service, 0, neon::Limits{}, exposure, 2};
  neon::Operation op;
  int ended = 0;
};

}  // namespace

TEST_CASE("a buffer that is announced again is registered once where registrations are kept",
          "[neon_service]") {
  Target at;
  Cache cache(at.remote, at.memory);
  at.remote.use_cache(&cache);
  at.publish_and_withdraw(3);
  CHECK(at.remote.registrations == 1);
  CHECK(at.remote.registered == 1);
  CHECK(cache.taken == 0);
  // Origins get the bounds of the buffer, not those of the registration.
  at.window.publish(at.buffers[1]);
  RegionHandle region;
  REQUIRE(at.buffers[1].token.size == sizeof region);
  std::memcpy(&region, at.buffers[1].token.bytes, sizeof region);
  CHECK(region.address == reinterpret_cast<std::uintptr_t>(at.buffers[1].address));
  CHECK(region.size == at.buffers[1].size);
  CHECK(cache.taken == 1);
  SECTION("the cache may be closed first") {
    at.remote.use_cache(nullptr);
    at.window.withdraw(at.buffers[1]);
    CHECK(at.remote.registered == 1);
  }
  SECTION("the window may end first") {
    at.window.writes().conceal_all();
    CHECK(cache.taken == 0);
    CHECK(at.buffers[1].token.size == 0);
    at.window.withdraw(at.buffers[1]);
    CHECK(cache.taken == 0);
  }
  SECTION("a buffer without a registration is filled by frames") {
    at.window.withdraw(at.buffers[1]);
    at.remote.registers = false;
    cache.kept.reset();
    at.window.publish(at.buffers[0]);
    CHECK(at.buffers[0].token.size == 0);
    at.window.withdraw(at.buffers[0]);
    CHECK(cache.taken == 0);
  }
}

TEST_CASE("the source of a write is registered by the cache until the write has ended",
          "[neon_service]") {
  Origin at;
  Cache cache(at.remote, at.memory);
  at.remote.use_cache(&cache);
  for (int round = 1; round <= 3; ++round) {
    at.put();
    REQUIRE(at.remote.puts.size() == 1);
    CHECK(at.remote.puts[0].local == &*cache.kept);
    CHECK(cache.taken == 1);
    at.end(Result::ok);
    CHECK(cache.taken == 0);
    CHECK(at.ended == round);
  }
  CHECK(at.remote.registrations == 1);
  // The cache may be closed before the write has ended.
  at.put();
  at.remote.use_cache(nullptr);
  at.end(Result::ok);
  CHECK(at.ended == 4);
}

TEST_CASE("the source of a write that the link refuses is given back once", "[neon_service]") {
  Origin at;
  Cache cache(at.remote, at.memory);
  at.remote.use_cache(&cache);
  at.put();
  at.end(Result::not_supported);
  CHECK(at.port.sent.size() == 1);  // the frame
  CHECK(cache.taken == 0);
  CHECK(at.ended == 1);
}

TEST_CASE("a write that has not begun when its window ends writes nothing", "[neon_service]") {
  Origin at;
  auto window = std::make_unique<NeonWindow>(at.service, 0, neon::Limits{}, at.exposure, 2);
  window->connect(std::array<PeerId, 2>{kNoPeer, 1},
                  std::array<std::uint32_t, 2>{window->id(), window->id()});
  RegionHandle region;
  region.address = 1 << 20;
  region.size = at.memory.size();
  window->writes().prepare_for_window(1, region);
  at.op.done = [](neon::Operation*, neon::Status) { FAIL("it has not ended"); };
  const SendLock::Entry entry = at.port.begin_visit();
  REQUIRE(window->neon().origin().put_notify(at.op, 1, 0, at.memory.data(), at.memory.size(), {}, 0,
                                             false) == neon::Status::ok);
  window.reset();
  at.port.end_visit(entry);
  CHECK(at.remote.puts.empty());
}

TEST_CASE("a buffer that is announced again is registered again where registrations are not kept",
          "[neon_service]") {
  Target at;
  at.publish_and_withdraw(3);
  CHECK(at.remote.registrations == 6);
  CHECK(at.remote.registered == 0);
  for (neon::Announcement& each : at.buffers) at.window.publish(each);
  CHECK(at.remote.registered == 2);
  at.window.writes().conceal_all();
  CHECK(at.remote.registered == 0);
}

}  // namespace lfc
