// Windows behind fake ports: the way of an operation, frames that wait for a credit, buffers that are held, and events
// that end a wait.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "services/windows/window_service.hpp"
#include "unit/services/fake_port.hpp"

using namespace lfc;

namespace {

std::vector<std::pair<void*, WindowStatus>> told;
const WindowHost kHost{
    [] {}, [](void* request, WindowStatus status) { told.emplace_back(request, status); }};
constexpr std::uint32_t kThere = 77;         // the name of rank 1's window
constexpr std::uint64_t kAddress = 1 << 20;  // the address of its memory

// Rank 0 of two; rank 1 is peer 1. No memory is mapped.
struct Member {
  explicit Member(SendLock::Kind lock = SendLock::Kind::none) : port(lock) {
    told.clear();
    Window::Shape shape;
    shape.base = memory.data();
    shape.size = memory.size() * 8;
    shape.displacement_unit = 8;
    shape.ranks = 2;
    window = windows.create(std::move(shape));
    std::array<WindowFacts, 2> facts{window->facts(), window->facts()};
    facts[1].id = kThere;
    facts[1].base = kAddress;
    const std::array<PeerId, 2> peers{kNoPeer, 1};
    const std::array<bool, 2> local_peers{};
    window->connect(facts, peers, local_peers);
  }
  // Takes a lock without a request to the target (MPI_MODE_NOCHECK).
  Member& locks() {
    REQUIRE(window->lock(1, false, true) == WindowStatus::ok);
    return *this;
  }
  WindowStatus put(std::uint64_t bytes) { return window->put_plain(1, memory.data(), bytes, 2); }
  Service::Verdict arrives(FrameType type, const void* bytes, std::size_t size, PeerId from = 1) {
    std::vector<std::byte> frame(size);
    std::memcpy(frame.data(), bytes, size);
    return port.service->on_frame(from, type, frame);
  }
  // Acts as rank 1, which reports how many fragments it has handled.
  void counts(std::uint64_t count) {
    WindowAck ack{};
    ack.kind = static_cast<std::uint8_t>(AckKind::counted);
    ack.window = window->facts().id;
    ack.rank = 1;
    ack.count = count;
    REQUIRE(arrives(FrameType::service_ack, &ack, sizeof ack) == Service::Verdict::release);
  }
  WindowHead asks(WindowKind kind, std::uint64_t bytes) const {
    WindowHead head = head_of(kind, 0);
    head.window = window->facts().id;
    head.rank = 1;
    head.bytes = bytes;
    return head;
  }

  FakePort port;
  FakeMemory links;
  FakeHost host;
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(limits::kWindowNative / 8 + 64, 5);
  WindowService windows{port, links, host, kHost};
  std::unique_ptr<Window> window;
};

WindowHead head_in(const std::vector<std::byte>& frame) {
  return load_pod<WindowHead>(frame.data());
}
// The word that a put carries.
std::uint64_t word_in(const std::vector<std::byte>& frame) {
  return load_pod<std::uint64_t>(frame.data() + frame.size() - sizeof(std::uint64_t));
}

}  // namespace

TEST_CASE("the memory of a window is registered as long as there is one", "[windows]") {
  Member at;
  CHECK(at.links.registered == 1);
  at.window.reset();
  CHECK(at.links.registered == 0);
  at.links.registers = false;
  Window::Shape shape;
  shape.base = at.memory.data();
  shape.size = 8;
  CHECK_THROWS_AS(at.windows.create(std::move(shape)), std::bad_alloc);
}

TEST_CASE("a small put is one frame, and a flush waits until its target has counted it",
          "[windows]") {
  Member at;
  REQUIRE(at.locks().put(8) == WindowStatus::ok);
  REQUIRE(at.port.sent == std::vector<PeerId>{1});
  const WindowHead head = head_in(at.port.frame);
  CHECK(head.window == kThere);
  CHECK(head.rank == 0);
  CHECK(head.kind == static_cast<std::uint8_t>(WindowKind::put));
  CHECK(head.bytes == 8);
  CHECK(word_in(at.port.frame) == 5);
  int passes = 0;
  at.host.meanwhile = [&] {
    if (++passes == 3) at.counts(1);
  };
  CHECK(at.window->flush(1) == WindowStatus::ok);
  CHECK(passes == 3);
}

TEST_CASE("an acknowledgement from a target that was never used is ignored", "[windows]") {
  Member at;
  at.counts(5);
  CHECK(at.window->protocol().origin.find(1) == nullptr);
  REQUIRE(at.locks().put(8) == WindowStatus::ok);
  CHECK_FALSE(at.window->peer(1).remotely_complete());
  at.counts(1);
  CHECK(at.window->flush(1) == WindowStatus::ok);
}

TEST_CASE("a put without a credit waits as a copy, and later puts wait behind it", "[windows]") {
  Member at;
  at.locks();
  at.port.credit[1] = false;
  REQUIRE(at.put(8) == WindowStatus::ok);
  at.memory[0] = 6;
  REQUIRE(at.put(8) == WindowStatus::ok);
  at.memory[0] = 7;
  CHECK(at.port.sent.empty());
  REQUIRE(at.port.waiting.size() == 1);
  at.port.credit[1] = true;
  CHECK(word_in(at.port.leaves()) == 5);
  // The second one waited in a bundle, which has a copy of it as well.
  REQUIRE(at.port.sent == std::vector<PeerId>{1});
  CHECK(word_in(at.port.frame) == 6);
  at.counts(2);
  CHECK(at.window->flush(1) == WindowStatus::ok);
}

TEST_CASE("a large put goes by the link where that writes to memory, and else in frames",
          "[windows]") {
  Member at;
  at.links.native = GENERATE(true, false);
  REQUIRE(at.locks().put(limits::kWindowNative) == WindowStatus::ok);
  CHECK(at.port.sent.empty() == at.links.native);
  REQUIRE(at.links.puts.size() == (at.links.native ? 1 : 0));
  const auto fragments = at.port.sent.size();
  at.counts(fragments);
  if (at.links.native) {
    const FakeMemory::Started put = at.links.puts.front();
    CHECK(put.peer == 1);
    CHECK(put.address == kAddress + 16);
    CHECK(put.size == limits::kWindowNative);
    const Result result = GENERATE(Result::ok, Result::bad_address);
    int passes = 0;
    at.host.meanwhile = [&] {
      if (++passes == 2) put.end(result);
    };
    CHECK(at.window->flush(1) == (result == Result::ok ? WindowStatus::ok : WindowStatus::range));
    CHECK(passes == 2);
  } else {
    CHECK(at.window->flush(1) == WindowStatus::ok);
  }
}

TEST_CASE("a small put by a link that copies within the call is done in it, with any lock",
          "[windows]") {
  const auto lock = GENERATE(SendLock::Kind::none, SendLock::Kind::biased, SendLock::Kind::shared);
  Member at(lock);
  at.links.native = true;
  at.port.traits.one_sided = at.port.traits.copies_at_once = true;
  REQUIRE(at.locks().put(8) == WindowStatus::ok);
  CHECK(at.port.sent.empty());
  CHECK(at.links.at_once == 1);
  CHECK(at.links.puts.empty());
  CHECK(at.window->flush(1) == WindowStatus::ok);
}

TEST_CASE("a put that the link does not copy within the call completes later by the link",
          "[windows]") {
  Member at;
  at.links.native = true;
  at.links.copies = false;
  at.port.traits.one_sided = at.port.traits.copies_at_once = true;
  REQUIRE(at.locks().put(8) == WindowStatus::ok);
  REQUIRE(at.links.puts.size() == 1);
  at.links.puts.front().end(Result::ok);
  CHECK(at.window->flush(1) == WindowStatus::ok);
}

namespace {

// Small puts to a link that copies within the call.
struct CopyingMember : Member {
  CopyingMember() {
    links.native = true;
    port.traits.one_sided = port.traits.copies_at_once = true;
    locks();
  }
  void put_word(std::int64_t place) {
    const std::uint64_t value = value_at(place);
    REQUIRE(window->put_plain(1, &value, 8, place) == WindowStatus::ok);
  }
  static std::uint64_t value_at(std::int64_t place) {
    return 1000 + static_cast<std::uint64_t>(place);
  }
};

}  // namespace

TEST_CASE("small puts behind the first one are copied together at the next wait", "[windows]") {
  CopyingMember at;
  constexpr std::int64_t kPuts = 1000;
  for (std::int64_t i = 0; i < kPuts; ++i) at.put_word(2 * i);
  CHECK(at.window->flush(1) == WindowStatus::ok);
  CHECK(at.links.at_once == 1);
  // So many that the refused ones would fit into one frame.
  CHECK(at.links.pieces_calls < kPuts / 16);
  CHECK(at.port.sent.empty());
  REQUIRE(at.links.copied.size() == kPuts - 1);
  for (std::size_t i = 0; i < at.links.copied.size(); ++i) {
    const auto place = static_cast<std::int64_t>(2 * (i + 1));
    REQUIRE(at.links.copied[i].address == kAddress + 8 * static_cast<std::uint64_t>(place));
    REQUIRE(load_pod<std::uint64_t>(at.links.copied[i].bytes.data()) == at.value_at(place));
  }
  const int before = at.links.pieces_calls;
  for (int i = 0; i < 100; ++i) {
    at.put_word(i);
    REQUIRE(at.window->flush(1) == WindowStatus::ok);
  }
  CHECK(at.links.at_once == 101);
  CHECK(at.links.pieces_calls == before);
  for (std::int64_t i = 0; i < 10; ++i) at.put_word(i);
  CHECK(at.window->unlock(1) == WindowStatus::ok);
  CHECK(at.links.copied.back().bytes.size() == 9 * 8);  // those that touch are one piece
}

TEST_CASE("no operation overtakes small puts that the link is to copy", "[windows]") {
  CopyingMember at;
  for (std::int64_t i = 0; i < 3; ++i) at.put_word(2 * i);
  REQUIRE(at.links.copied.empty());
  std::uint64_t value = 1, result = 0;
  const Accumulation sum{Accumulate::sum, Element::u64};
  const int kind = GENERATE(0, 1, 2, 3, 4);
  CAPTURE(kind);
  at.port.sent.clear();
  switch (kind) {
    case 0: REQUIRE(at.window->get_plain(1, &result, 8, 2) == WindowStatus::ok); break;
    case 1:
      REQUIRE(at.window->accumulate_plain(1, sum, &value, nullptr, 8, 1, 2) == WindowStatus::ok);
      CHECK(at.port.sent.size() == 1);
      break;
    case 2:
      REQUIRE(at.window->accumulate_plain(1, sum, &value, &result, 8, 1, 2) == WindowStatus::ok);
      CHECK(at.port.sent.size() == 1);
      break;
    case 3:
      REQUIRE(at.window->compare_and_swap(1, &value, &value, &result, 8, 16) == WindowStatus::ok);
      CHECK(at.port.sent.size() == 1);
      break;
    default: REQUIRE(at.put(limits::kWindowSmall + 8) == WindowStatus::ok);
  }
  CHECK(at.links.copied.size() == 2);
  CHECK(at.links.at_once == (kind == 0 || kind == 4 ? 2 : 1));
  if (kind != 1) return;
  at.put_word(9);  // behind the accumulate, which has not been counted
  CHECK(at.links.at_once == 1);
  CHECK(at.window->peer(1).bundle != nullptr);
  CHECK_FALSE(is_copying(at.window->peer(1)));
}

TEST_CASE("small puts that the link refuses to copy leave in a frame, in order", "[windows]") {
  CopyingMember at;
  for (std::int64_t i = 0; i < 4; ++i) at.put_word(2 * i);
  at.links.copies = false;
  int waits = 0;
  at.host.meanwhile = [&] {
    if (++waits == 1) at.counts(1);
  };
  CHECK(at.window->flush(1) == WindowStatus::ok);
  REQUIRE(at.port.sent.size() == 1);
  const std::vector<std::byte> frame = at.port.frame;
  const std::span<const std::byte> payload(frame);
  CHECK(head_in(frame).kind == static_cast<std::uint8_t>(WindowKind::bundle));
  std::size_t entries = 0;
  for (rma::BundleReader next(payload.subspan(sizeof(WindowHead))); next; next.advance())
    CHECK(next.entry().offset == 16 * ++entries);
  CHECK(entries == 3);
  at.links.copies = true;
  at.put_word(0);
  CHECK(at.links.at_once == 2);
}

TEST_CASE("the control program has small puts copied that wait when it counts others",
          "[windows]") {
  CopyingMember at;
  for (std::int64_t i = 0; i < 3; ++i) at.put_word(2 * i);
  at.counts(0);  // overtaken by another one
  CHECK(at.links.pieces_calls == 1);
  CHECK(!is_copying(at.window->peer(1)));
  CHECK(at.window->flush(1) == WindowStatus::ok);
  CHECK(at.links.copied.size() == 2);
}

TEST_CASE("a pass of the host copies small puts that wait for it", "[windows]") {
  CopyingMember at;
  for (std::int64_t i = 0; i < 3; ++i) at.put_word(2 * i);
  at.windows.serve_host();
  CHECK(at.links.copied.size() == 2);
  at.put_word(8);
  CHECK(at.links.at_once == 1);
  at.windows.serve_host();
  CHECK(at.links.copied.size() == 3);
}

TEST_CASE("small puts that are to be copied to a lost member are dropped", "[windows]") {
  CopyingMember at;
  for (std::int64_t i = 0; i < 3; ++i) at.put_word(2 * i);
  at.port.service->on_lost(1);
  CHECK(at.window->flush(1) == WindowStatus::lost);
  CHECK(at.links.copied.empty());
  CHECK(at.port.sent.empty());
}

TEST_CASE(
    "the requester of memory gets it in frames, and its receive buffer is free after the last",
    "[windows]") {
  Member at;
  const std::uint64_t bytes = 2000;  // as much as two frames carry
  const WindowHead head = at.asks(WindowKind::get, bytes);
  REQUIRE(at.arrives(FrameType::service, &head, sizeof head) == Service::Verdict::hold);
  std::uint64_t came = 0;
  while (!at.port.waiting.empty()) {
    CHECK(at.port.waiting.front().type() == FrameType::service_data);
    CHECK(at.port.released.empty());
    came += at.port.leaves().size() - sizeof(WindowReply);
  }
  CHECK(came == bytes);
  CHECK(at.port.released == std::vector<PeerId>{1});
}

TEST_CASE("the frames of a get end with the window, and its receive buffer is freed once",
          "[windows]") {
  Member at;
  const WindowHead head = at.asks(WindowKind::get, 2000);
  REQUIRE(at.arrives(FrameType::service, &head, sizeof head) == Service::Verdict::hold);
  at.window.reset();
  while (!at.port.waiting.empty()) at.port.leaves();
  CHECK(at.port.released == std::vector<PeerId>{1});
}

TEST_CASE("a member that is lost ends a wait, and its operations", "[windows]") {
  Member at;
  std::uint64_t value = 1, result = 0;
  int request = 0;
  const Run run{0, 8, 0, 1};
  const auto view = [&](std::uint64_t* base) {
    return View{reinterpret_cast<std::byte*>(base), 0, {&run, 1}, 8, 1, 8};
  };
  at.locks();
  REQUIRE(at.window->fetch(1, {Accumulate::sum, Element::u64}, view(&value), view(&result),
                           view(nullptr), &request) == WindowStatus::ok);
  at.host.meanwhile = [&] { at.port.service->on_lost(1); };
  CHECK(at.window->flush(1) == WindowStatus::lost);
  at.windows.serve_host();
  CHECK(told == std::vector<std::pair<void*, WindowStatus>>{{&request, WindowStatus::lost}});
}

TEST_CASE("frames of a member are accepted from its own peer alone, and late ones are dropped",
          "[windows]") {
  Member at;
  const std::uint64_t value = 9;
  struct {
    WindowHead head;
    std::uint64_t value;
  } frame{at.asks(WindowKind::put, 8), value};
  CHECK(at.arrives(FrameType::service, &frame, sizeof frame, 2) == Service::Verdict::malformed);
  CHECK(at.memory[0] == 5);
  CHECK(at.arrives(FrameType::service, &frame, sizeof frame) == Service::Verdict::release);
  CHECK(at.memory[0] == value);
  at.window.reset();
  at.memory[0] = 5;
  CHECK(at.arrives(FrameType::service, &frame, sizeof frame) == Service::Verdict::release);
  CHECK(at.memory[0] == 5);
}
