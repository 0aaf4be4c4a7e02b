// Channels over engines that a simulated fabric joins: how they are opened, and which messages are ignored.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "services/channels/channels.hpp"
#include "sim/world.hpp"

namespace lfc::over_engine_test {
namespace {

using channels::Channels;
using channels::Key;
using channels::kMessageHead;
using channels::MatchingPort;
using channels::MessageHead;
using channels::Name;
using channels::NoteFrame;
using channels::NoteKind;
using channels::Outcome;
using channels::Receive;
using channels::Sender;

constexpr std::uint8_t kTag = 46;
constexpr std::uint32_t kComm = 3;
constexpr std::int32_t kMessageTag = 7;
constexpr World::Node kFrom = 0, kTo = 1, kOther = 2;

// Process: a node of the world, with its channels. Its receives match at once below.
class Process final : private MatchingPort {
 public:
  explicit Process(Ni& ni) : on_engine(ni, *this, kTag) {
    ni.set_message_handler(handler_of<&Process::deliver>(this));
  }

  Channels on_engine;
  std::vector<std::string> taken;    // messages that receives took from the channel
  std::vector<std::string> matched;  // messages of the channel that were given below
  int arrived = 0;                   // messages of the tag

 private:
  static void deliver(void* context, const Delivery& delivery) {
    Process& self = *static_cast<Process*>(context);
    if (delivery.tag != kTag) return;
    ++self.arrived;
    std::vector<std::byte> frame(delivery.bytes.begin(), delivery.bytes.end());
    self.on_engine.on_message(delivery.peer, frame.data(), frame.size());
  }
  static std::string text(const std::byte* frame, std::size_t size) {
    return {reinterpret_cast<const char*>(frame) + kMessageHead, size - kMessageHead};
  }
  void post(Receive&) override {}
  Outcome outcome(const Receive&) override { return Outcome::matched; }
  void pass_to_matching(const Name&, std::uint32_t, std::uint16_t, std::byte* frame,
                        std::size_t size) override {
    matched.push_back(text(frame, size));
  }
  bool empty(const Key&) override { return true; }
  void done(Receive&, const std::byte* frame, std::size_t size) override {
    taken.push_back(text(frame, size));
  }
};

// Job: node 0 sends to node 1 on a channel; node 2 is another process.
class Job {
 public:
  explicit Job(std::uint32_t window = 4) : world(3, options(), config(window)) {
    for (World::Node node = 0; node < 3; ++node)
      processes.push_back(std::make_unique<Process>(world.ni(node)));
    sender =
        &from().on_engine.senders().use({{kComm, kTo, kMessageTag}, world.peer(kFrom, kTo), 0});
    receive = Receive(to().on_engine.receiver().key(
        {{kComm, kFrom, kMessageTag}, world.peer(kTo, kFrom), static_cast<std::int32_t>(kTo)}));
    receive.direct = true;
    receive.capacity = 64;
    to().on_engine.receiver().add(receive);
  }
  ~Job() { to().on_engine.receiver().remove(receive); }

  Process& from() { return *processes[kFrom]; }
  Process& to() { return *processes[kTo]; }
  void settle() { REQUIRE(world.settle()); }
  // Receives one message below, after which the receiver offers its channel.
  void receive_below() {
    (void)to().on_engine.receiver().on_frame(receive.key->end.name, ++number_);
    to().on_engine.receiver().start(receive);
  }
  void open() {
    receive_below();
    settle();
    REQUIRE(sender->channel != 0);
  }
  bool send(const std::string& text) {
    return from().on_engine.send(*sender, {text.data(), text.size()});
  }
  // Sends these bytes as a message of this tag.
  void send_raw(World::Node node, World::Node peer, const void* bytes, std::size_t size,
                std::uint8_t tag = kTag) {
    struct Raw : Message {
      std::string bytes;
    };
    auto raw = std::make_unique<Raw>();
    raw->bytes.assign(static_cast<const char*>(bytes), size);
    raw->slices[0] = {raw->bytes.data(), size};
    raw->slice_count = 1;
    raw->tag = tag;
    raw->done = [](Message* self, Result) { delete static_cast<Raw*>(self); };
    world.ni(node).post(world.peer(node, peer), *raw.release());
  }

  World world;
  std::vector<std::unique_ptr<Process>> processes;
  Sender* sender = nullptr;
  Receive receive;

 private:
  static SimOptions options() {
    SimOptions fabric;
    fabric.max_payload = 128;
    fabric.refuse_permille = 0;
    return fabric;
  }
  static Config config(std::uint32_t window) {
    Config engine;
    engine.initial_window = engine.maximum_window = window;
    return engine;
  }
  std::uint16_t number_ = 0;
};

}  // namespace

TEST_CASE("channels: notes open a channel, also if they wait for a connection or a credit",
          "[channels]") {
  Job job(GENERATE(1u, 4u));
  CHECK_FALSE(job.send("no channel is open"));
  job.receive_below();
  // The offer waits, because there is no connection yet.
  CHECK(job.sender->channel == 0);
  job.settle();
  REQUIRE(job.sender->channel != 0);
  CHECK(job.from().on_engine.senders().opened() == 1);

  REQUIRE(job.send("first"));
  job.settle();
  CHECK(job.to().matched == std::vector<std::string>{"first"});  // no receive waits for it
  job.to().on_engine.receiver().start(job.receive);
  REQUIRE(job.receive.place == Receive::Place::on_channel);
  REQUIRE(job.send("second"));
  job.settle();
  CHECK(job.to().taken == std::vector<std::string>{"second"});
}

TEST_CASE("channels: a note that finds no credit is sent when one has returned", "[channels]") {
  Job job(1);
  job.send_raw(kTo, kFrom, "", 0, kTag + 1);  // connects
  job.settle();
  const PeerId peer = job.world.peer(kTo, kFrom);
  const Slice nothing{};
  while (job.world.ni(kTo).try_send(peer, kTag + 1, &nothing, 1)) continue;
  job.receive_below();
  CHECK(job.from().arrived == 0);
  job.settle();
  CHECK(job.sender->channel != 0);
}

TEST_CASE("channels: a wish of a process that is not the sender of the channel opens nothing",
          "[channels]") {
  Job job;
  job.receive_below();
  job.settle();
  const NoteFrame wish{.note = {.kind = NoteKind::wish,
                                .comm = kComm,
                                .sender = kFrom,
                                .receiver = kTo,
                                .tag = kMessageTag,
                                .wish = 1}};
  const int replies = job.from().arrived;
  job.send_raw(kOther, kTo, &wish, sizeof wish);
  job.settle();
  CHECK(job.processes[kOther]->arrived == 0);
  CHECK(job.from().arrived == replies);
  job.send_raw(kFrom, kTo, &wish, sizeof wish);
  job.settle();
  CHECK(job.from().arrived == replies + 1);
}

TEST_CASE("channels: messages of a wrong size, and of channels that no key has, are ignored",
          "[channels]") {
  Job job;
  job.open();
  std::vector<std::byte> frame(sizeof(NoteFrame) + 8);
  for (std::size_t size = 0; size <= frame.size(); ++size)
    job.send_raw(kOther, kTo, frame.data(), size);  // the number of no channel
  const MessageHead head{12345, kFrom, kMessageTag, kComm + 1};
  std::memcpy(frame.data(), &head, kMessageHead);
  for (std::size_t size = 0; size <= frame.size(); ++size)
    job.send_raw(kOther, kTo, frame.data(), size);
  job.settle();
  CHECK(job.to().matched.empty());
  CHECK(job.to().taken.empty());
  CHECK(job.processes[kOther]->arrived == 0);
}

TEST_CASE("channels: nothing is sent on channels after stop()", "[channels]") {
  Job job;
  job.open();
  job.from().on_engine.stop();
  CHECK_FALSE(job.send("too late"));
  job.settle();
  CHECK(job.to().matched.empty());
}

TEST_CASE("channels: a link whose frames arrive later than its sends return can have none",
          "[channels]") {
  Job job;
  CHECK_FALSE(job.from().on_engine.reaches(job.world.peer(kFrom, kTo)));
  CHECK_FALSE(job.from().on_engine.reaches(kNoPeer));
}

}  // namespace lfc::over_engine_test
