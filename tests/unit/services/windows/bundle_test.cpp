// Bundles of small puts and accumulates: their contents, the events that send them, the order in which they are
// applied, and damaged ones.
#include "services/windows/protocol/bundle.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "catch.hpp"
#include "elements/accumulate.hpp"
#include "unit/services/windows/protocol_world.hpp"
#include "unit/services/windows/windows_world.hpp"

namespace lfc::rma {
namespace {

constexpr auto kPut = static_cast<std::uint8_t>(WindowKind::put);
constexpr auto kAccumulate = static_cast<std::uint8_t>(WindowKind::accumulate);
constexpr auto kSum = static_cast<std::uint8_t>(Accumulate::sum);
constexpr auto kU64 = static_cast<std::uint8_t>(Element::u64);

BundleEntry put_at(std::uint64_t word, std::uint32_t bytes = 8) {
  return {8 * word, bytes, kPut, 0, 0, 0};
}
BundleEntry sum_at(std::uint64_t word) { return {8 * word, 8, kAccumulate, kSum, kU64, 0}; }

std::vector<std::byte> copy(const Bundle& bundle) {
  return {bundle.bytes().begin(), bundle.bytes().end()};
}
void add(Bundle& bundle, const BundleEntry& entry, std::uint64_t value) {
  bundle.reserve(Bundle::room_for(entry.bytes));
  bundle.add(entry, reinterpret_cast<const std::byte*>(&value));
}

// Lets a member serve a payload as a bundle of member 1.
Verdict serve(ProtocolWorld& world, std::span<const std::byte> payload) {
  WindowHead head = head_of(WindowKind::bundle, kWantAck);
  head.rank = 1;
  head.bytes = payload.size();
  return world.at(0).on_head(1, head, payload);
}

}  // namespace

TEST_CASE("a bundle holds operations in their order, and joins puts that touch", "[windows]") {
  Bundle bundle;
  add(bundle, put_at(1), 10);
  add(bundle, put_at(2), 20);
  add(bundle, sum_at(3), 30);
  add(bundle, sum_at(4), 40);
  add(bundle, put_at(5, 3), 50);
  add(bundle, {43, 5, kPut, 0, 0, 0}, 60);  // no whole word
  CHECK(bundle.operations() == 6);
  REQUIRE(is_bundle(bundle.bytes()));
  std::vector<std::uint64_t> offsets, sizes;
  BundleReader next(bundle.bytes());
  for (; next; next.advance()) {
    offsets.push_back(next.entry().offset);
    sizes.push_back(next.entry().bytes);
  }
  CHECK(next.at_end());
  CHECK(offsets == std::vector<std::uint64_t>{8, 24, 32, 40, 43});
  CHECK(sizes == std::vector<std::uint64_t>{16, 8, 8, 3, 5});
  bundle.clear();
  CHECK((bundle.size() == 0 && bundle.operations() == 0));
}

TEST_CASE("a damaged bundle is refused as a whole", "[windows]") {
  Bundle bundle;
  add(bundle, put_at(0), 7);
  BundleEntry bad = sum_at(1);
  bool sound = false;
  SECTION("sound") { sound = true; }
  SECTION("no bytes") { bad.bytes = 0; }
  SECTION("part of an element") { bad.bytes = 4; }
  SECTION("a kind that no bundle has") { bad.kind = static_cast<std::uint8_t>(WindowKind::get); }
  SECTION("no such operation") { bad.operation = static_cast<std::uint8_t>(Accumulate::count_); }
  SECTION("an operation without operands") {
    bad.operation = static_cast<std::uint8_t>(Accumulate::no_op);
  }
  SECTION("no such element") { bad.element = static_cast<std::uint8_t>(Element::count_); }
  SECTION("beyond the end") { bad.bytes = 16; }
  SECTION("far beyond the end") { bad.bytes = UINT32_MAX; }
  std::vector<std::byte> payload = copy(bundle);
  const std::size_t at = payload.size();
  payload.resize(at + Bundle::room_for(8));
  std::memcpy(payload.data() + at, &bad, sizeof bad);
  ProtocolWorld world(2);
  CHECK((serve(world, payload) != Verdict::malformed) == sound);
  CHECK((world.word(0, 0) == 7) == sound);
  payload.resize(payload.size() - 8);
  CHECK(serve(world, payload) == Verdict::malformed);
  CHECK(serve(world, {}) == Verdict::malformed);
}

TEST_CASE("an entry of a bundle that its sender changes after the check is not applied",
          "[windows]") {
  BundleEntry changed = sum_at(0);
  bool sound = false;
  SECTION("sound") { sound = true; }
  SECTION("no bytes") { changed.bytes = 0; }
  SECTION("a kind that no bundle has") {
    changed.kind = static_cast<std::uint8_t>(WindowKind::get);
  }
  SECTION("no such element") { changed.element = static_cast<std::uint8_t>(Element::count_); }
  SECTION("beyond the end") { changed.bytes = 16; }
  // The bundle lies in the memory that it changes: its put writes the head of the entry behind it.
  ProtocolWorld world(2);
  const std::size_t begin = 8, second = begin + Bundle::room_for(sizeof changed);
  Bundle bundle;
  bundle.reserve(Bundle::room_for(sizeof changed));
  bundle.add(put_at(second / 8, sizeof changed), reinterpret_cast<const std::byte*>(&changed));
  add(bundle, sum_at(0), 7);
  REQUIRE(begin + bundle.size() <= 8 * ProtocolWorld::kWords);
  std::byte* const memory = world.at(0).memory.base();
  std::memcpy(memory + begin, bundle.bytes().data(), bundle.size());
  const std::uint64_t before = world.word(0, 0);
  CHECK((serve(world, {memory + begin, bundle.size()}) != Verdict::malformed) == sound);
  REQUIRE(std::memcmp(memory + second, &changed, sizeof changed) == 0);
  CHECK(world.word(0, 0) == before + (sound ? 7 : 0));
}

TEST_CASE("an operation out of range fails alone", "[windows]") {
  ProtocolWorld world(2);
  Bundle bundle;
  add(bundle, put_at(0), 7);
  add(bundle, put_at(ProtocolWorld::kWords), 8);
  add(bundle, sum_at(ProtocolWorld::kWords), 8);
  add(bundle, sum_at(UINT64_MAX / 8), 8);
  add(bundle, sum_at(0), 2);
  REQUIRE(serve(world, copy(bundle)) == Verdict::hold);
  CHECK(world.word(0, 0) == 9);
  CHECK(world.at(0).target.peer(1).ack_status == WindowStatus::range);
  CHECK(world.at(0).target.peer(1).received == 1);
}

}  // namespace lfc::rma

namespace lfc {
namespace {

constexpr Accumulation kReplace{Accumulate::replace, Element::u64};

// The frames that a member sends during `call`.
template <class Call>
std::uint64_t frames_of(Setting& at, Node node, Call call) {
  const Counters& counters = at.world.ni(node).counters();
  const std::uint64_t before = counters.get(Counter::frames_sent);
  call();
  return counters.get(Counter::frames_sent) - before;
}

constexpr std::uint64_t kMany = 100000;

}  // namespace

TEST_CASE("many accumulates without a flush leave in few frames and hold little memory",
          "[windows]") {
  Setting at(2, {.initial_window = 8}, Flavor::create, {.seed = 4});
  Window& own = at.at(0);
  const std::size_t payload =
      std::min<std::size_t>(at.world.ni(0).services().max_payload(), limits::kWindowFrame);
  const std::uint64_t one = 1;
  std::size_t most = 0, described = 0;
  const std::uint64_t frames = frames_of(at, 0, [&] {
    REQUIRE(own.lock(1, false, false) == WindowStatus::ok);
    for (std::uint64_t i = 0; i < kMany; ++i) {
      REQUIRE(own.accumulate_plain(1, kAdd, &one, nullptr, 8, 1,
                                   static_cast<std::int64_t>(i % kWords)) == WindowStatus::ok);
      const rma::OriginPeer& peer = own.peer(1);
      if (peer.bundle != nullptr) most = std::max(most, peer.bundle->size());
      described = std::max<std::size_t>(described, peer.queued);
    }
    REQUIRE(own.unlock(1) == WindowStatus::ok);
  });
  const std::uint64_t room =
      std::min<std::uint64_t>(payload - sizeof(WindowHead), limits::kWindowBundle);
  const std::uint64_t in_a_frame = room / rma::Bundle::room_for(8);
  CHECK(most <= room);
  CHECK(described == 0);
  // A request for the lock, the bundles, and few frames of credits.
  CHECK(frames <= kMany / in_a_frame * 2 + 8);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kWords; ++i) sum += at.words(1)[i];
  CHECK(sum == kMany);
}

TEST_CASE("many gets without a flush are described in bounded numbers", "[windows]") {
  Setting at(2, {.initial_window = 8}, Flavor::create, {.seed = 4});
  Window& own = at.at(0);
  for (std::uint64_t i = 0; i < kWords; ++i) at.words(1)[i] = i;
  std::vector<std::uint64_t> values(5 * limits::kWindowWaiting);
  REQUIRE(own.lock(1, false, false) == WindowStatus::ok);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(own.get_plain(1, &values[i], 8, static_cast<std::int64_t>(i % kWords)) ==
            WindowStatus::ok);
    const rma::OriginPeer& peer = own.peer(1);
    REQUIRE(peer.replies + peer.natives <= limits::kWindowWaiting);
    REQUIRE(peer.queued <= limits::kWindowWaiting);
  }
  REQUIRE(own.unlock(1) == WindowStatus::ok);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == i % kWords);
}

// Each step is an operation that depends on the one before it. All kinds of epochs and ways to end them.
TEST_CASE("small operations of all kinds take effect in the order of the calls", "[windows]") {
  Setting at(2, {.initial_window = 2}, Flavor::create, {.seed = 6});
  Window& own = at.at(0);
  const std::uint32_t target = 1, origin = 0;
  const int epoch = GENERATE(0, 1, 2);
  const int steps = GENERATE(1, 2, 3, 7, 40);
  CAPTURE(epoch, steps);
  std::array<std::uint32_t, 2> sent{};
  if (epoch == 0) REQUIRE(own.lock(1, true, false) == WindowStatus::ok);
  if (epoch == 1) {
    own.fence_enter(true);
    at.at(1).fence_enter(true);
  }
  if (epoch == 2) {
    REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
    REQUIRE(own.start({&target, 1}, false) == WindowStatus::ok);
  }
  std::uint64_t expected = 0;
  std::vector<std::uint64_t> operands(static_cast<std::size_t>(steps)), old(operands.size());
  std::vector<std::uint64_t> expected_old(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = 3 * i + 1;
    const std::uint64_t* const value = &operands[i];
    switch (i % 5) {
      case 1:
        REQUIRE(own.accumulate_plain(1, kReplace, value, nullptr, 8, 1, 2) == WindowStatus::ok);
        expected = *value;
        break;
      case 3:
        expected_old[i] = expected;
        REQUIRE(own.accumulate_plain(1, kAdd, value, &old[i], 8, 1, 2) == WindowStatus::ok);
        expected += *value;
        break;
      case 4: {
        const Word from(&operands[i]), there(nullptr, 2);
        REQUIRE(own.accumulate(1, kAdd, from.view, there.view, nullptr) == WindowStatus::ok);
        expected += *value;
        break;
      }
      default:
        REQUIRE(own.accumulate_plain(1, kAdd, value, nullptr, 8, 1, 2) == WindowStatus::ok);
        expected += *value;
    }
  }
  if (epoch == 0) REQUIRE(own.unlock(1) == WindowStatus::ok);
  if (epoch == 1) {
    REQUIRE(own.fence_leave(sent) == WindowStatus::ok);
    REQUIRE(at.at(1).fence_arrived(sent[1]) == WindowStatus::ok);
  }
  if (epoch == 2) {
    REQUIRE(own.complete() == WindowStatus::ok);
    REQUIRE(at.at(1).wait() == WindowStatus::ok);
  }
  CHECK(at.words(1)[2] == expected);
  CHECK(old == expected_old);
}

TEST_CASE("an operation in pieces joins a bundle piece by piece", "[windows]") {
  Setting at(2, {.initial_window = 4}, Flavor::create, {.seed = 7});
  Window& own = at.at(0);
  std::array<std::uint64_t, 4> values{1, 2, 3, 4};
  const Run packed{0, sizeof values, 0, 1}, every_third{0, 8, 24, 4};
  const View from{
      reinterpret_cast<std::byte*>(values.data()), 0, {&packed, 1}, 0, 1, sizeof values};
  const View there{nullptr, 8, {&every_third, 1}, 0, 1, sizeof values};
  const std::uint64_t frames = frames_of(at, 0, [&] {
    REQUIRE(own.lock(1, false, false) == WindowStatus::ok);
    for (int i = 0; i < 10; ++i)
      REQUIRE(own.accumulate(1, kAdd, from, there, nullptr) == WindowStatus::ok);
    REQUIRE(own.unlock(1) == WindowStatus::ok);
  });
  CHECK(frames < 10);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(at.words(1)[1 + 3 * i] == 10 * values[i]);
}

TEST_CASE("a lone operation leaves at once, and a second one when the first is counted",
          "[windows]") {
  Setting at(2, {.initial_window = 4}, Flavor::create, {.seed = 8});
  Window& own = at.at(0);
  const std::uint64_t one = 1;
  const auto add = [&] {
    REQUIRE(own.accumulate_plain(1, kAdd, &one, nullptr, 8, 1, 0) == WindowStatus::ok);
  };
  REQUIRE(own.lock(1, false, true) == WindowStatus::ok);
  add();
  REQUIRE(own.flush(1) == WindowStatus::ok);  // the connection is open now
  CHECK(frames_of(at, 0, add) == 1);
  CHECK(frames_of(at, 0, add) == 0);
  CHECK(own.peer(1).bundle != nullptr);
  at.settle();  // without a call of the origin
  CHECK(own.peer(1).bundle == nullptr);
  CHECK(at.words(1)[0] == 3);
  CHECK(own.unlock(1) == WindowStatus::ok);
}

// A fragment of the epoch before still waits for a credit when the next epoch begins.
TEST_CASE("a lock is requested for an operation behind a fragment of the epoch before",
          "[windows]") {
  Setting at(2, {.initial_window = 1, .maximum_window = 1}, Flavor::create, {.seed = 10});
  Window& own = at.at(0);
  std::array<std::uint64_t, kWords / 2> values{};
  values.fill(3);
  std::array<std::uint32_t, 2> sent{};
  own.fence_enter(true);
  at.at(1).fence_enter(true);
  for (int i = 0; i < 4 && !own.peer(1).carrying; ++i)
    REQUIRE(own.put_plain(1, values.data(), 8, i) == WindowStatus::ok);
  REQUIRE(own.fence_leave(sent) == WindowStatus::ok);
  own.fence_enter(false);
  at.at(1).fence_enter(false);
  const std::uint64_t one = 1;
  const int kind = GENERATE(0, 1, 2);
  const bool waits = own.peer(1).carrying;
  CAPTURE(kind, waits);
  REQUIRE(waits);
  REQUIRE((kind == 0 ? own.lock(1, true, false) : own.lock_all(kind == 2)) == WindowStatus::ok);
  REQUIRE(own.accumulate_plain(1, kAdd, &one, nullptr, 8, 1, 40) == WindowStatus::ok);
  REQUIRE((kind == 0 ? own.unlock(1) : own.unlock_all()) == WindowStatus::ok);
  CHECK(at.words(1)[40] == 1);
  CHECK(own.peer(1).fence_sent == 0);
  CHECK(own.peer(1).ending == rma::OriginPeer::End::none);
  CHECK_FALSE(at.at(1).protocol().target.peer(0).holds);
  at.settle();
  CHECK_FALSE(at.broke(1));
}

TEST_CASE("a bundle to a lost member is dropped, and its epoch ends", "[windows]") {
  Setting at(2, {.initial_window = 4}, Flavor::create, {.seed = 9});
  Window& own = at.at(0);
  const std::uint64_t one = 1;
  REQUIRE(own.lock(1, false, false) == WindowStatus::ok);
  for (int i = 0; i < 5; ++i)
    REQUIRE(own.accumulate_plain(1, kAdd, &one, nullptr, 8, 1, 0) == WindowStatus::ok);
  REQUIRE(own.peer(1).bundle != nullptr);
  at.services[0]->on_lost(at.world.peer(0, 1));
  CHECK(own.peer(1).bundle == nullptr);
  CHECK(own.unlock(1) == WindowStatus::lost);
}

}  // namespace lfc
