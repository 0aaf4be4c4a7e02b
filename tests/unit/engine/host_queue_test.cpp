// HostQueue: `direct` delivers at once; `queued` keeps the order and reports each release once.
#include "engine/host_queue.hpp"

#include <malloc.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace lfc {
namespace {

struct Host {
  std::vector<std::string> seen;
  std::vector<PeerId> peers;
  std::vector<void*> contexts;
  std::vector<int> tags;
  static void deliver(void* context, const Delivery& delivery) {
    Host& host = *static_cast<Host*>(context);
    host.seen.emplace_back(reinterpret_cast<const char*>(delivery.bytes.data()),
                           delivery.bytes.size());
    host.peers.push_back(delivery.peer);
    host.contexts.push_back(delivery.peer_context);
    host.tags.push_back(delivery.tag);
  }
  MessageHandler handler() { return handler_of<&Host::deliver>(this); }
};

Delivery message(PeerId peer, std::uint8_t tag, const std::string& text, void* context = nullptr) {
  return {peer, context, tag, std::as_bytes(std::span(text))};
}

}  // namespace

TEST_CASE("direct delivery is done on return", "[host_queue]") {
  HostQueue queue(HostQueue::Mode::direct);
  Host host;
  queue.set_handler(host.handler());
  int mark = 0;
  REQUIRE(queue.deliver(message(3, 9, "abc", &mark)));
  REQUIRE(host.seen == std::vector<std::string>{"abc"});
  REQUIRE(host.peers == std::vector<PeerId>{3});
  REQUIRE(host.tags == std::vector<int>{9});
  REQUIRE(host.contexts == std::vector<void*>{&mark});
  REQUIRE(queue.waiting() == 0);
  REQUIRE(queue.hand_over(10, [](PeerId) { FAIL("nothing waits"); }) == 0);
}

TEST_CASE("a message without a handler is dropped, not kept", "[host_queue]") {
  HostQueue queue(HostQueue::Mode::direct);
  REQUIRE(queue.deliver(message(1, 2, "x")));
}

TEST_CASE("queued messages wait as copies, in order, until they are handed over", "[host_queue]") {
  HostQueue queue(HostQueue::Mode::queued);
  Host host;
  queue.set_handler(host.handler());
  std::string text = "0";
  for (char c = '0'; c <= '9'; ++c) {
    text[0] = c;
    REQUIRE_FALSE(queue.deliver(message(static_cast<PeerId>(c - '0'), 1, text)));
  }
  text[0] = 'z';
  REQUIRE(host.seen.empty());
  REQUIRE(queue.waiting() == 10);

  std::vector<PeerId> released;
  const auto note = [&](PeerId peer) {
    REQUIRE(host.seen.size() == released.size() + 1);  // released after the handler, not before
    released.push_back(peer);
  };
  REQUIRE(queue.hand_over(4, note) == 4);
  REQUIRE(queue.waiting() == 6);
  REQUIRE(queue.hand_over(100, note) == 6);
  REQUIRE(queue.hand_over(100, note) == 0);
  REQUIRE(released == host.peers);
  for (std::size_t i = 0; i < 10; ++i) REQUIRE(host.seen[i] == std::string(1, char('0' + i)));
}

TEST_CASE("an empty message is a message", "[host_queue]") {
  const auto mode = GENERATE(HostQueue::Mode::direct, HostQueue::Mode::queued);
  HostQueue queue(mode);
  Host host;
  queue.set_handler(host.handler());
  queue.deliver(message(1, 2, ""));
  queue.hand_over(1, [](PeerId) {});
  REQUIRE(host.seen == std::vector<std::string>{""});
}

TEST_CASE("the limit is on memory, however short the messages", "[host_queue]") {
  constexpr std::size_t kLimit = 1 << 20;
  const std::size_t size = GENERATE(0u, 14u, 22u, 4096u);
  HostQueue queue(HostQueue::Mode::direct, kLimit);
  Host host;
  queue.set_away(true);
  const std::vector<std::byte> bytes(size);
  const auto heap = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = heap();
  std::size_t taken = 0;
  while (taken < 1'000'000 && queue.deliver({1, nullptr, 1, bytes})) ++taken;
  const std::size_t grown = heap() - before;  // always 0 with a sanitizer
  INFO(taken << " messages of " << size << " B take " << grown << " B");
  CHECK(taken > kLimit / (size + 200));
  CHECK(taken < kLimit / (size + 32));
  CHECK(grown < kLimit * 3 / 2);
  CHECK(queue.memory() > kLimit);
  CHECK(queue.memory() < kLimit + size + 200);

  queue.set_handler(host.handler());
  while (queue.hand_over(64, [](PeerId) {}) != 0) continue;
  REQUIRE(queue.waiting() == 0);
  CHECK(queue.memory() <= 64 * (size + 200));  // spares
  CHECK(queue.deliver({1, nullptr, 1, bytes}));
}

TEST_CASE("the control program delivers while the host takes", "[host_queue]") {
  HostQueue queue(HostQueue::Mode::queued);
  Host host;
  queue.set_handler(host.handler());
  constexpr int kMessages = 20000;
  std::thread control([&] {
    for (int i = 0; i < kMessages; ++i) queue.deliver(message(1, 2, std::to_string(i)));
  });
  int released = 0;
  while (released < kMessages)
    if (queue.hand_over(64, [&](PeerId) { ++released; }) == 0) std::this_thread::yield();
  control.join();
  REQUIRE(queue.waiting() == 0);
  bool in_order = true;
  for (int i = 0; i < kMessages; ++i)
    in_order = in_order && host.seen[static_cast<std::size_t>(i)] == std::to_string(i);
  REQUIRE(in_order);
}

}  // namespace lfc
