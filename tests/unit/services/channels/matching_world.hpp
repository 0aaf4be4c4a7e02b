// World: a Receiver with its requests and the matching below, compared with matching as MPI defines it.
//
//   World world;
//   run(world, "10");                                      // two of kSteps: start A, a message on its channel
//   CHECK(world.right());
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/channels/protocol/receiver.hpp"

namespace channels_test {

using lfc::channels::kAny;
using lfc::channels::Key;
using lfc::channels::MatchingPort;
using lfc::channels::Name;
using lfc::channels::Note;
using lfc::channels::NoteKind;
using lfc::channels::Notes;
using lfc::channels::Outcome;
using lfc::channels::Receive;
using lfc::channels::Receiver;

constexpr std::uint32_t kComm = 3;
constexpr std::int32_t kSource = 1, kSelf = 0;
constexpr std::uint32_t kPeer = 5;
constexpr std::size_t kHead = 14;

// The requests of the receiver: persistent ones, and other receives.
enum Who : int { kA, kB, kC, kLong, kOwn };  // A, B and Long are of tag 0, C of tag 1

struct Posted {
  int who;
  std::int32_t tag;
};
struct Sent {
  int number;
  std::int32_t tag;
};

// Matching as MPI defines it: receives in the order of posting, messages in the order of arrival.
class Matching {
 public:
  // The request that gets this message.
  std::optional<int> arrive(const Sent& message) {
    for (auto at = posted_.begin(); at != posted_.end(); ++at)
      if (at->tag == kAny || at->tag == message.tag) {
        const int who = at->who;
        posted_.erase(at);
        return who;
      }
    unexpected_.push_back(message);
    return std::nullopt;
  }
  // The message that this receive gets.
  std::optional<Sent> post(const Posted& receive) {
    if (std::optional<Sent> found = take(receive.tag)) return found;
    posted_.push_back(receive);
    return std::nullopt;
  }
  std::optional<Sent> take(std::int32_t tag) {
    for (auto at = unexpected_.begin(); at != unexpected_.end(); ++at)
      if (tag == kAny || at->tag == tag) {
        const Sent found = *at;
        unexpected_.erase(at);
        return found;
      }
    return std::nullopt;
  }
  bool cancel(int who) {
    for (auto at = posted_.begin(); at != posted_.end(); ++at)
      if (at->who == who) {
        posted_.erase(at);
        return true;
      }
    return false;
  }
  // The receives of this request are from now on those of another one.
  void rename(int from, int to) {
    for (Posted& each : posted_)
      if (each.who == from) each.who = to;
  }
  bool waits(std::int32_t tag) const {
    for (const Sent& each : unexpected_)
      if (each.tag == tag) return true;
    return false;
  }

 private:
  std::deque<Posted> posted_;
  std::deque<Sent> unexpected_;
};

// World: the steps of a sequence, and the request that got each message.
class World final : private MatchingPort, private Notes {
 public:
  std::vector<int> got;       // by message: its request; -1: none
  std::vector<int> expected;  // likewise, as MPI says
  bool numbers_right = true;
  std::uint64_t offers = 0, closes = 0;

  World() {
    for (const int who : {kA, kB, kC, kLong}) make(who);
    pinned_ = &receiver_.pin({{kComm, kSource, 0}, kPeer, kSelf});
    first_id_ = receiver_.find(Name{kComm, kSource, 0})->id;
  }
  Receiver& receiver() { return receiver_; }

  void make(int who) {
    auto& receive = receives_[static_cast<std::size_t>(who)];
    if (receive) return;
    receive.emplace(receiver_.key({{kComm, kSource, tag_of(who)}, kPeer, kSelf}));
    receive->direct = who != kLong;
    receive->capacity = 100;
    receiver_.add(*receive);
  }
  // An active receive still gets its message.
  void free(int who) {
    const auto at = static_cast<std::size_t>(who);
    if (!receives_[at]) return;
    receiver_.yield(*receives_[at]);
    receiver_.remove(*receives_[at]);
    receives_[at].reset();
    const int freed = kOwn + others_++;
    truth_.rename(who, freed);
    below_.rename(who, freed);
    active_[at] = false;
  }

  void send(std::int32_t tag, bool on_channel, std::size_t size = 8) {
    const int message = static_cast<int>(got.size());
    got.push_back(-1);
    expected.push_back(-1);
    if (const auto who = truth_.arrive({message, tag})) matched(expected, message, *who);
    if (on_channel) {
      std::vector<std::byte> frame(kHead + size);
      std::memcpy(frame.data() + kHead, &message, sizeof message);
      const Name name{kComm, kSource, tag};
      const Key* const key = receiver_.find(name);  // a sender may know only a key that is gone
      receiver_.on_message(key == nullptr ? first_id_ : key->id, name, frame.data(), frame.size());
    } else {
      deliver(receiver_.on_frame({kComm, kSource, tag}, ++sent_), {message, tag});
    }
  }
  void start(int who) {
    if (active_[static_cast<std::size_t>(who)] || !receives_[static_cast<std::size_t>(who)]) return;
    active_[static_cast<std::size_t>(who)] = true;
    if (const auto message = truth_.post({who, tag_of(who)}))
      matched(expected, message->number, who);
    receiver_.start(*receives_[static_cast<std::size_t>(who)]);
  }
  // An ordinary receive of tag 0.
  void start_ordinary() {
    const int who = kOwn + others_++;
    if (const auto message = truth_.post({who, 0})) matched(expected, message->number, who);
    Ordinary& made = *ordinary_.emplace_back(std::make_unique<Ordinary>());
    made.who = who;
    made.receive.key = pinned_;
    made.receive.direct = true;
    made.receive.capacity = 100;
    receiver_.start(made.receive);
  }
  void cancel_ordinary() {
    if (ordinary_.empty()) return;
    Ordinary& last = *ordinary_.back();
    (void)truth_.cancel(last.who);
    receiver_.yield(last.receive);
    if (!below_.cancel(last.who)) return;
    last.state = Outcome::cancelled;
    receiver_.ended(last.receive);
  }
  void other(std::int32_t source, std::int32_t tag) {
    const int who = kOwn + others_++;
    if (const auto message = truth_.post({who, tag})) matched(expected, message->number, who);
    receiver_.before_other_receive(kComm, source, tag);
    if (const auto message = below_.post({who, tag})) matched(got, message->number, who);
  }
  void cancel(int who) {
    const auto at = static_cast<std::size_t>(who);
    if (!active_[at]) return;
    if (truth_.cancel(who)) active_[at] = false;
    receiver_.yield(*receives_[at]);
    if (below_.cancel(who)) states_[at] = Outcome::cancelled;
  }
  void take_by_probe() {
    if (const auto message = truth_.take(kAny)) matched(expected, message->number, -2);
    receiver_.before_probe(kComm, kAny, kAny);
    if (const auto message = below_.take(kAny)) matched(got, message->number, -2);
  }
  // The message arrives while the next step makes progress, or else after it.
  void send_meanwhile(std::int32_t tag) { meanwhile_ = tag; }
  void come() {
    if (meanwhile_ < 0) return;
    const std::int32_t tag = meanwhile_;
    meanwhile_ = kAny;
    send(tag, true);
  }
  bool right() const { return numbers_right && got == expected; }

 private:
  struct Ordinary {
    Receive receive;
    int who = 0;
    Outcome state = Outcome::pending;
  };

  static std::int32_t tag_of(int who) { return who == kC ? 1 : 0; }
  Ordinary* ordinary_of(int who) const {
    for (const auto& each : ordinary_)
      if (each->who == who) return each.get();
    return nullptr;
  }

  void matched(std::vector<int>& list, int message, int who) {
    list[static_cast<std::size_t>(message)] = who;
    if (who >= kOwn && &list == &got) ended(who);
    if (who < 0 || who >= kOwn) return;
    if (&list == &expected)
      active_[static_cast<std::size_t>(who)] = false;
    else
      states_[static_cast<std::size_t>(who)] = Outcome::matched;
  }
  void ended(int who) {
    Ordinary* const ordinary = ordinary_of(who);
    if (ordinary == nullptr || ordinary->receive.place != Receive::Place::posted) return;
    ordinary->state = Outcome::matched;
    receiver_.ended(ordinary->receive);
  }
  void deliver(std::uint16_t number, const Sent& message) {
    if (number != ++numbered_) numbers_right = false;
    if (const auto who = below_.arrive(message)) matched(got, message.number, *who);
  }
  int who_of(const Receive& receive) const {
    for (std::size_t who = 0; who < kOwn; ++who)
      if (receives_[who] && &*receives_[who] == &receive) return static_cast<int>(who);
    for (const auto& each : ordinary_)
      if (&each->receive == &receive) return each->who;
    return -1;
  }

  void post(Receive& receive) override {
    const int who = who_of(receive);
    if (who < kOwn) states_[static_cast<std::size_t>(who)] = Outcome::pending;
    if (const auto message = below_.post({who, tag_of(who)})) matched(got, message->number, who);
  }
  Outcome outcome(const Receive& receive) override {
    const int who = who_of(receive);
    return who < kOwn ? states_[static_cast<std::size_t>(who)] : ordinary_of(who)->state;
  }
  void pass_to_matching(const Name& name, std::uint32_t peer, std::uint16_t number,
                        std::byte* frame, std::size_t) override {
    if (peer != kPeer) numbers_right = false;
    int message = 0;
    std::memcpy(&message, frame + kHead, sizeof message);
    deliver(number, {message, name.tag});
  }
  bool empty(const Key& key) override {
    const bool is_empty = !below_.waits(key.end.name.tag);
    come();  // it makes progress
    return is_empty;
  }
  void done(Receive& receive, const std::byte* frame, std::size_t) override {
    int message = 0;
    std::memcpy(&message, frame + kHead, sizeof message);
    matched(got, message, who_of(receive));
  }
  void send(std::uint32_t, const Note& note) override {
    ++(note.kind == NoteKind::close ? closes : offers);
  }

  Receiver receiver_{*this, *this, kHead};
  Key* pinned_ = nullptr;
  std::vector<std::unique_ptr<Ordinary>> ordinary_;
  std::array<std::optional<Receive>, kOwn> receives_;
  std::array<bool, kOwn> active_{};
  std::array<Outcome, kOwn> states_{Outcome::cancelled, Outcome::cancelled, Outcome::cancelled,
                                    Outcome::cancelled};
  Matching truth_, below_;
  std::uint16_t sent_ = 0, numbered_ = 0;
  int others_ = 0;
  std::int32_t meanwhile_ = kAny;
  std::uint32_t first_id_ = 0;
};

using Step = void (*)(World&);
inline constexpr std::array<Step, 18> kSteps{
    [](World& world) { world.send(0, true); },     [](World& world) { world.start(kA); },
    [](World& world) { world.start(kB); },         [](World& world) { world.send(0, false); },
    [](World& world) { world.start(kC); },         [](World& world) { world.send(1, true); },
    [](World& world) { world.other(kSource, 0); }, [](World& world) { world.other(kAny, kAny); },
    [](World& world) { world.cancel(kA); },        [](World& world) { world.send(0, true, 101); },
    [](World& world) { world.start(kLong); },      [](World& world) { world.take_by_probe(); },
    [](World& world) { world.send_meanwhile(0); }, [](World& world) { world.send(2, false); },
    [](World& world) { world.free(kC); },          [](World& world) { world.make(kC); },
    [](World& world) { world.start_ordinary(); },  [](World& world) { world.cancel_ordinary(); },
};

// The histories: none; channels in use; channels in use, with messages not received.
inline constexpr std::array<std::string_view, 3> kBefore{"", "14051405", "1405140505"};

inline void run(World& world, std::string_view steps) {
  for (const char step : steps) {
    const std::size_t which = step <= '9' ? static_cast<std::size_t>(step - '0')
                                          : static_cast<std::size_t>(step - 'a') + 10;
    kSteps.at(which)(world);
  }
}

}  // namespace channels_test
