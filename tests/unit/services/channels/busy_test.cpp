// A receive of others, and a probe, examine only the keys that they may concern.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "catch.hpp"
#include "services/channels/protocol/receiver.hpp"

namespace lfc::busy_test {
namespace {

using lfc::channels::End;
using lfc::channels::kAny;
using lfc::channels::Key;
using lfc::channels::MatchingPort;
using lfc::channels::Name;
using lfc::channels::Note;
using lfc::channels::Notes;
using lfc::channels::Outcome;
using lfc::channels::Receive;
using lfc::channels::Receiver;

constexpr std::uint32_t kComm = 3, kPeer = 5;
constexpr std::int32_t kSources = 3, kTags = 20;

// Every receive waits below until its message comes there.
class World final : private MatchingPort, private Notes {
 public:
  bool frees = false;  // a message that is given ends the last receive of a communicator

  Receiver& receiver() { return receiver_; }
  Key& pin(std::int32_t source, std::int32_t tag) { return receiver_.pin(end_of(source, tag)); }
  // A key that goes with this receive.
  void add(std::deque<Receive>& receives, std::int32_t source, std::int32_t tag) {
    receiver_.add(receives.emplace_back(receiver_.key(end_of(source, tag))));
  }
  void start(Receive& receive) {
    receive.direct = true;
    receive.capacity = 100;
    receiver_.start(receive);
  }
  void end(Receive& receive) {
    outcome_ = Outcome::matched;
    receiver_.ended(receive);
    outcome_ = Outcome::pending;
  }
  std::size_t busy() {
    std::size_t sum = 0;
    for (std::int32_t source = 0; source < kSources; ++source)
      sum += receiver_.find(Name{kComm, source, 0})->stream->busy;
    CHECK(receiver_.find(Name{kComm, 0, 0})->stream->comm->busy == sum);
    return sum;
  }

 private:
  static End end_of(std::int32_t source, std::int32_t tag) {
    return {{kComm, source, tag}, kPeer + static_cast<std::uint32_t>(source), 0};
  }
  void post(Receive&) override {}
  Outcome outcome(const Receive&) override { return outcome_; }
  void pass_to_matching(const Name& name, std::uint32_t, std::uint16_t, std::byte*,
                        std::size_t) override {
    if (!frees) return;
    receiver_.forget(name.comm);
    CHECK(receiver_.find(Name{kComm, 0, 0}) != nullptr);  // until this call has returned
  }
  bool empty(const Key&) override { return true; }
  void done(Receive&, const std::byte*, std::size_t) override {}
  void send(std::uint32_t, const Note&) override {}

  Outcome outcome_ = Outcome::pending;
  Receiver receiver_{*this, *this, 14};
};

}  // namespace

TEST_CASE("channels: a wildcard examines no key a second time", "[channels]") {
  World world;
  std::deque<Receive> receives;
  for (std::int32_t source = 0; source < kSources; ++source)
    for (std::int32_t tag = 0; tag < kTags; ++tag) receives.emplace_back(world.pin(source, tag));
  CHECK(world.busy() == 0);
  for (Receive& each : receives) world.start(each);
  CHECK(world.busy() == kSources * kTags);
  world.receiver().before_other_receive(kComm, kAny, 7);  // receives are posted: all matter still
  CHECK(world.busy() == kSources * kTags);
  for (Receive& each : receives) world.end(each);
  world.receiver().before_other_receive(kComm, 1, kAny);
  CHECK(world.busy() == (kSources - 1) * kTags);
  world.receiver().before_other_receive(kComm, kAny, 7);
  CHECK(world.busy() == (kSources - 1) * (kTags - 1));
  world.receiver().before_other_receive(kComm, 0, 3);
  CHECK(world.busy() == (kSources - 1) * (kTags - 1) - 1);
  world.receiver().before_other_receive(kComm, kAny, kAny);
  CHECK(world.busy() == 0);
  world.start(receives.front());
  CHECK(world.busy() == 1);
}

TEST_CASE("channels: busy keys that go leave the others in their places", "[channels]") {
  World world;
  std::deque<Receive> receives;
  for (std::int32_t source = 0; source < kSources; ++source) (void)world.pin(source, 0);
  for (std::int32_t tag = 1; tag < kTags; ++tag) world.add(receives, 0, tag);
  for (Receive& each : receives)
    if (each.key->end.name.tag % 2 == 1) {
      world.start(each);
      world.end(each);
    }
  CHECK(world.busy() == kTags / 2);
  for (Receive& each : receives)
    if (each.key->end.name.tag % 3 == 0) world.receiver().remove(each);
  CHECK(world.busy() == 7);  // 1, 5, 7, 11, 13, 17, 19
  const auto& keys = receives.front().key->stream->keys;
  for (std::size_t at = 0; at < keys.size(); ++at) {
    CHECK(keys[at]->place == at);
    CHECK((keys[at]->end.name.tag % 2 == 1) == (at < 7));
  }
}

TEST_CASE("channels: a pinned key opens without persistent receives", "[channels]") {
  World world;
  Receive receive(world.pin(0, 0));
  world.start(receive);
  (void)world.receiver().on_frame({kComm, 0, 0}, 1);
  world.end(receive);
  CHECK(receive.key->clean);
  CHECK(receive.place == Receive::Place::idle);
}

TEST_CASE("channels: the places of names show which names may have a key", "[channels]") {
  World world;
  Receiver& receiver = world.receiver();
  const auto keys_at = [&](std::uint32_t comm, std::int32_t source, std::int32_t tag) {
    return receiver.keys().names()[lfc_channel_place(comm, source, tag)];
  };
  CHECK(keys_at(kComm, 1, 7) == 0);
  std::deque<Receive> receives;
  world.add(receives, 1, 7);
  world.add(receives, 1, 7 + LFC_CHANNEL_PLACES);
  (void)world.pin(1, 8);
  CHECK(keys_at(kComm, 1, 7) == 2);
  CHECK(keys_at(kComm, 1, 8) == 1);
  receiver.remove(receives[0]);
  CHECK(keys_at(kComm, 1, 7) == 1);
  receiver.remove(receives[1]);
  CHECK(keys_at(kComm, 1, 7) == 0);
  receiver.forget(kComm);
  CHECK(keys_at(kComm, 1, 8) == 0);
}

TEST_CASE("channels: the last source's stream is not used after its communicator", "[channels]") {
  World world;
  Receiver& receiver = world.receiver();
  CHECK(receiver.on_frame({kComm, 1, 7}, 4) == 4);  // there is no stream yet
  std::array<std::byte, 20> frame{};
  const auto give = [&] { receiver.on_message(99, {kComm, 1, 5}, frame.data(), frame.size()); };
  (void)world.pin(1, 8);
  CHECK(receiver.on_frame({kComm, 1, 7}, 5) == 5);
  give();
  CHECK(receiver.on_frame({kComm, 1, 7}, 6) == 7);
  receiver.forget(kComm);
  CHECK(receiver.on_frame({kComm, 1, 7}, 7) == 7);
  (void)world.pin(1, 8);
  CHECK(receiver.on_frame({kComm, 1, 7}, 8) == 8);
  give();
  CHECK(receiver.on_frame({kComm, 1, 7}, 9) == 10);
}

TEST_CASE("channels: a communicator that is freed inside a call goes after it", "[channels]") {
  World world;
  (void)world.pin(0, 0);
  world.frees = true;
  std::array<std::byte, 20> frame{};
  world.receiver().on_message(99, {kComm, 0, 5}, frame.data(), frame.size());
  CHECK(world.receiver().find(Name{kComm, 0, 0}) == nullptr);
}

}  // namespace lfc::busy_test
