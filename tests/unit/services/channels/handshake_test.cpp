// How channels are opened, while communicators come and go and their numbers are used again. Process 0 sends to 1 on
// communicators of both, and to 2 on communicators of these two. In both kinds the ranks and the tag are the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "services/channels/protocol/receiver.hpp"
#include "services/channels/protocol/senders.hpp"

namespace lfc::handshake_test {
namespace {

using lfc::channels::End;
using lfc::channels::Key;
using lfc::channels::MatchingPort;
using lfc::channels::Name;
using lfc::channels::Note;
using lfc::channels::NoteKind;
using lfc::channels::Notes;
using lfc::channels::Outcome;
using lfc::channels::Receive;
using lfc::channels::Receiver;
using lfc::channels::Sender;
using lfc::channels::Senders;

constexpr std::size_t kProcesses = 3, kNumbers = 3;
constexpr std::int32_t kTag = 7;
constexpr std::size_t kHead = 14;

// A frame under way. `comm`: the communicator that its sender calls by the number in it.
struct Packet {
  Note note;
  int comm;
};

// Process: all of its receives match at once below.
class Process final : private MatchingPort, private Notes {
 public:
  // A communicator that the process has.
  struct Comm {
    int which = 0;  // 0: none
    std::size_t other = 0;
    Sender* sender = nullptr;
    std::unique_ptr<Receive> receive;
    std::uint16_t messages = 0;
  };

  std::array<Comm, kNumbers> comms;
  std::array<std::deque<Packet>, kProcesses> out;  // by the peer to which they go
  bool right = true;
  int opened = 0;

  void free(std::size_t number) {
    Comm& comm = comms[number];
    leave(comm);
    if (comm.receive != nullptr) receiver_.remove(*comm.receive);
    receiver_.forget(static_cast<std::uint32_t>(number));
    comm = Comm{};
  }
  void use_send(std::size_t number) {
    Comm& comm = comms[number];
    if (comm.sender == nullptr) comm.sender = &senders_.use(end_of(number));
  }
  void leave(Comm& comm) {
    if (comm.sender != nullptr) senders_.leave(*comm.sender);
    comm.sender = nullptr;
  }
  // Receives one message the usual way, and then offers.
  void receive(std::size_t number) {
    Comm& comm = comms[number];
    if (comm.receive == nullptr) {
      comm.receive = std::make_unique<Receive>(receiver_.key(end_of(number)));
      comm.receive->direct = true;
      receiver_.add(*comm.receive);
    }
    (void)receiver_.on_frame(end_of(number).name, ++comm.messages);
    comm.receive->key->next_offer = 0;
    receiver_.start(*comm.receive);
  }
  void take(std::size_t from, const Packet& packet) {
    const Note& note = packet.note;
    if (note.kind == NoteKind::wish) {
      receiver_.on_wish(static_cast<std::uint32_t>(from), note);
      return;
    }
    Comm& comm = comms[note.comm];
    const bool was_open = comm.sender != nullptr && comm.sender->channel != 0;
    senders_.on_note(static_cast<std::uint32_t>(from), note);
    if (comm.sender == nullptr || comm.sender->channel == 0 || was_open) return;
    ++opened;
    if (senders_.opened() != static_cast<std::uint64_t>(opened)) right = false;
    // Messages on this channel must reach the receiver of this communicator.
    if (packet.comm != comm.which || from != comm.other) right = false;
  }

 private:
  End end_of(std::size_t number) const {
    const Comm& comm = comms[number];
    const auto peer = static_cast<std::uint32_t>(comm.other);
    return peer == 0 ? End{{static_cast<std::uint32_t>(number), 0, kTag}, peer, 1}
                     : End{{static_cast<std::uint32_t>(number), 1, kTag}, peer, 0};
  }
  void send(std::uint32_t peer, const Note& note) override {
    out.at(peer).push_back({note, comms[note.comm].which});
  }
  void post(Receive&) override {}
  Outcome outcome(const Receive&) override { return Outcome::matched; }
  void pass_to_matching(const Name&, std::uint32_t, std::uint16_t, std::byte*,
                        std::size_t) override {}
  bool empty(const Key&) override { return true; }
  void done(Receive&, const std::byte*, std::size_t) override {}

  Receiver receiver_{*this, *this, kHead};
  Senders senders_{*this};
};

class World {
 public:
  // All members take the lowest number that is free at all of them.
  void create(std::size_t with) {
    for (std::size_t number = 0; number < kNumbers; ++number) {
      if (processes_[0].comms[number].which != 0 || processes_[with].comms[number].which != 0)
        continue;
      ++made_;
      processes_[0].comms[number] = {made_, with, nullptr, nullptr, 0};
      processes_[with].comms[number] = {made_, 0, nullptr, nullptr, 0};
      return;
    }
  }
  void free(std::size_t process, std::size_t other) {
    if (const auto number = newest(process, other, true)) processes_[process].free(*number);
  }
  void use_send(std::size_t other) {
    if (const auto number = newest(0, other)) processes_[0].use_send(*number);
  }
  void leave_send(std::size_t other) {
    if (const auto number = newest(0, other)) processes_[0].leave(processes_[0].comms[*number]);
  }
  void receive(std::size_t process) {
    if (const auto number = newest(process, 0, true)) processes_[process].receive(*number);
  }
  void deliver(std::size_t from, std::size_t to) {
    std::deque<Packet>& way = processes_[from].out[to];
    if (way.empty()) return;
    const Packet packet = way.front();
    way.pop_front();
    processes_[to].take(from, packet);
  }
  bool right() const { return processes_[0].right; }
  int opened() const { return processes_[0].opened; }

 private:
  // The number of the newest communicator of both, or of the oldest.
  std::optional<std::size_t> newest(std::size_t process, std::size_t other, bool oldest = false) {
    std::optional<std::size_t> found;
    const auto& comms = processes_[process].comms;
    for (std::size_t number = 0; number < kNumbers; ++number) {
      if (comms[number].which == 0 || comms[number].other != other) continue;
      if (!found || (comms[number].which > comms[*found].which) != oldest) found = number;
    }
    return found;
  }

  std::array<Process, kProcesses> processes_;
  int made_ = 0;
};

using Step = void (*)(World&);
constexpr std::array<Step, 15> kSteps{
    [](World& world) { world.create(1); },     [](World& world) { world.create(2); },
    [](World& world) { world.free(0, 1); },    [](World& world) { world.free(1, 0); },
    [](World& world) { world.free(0, 2); },    [](World& world) { world.free(2, 0); },
    [](World& world) { world.use_send(1); },   [](World& world) { world.use_send(2); },
    [](World& world) { world.leave_send(1); }, [](World& world) { world.receive(1); },
    [](World& world) { world.receive(2); },    [](World& world) { world.deliver(0, 1); },
    [](World& world) { world.deliver(1, 0); }, [](World& world) { world.deliver(0, 2); },
    [](World& world) { world.deliver(2, 0); },
};

// The histories: none; an offer of a communicator that process 0 has freed, whose number it has used again; the same
// with a channel of that number at the other receiver; a wish under way; an open under way.
constexpr std::array<std::string_view, 5> kBefore{"", "09217", "0921a7", "069c", "069cb"};

void run(World& world, std::string_view steps) {
  for (const char step : steps)
    kSteps.at(step <= '9' ? static_cast<std::size_t>(step - '0')
                          : static_cast<std::size_t>(step - 'a') + 10)(world);
}

void all_courses(int length) {
  std::uint64_t courses = 1;
  for (int i = 0; i < length; ++i) courses *= kSteps.size();
  for (const std::string_view before : kBefore)
    for (std::uint64_t course = 0; course < courses; ++course) {
      World world;
      run(world, before);
      std::uint64_t left = course;
      for (int i = 0; i < length; ++i, left /= kSteps.size()) kSteps[left % kSteps.size()](world);
      if (world.right()) continue;
      FAIL("course " + std::to_string(course) + " after '" + std::string(before) + "'");
      return;
    }
}

}  // namespace

TEST_CASE("channels: a channel opens in three notes", "[channels]") {
  World world;
  run(world, "069cb");
  CHECK(world.opened() == 0);
  run(world, "c");
  CHECK(world.opened() == 1);
  run(world, "9cbc");
  CHECK(world.opened() == 1);
}

TEST_CASE("channels: no short course opens a channel to another communicator", "[channels]") {
  all_courses(4);
}

TEST_CASE("channels: no course of 5 steps opens a channel to another communicator",
          "[channels][exhaustive]") {
  all_courses(5);
}

TEST_CASE("channels: no long course opens a channel to another communicator", "[channels]") {
  std::uint64_t random = 88172645463325252U;
  int opened = 0;
  for (int course = 0; course < 3000; ++course) {
    World world;
    for (int step = 0; step < 100; ++step) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      kSteps[random % kSteps.size()](world);
      INFO("course " + std::to_string(course) + ", step " + std::to_string(step));
      REQUIRE(world.right());
    }
    opened += world.opened();
  }
  CHECK(opened > 50);
}

}  // namespace lfc::handshake_test
