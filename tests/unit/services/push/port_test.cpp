// Push behind fake ports: the peers that it pushes to, the fragments, and the notices for the host.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "services/push/push.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;

namespace {

// Precedes the bytes of each fragment, and is in a word of its receiver.
struct Head {
  std::uint64_t number;
  std::uint32_t total, asks;
  std::uint64_t offset;
};

struct Pusher {
  std::uint64_t push(std::size_t size) {
    const std::uint64_t number = push_.offer(1, size);
    bytes.resize(size, std::byte{7});
    if (number != 0) push_.push(1, number, bytes.data(), size);
    return number;
  }
  Service::Verdict arrives(const Head& head, std::size_t size) {
    std::vector<std::byte> frame(sizeof head + size, std::byte{9});
    std::memcpy(frame.data(), &head, sizeof head);
    return port.service->on_frame(1, FrameType::service, frame);
  }
  void takes(std::uint64_t number) {
    std::array<std::byte, sizeof number> word;
    std::memcpy(word.data(), &number, sizeof number);
    REQUIRE(port.service->on_frame(1, FrameType::service_ack, word) == Service::Verdict::release);
  }

  FakePort port;
  FakeHost host;
  Push push_{port, host};
  std::vector<std::byte> bytes;
};

struct Fetched : Operation {
  explicit Fetched(FakeHost& host_) : host(host_) {
    done = [](Operation* self, Result ended) {
      auto& own = static_cast<Fetched&>(*self);
      ++own.calls;
      own.result = ended;
      own.together = own.host.together;
    };
  }
  FakeHost& host;
  int calls = 0;
  bool together = false;
  Result result = Result::not_supported;
};

}  // namespace

TEST_CASE("nothing is pushed to a peer that a copy within the call reaches", "[push]") {
  Pusher at;
  at.port.traits.copies_at_once = true;
  CHECK(at.push(100) == 0);
  at.port.traits.copies_at_once = false;
  CHECK(at.push(100) != 0);
}

TEST_CASE("a fragment is as large as a frame whose bytes the link places", "[push]") {
  Pusher at;
  at.port.traits.placed_payload = GENERATE(0u, 164u);
  const std::size_t fragment =
      at.port.traits.placed_payload != 0
          ? at.port.traits.placed_payload - sizeof(Head)
          : std::min<std::size_t>(limits::kPushFragment, at.port.max_payload() - sizeof(Head));
  const std::size_t size = 3 * fragment - 1;
  REQUIRE(size <= limits::kPushMessage);
  REQUIRE(at.push(size) != 0);
  CHECK(at.port.sent.size() == 3);
  CHECK(load_pod<Head>(at.port.frame.data()).offset == 2 * fragment);
  CHECK(at.port.frame.size() == sizeof(Head) + fragment - 1);
}

TEST_CASE("fragments behind one without a credit wait, and are taken back with their message",
          "[push]") {
  Pusher at;
  at.port.credit[1] = false;
  const std::uint64_t number = at.push(limits::kPushMessage);
  REQUIRE(number != 0);
  CHECK(at.port.sent.empty());
  CHECK(at.port.waiting.size() > 1);
  at.port.leaves();
  at.push_.release(1, number);
  CHECK(at.port.waiting.empty());
}

TEST_CASE("a single-threaded sender at its limit of bytes makes one pass to find releases",
          "[push]") {
  Pusher at;
  at.host.threads = GENERATE(false, true);
  const std::uint64_t first = at.push(limits::kPushMessage);
  while (at.push(limits::kPushMessage) != 0) {
  }
  CHECK(at.host.passes_away == (at.host.threads ? 0 : 1));
  at.host.meanwhile = [&] { at.takes(first); };
  CHECK((at.push(limits::kPushMessage) != 0) == !at.host.threads);
}

TEST_CASE("fetched messages are reported in a call of the host, and released together", "[push]") {
  Pusher at;
  std::array<std::byte, 64> place{};
  Fetched fetched(at.host);
  REQUIRE(at.push_.fetch(1, 1, place.data(), place.size(), &fetched));
  REQUIRE(at.arrives({1, 64, 0, 0}, 64) == Service::Verdict::release);
  CHECK(fetched.calls == 0);
  at.port.call();
  CHECK(fetched.calls == 1);
  CHECK(fetched.result == Result::ok);
  CHECK(fetched.together);
  CHECK_FALSE(at.host.together);
  CHECK(place.back() == std::byte{9});
}

TEST_CASE("fetches from a lost peer end as unreachable", "[push]") {
  Pusher at;
  std::array<std::byte, 64> place{};
  Fetched fetched(at.host);
  REQUIRE(at.push_.fetch(1, 1, place.data(), place.size(), &fetched));
  at.port.lost[1] = true;
  at.port.service->on_lost(1);
  at.port.call();
  CHECK(fetched.result == Result::unreachable);
  CHECK_FALSE(at.push_.fetch(1, 2, place.data(), place.size(), &fetched));
}
