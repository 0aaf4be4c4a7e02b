// Partitioned communication behind fake ports: registration of memory, frames that wait for a credit, and notices for
// the host.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "services/partitioned/partitioned.hpp"
#include "unit/services/fake_port.hpp"

namespace lfc::port_test {
using partitioned::Head;
using partitioned::Kind;
using partitioned::Status;

namespace {

struct Told {
  int done = 0, dropped = 0;
  Status status = Status::ok;
};
const partitioned::Host kHost{[](void* owner, Status status, std::uint64_t) {
                                auto& told = *static_cast<Told*>(owner);
                                ++told.done;
                                told.status = status;
                              },
                              [](void* owner) { ++static_cast<Told*>(owner)->dropped; }};
constexpr partitioned::Key kKey{1, 3, 4};

struct Process {
  partitioned::Receiving& expect() {
    return service.expect(kKey, &told, bytes.data(), 1, bytes.size());
  }
  partitioned::Sending& offer() {
    return service.offer(kKey, &told, bytes.data(), 2, bytes.size() / 2);
  }

  FakePort port;
  FakeMemory links;
  Partitioned service{port, links, kHost};
  Told told;
  std::vector<std::byte> bytes = std::vector<std::byte>(partitioned::Direct().total);
};

}  // namespace

TEST_CASE("a receive is registered only where its sender writes there within a call",
          "[partitioned]") {
  Process at;
  at.port.traits.copies_at_once = GENERATE(false, true);
  at.links.registers = GENERATE(true, false);
  partitioned::Receiving& receive = at.expect();
  CHECK(receive.exposed == (at.port.traits.copies_at_once && at.links.registers));
  CHECK(at.links.registered == (receive.exposed ? 1 : 0));
  CHECK(at.service.release(receive));
  CHECK(at.links.registered == 0);
}

TEST_CASE("an offer without a credit waits, and is taken back with the service", "[partitioned]") {
  Process at;
  at.port.credit[1] = false;
  {
    Partitioned short_lived(at.port, at.links, kHost);
    Told told;
    partitioned::Sending& send = short_lived.offer(kKey, &told, at.bytes.data(), 2, 8);
    REQUIRE(at.port.waiting.size() == 1);
    CHECK(load_pod<Head>(at.port.waiting.front().bytes().data()).kind == Kind::offer);
    CHECK(short_lived.release(send));
  }
  CHECK(at.port.waiting.empty());
}

TEST_CASE("a send to a lost peer ends, and the host is notified once, in its own call",
          "[partitioned]") {
  Process at;
  partitioned::Sending& send = at.offer();
  at.service.start(send);
  CHECK(at.told.done == 0);
  at.port.lost[1] = true;
  at.port.service->on_lost(1);
  CHECK(at.told.done == 0);  // the control program does not report it
  at.port.call();
  REQUIRE(at.service.ready(send, 0, 1));
  CHECK(at.told.done == 1);
  CHECK(at.told.status == Status::lost);
  CHECK(at.service.release(send));
}

TEST_CASE("with a peer that is lost already nothing is begun", "[partitioned]") {
  Process at;
  at.port.lost[1] = true;
  partitioned::Receiving& receive = at.expect();
  at.service.start(receive);
  at.port.call();
  CHECK(at.told.done == 1);
  CHECK(at.told.status == Status::lost);
  CHECK(at.service.release(receive));
}

TEST_CASE("frames of partitioned communication are of one kind", "[partitioned]") {
  Process at;
  const std::array<std::byte, sizeof(Head)> frame{};
  CHECK(at.port.service->on_frame(1, FrameType::service_ack, frame) == Service::Verdict::malformed);
  CHECK(at.port.service->on_frame(1, FrameType::service, frame) == Service::Verdict::malformed);
}

TEST_CASE("a send whose last frame waited for a credit of a peer that is lost ends with the loss",
          "[partitioned]") {
  Process at;
  partitioned::Sending& send = at.service.offer(kKey, &at.told, at.bytes.data(), 1, 8);
  struct {
    Head head;
    partitioned::Accept accept;
  } frame;
  frame.head.kind = Kind::accept;
  frame.head.to = send.name;
  frame.head.epoch = 1;
  frame.accept.name = 5;
  REQUIRE(at.port.service->on_frame(1, FrameType::service, std::as_bytes(std::span(&frame, 1))) ==
          Service::Verdict::release);
  at.service.start(send);
  at.port.credit[1] = false;
  REQUIRE(at.service.ready(send, 0, 0));
  REQUIRE(at.port.waiting.size() == 1);
  at.port.lost[1] = true;
  at.port.leaves(Result::unreachable);  // before on_lost()
  at.port.service->on_lost(1);
  at.port.call();
  CHECK(at.told.done == 1);
  CHECK(at.told.status == Status::lost);
  CHECK(at.service.release(send));
}

}  // namespace lfc::port_test
