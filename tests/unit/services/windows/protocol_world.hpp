// A window of several members without an NI: their protocols, and carriers that keep each frame until the test
// delivers it. Frames of a pair may overtake each other as they may over several rails.
//
//   rma::ProtocolWorld world(2);
//   world.at(0).epochs.begin_lock(1, true, false);
//   world.put(0, 1, 3, 42);                           // to word 3 of member 1
//   while (world.deliver(0)) {}                       // the first of those on their way; all answers follow at once
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "services/windows/protocol/protocol.hpp"
#include "services/windows/protocol/reply.hpp"

namespace lfc::rma {

class ProtocolWorld {
 public:
  static constexpr std::size_t kWords = 8;

  // `credits`: how many fragments may be on their way from a member at a time.
  explicit ProtocolWorld(std::uint32_t members, std::size_t credits = 16) : credits_(credits) {
    for (Rank rank = 0; rank < members; ++rank)
      members_.push_back(std::make_unique<Member>(*this, rank, members));
    for (const auto& member : members_) {
      member->protocol.origin.describe(
          false, [](Rank) { return std::uint64_t{kWords * 8}; }, [](Rank) { return 8u; });
      OriginPeer& self = member->protocol.origin.use(member->rank);
      self.mapped = member->protocol.memory.base();
      self.control = &member->control;
      self.reach.mapped = true;
    }
  }

  Protocol& at(Rank rank) { return members_[rank]->protocol; }
  std::uint64_t word(Rank rank, std::size_t place) const { return members_[rank]->words[place]; }
  // A counter of a member's notified access; it has kCounters.
  static constexpr std::size_t kCounters = 2;
  std::uint64_t counter(Rank rank, std::size_t index) const {
    return members_[rank]->counters[index];
  }
  Operations& operations() { return operations_; }

  Issued put(Rank from, Rank to, std::size_t place, std::uint64_t value) {
    kept_.push_back(std::make_unique<std::uint64_t>(value));
    WindowCall call = word_call(WindowCall::Kind::put, to, place);
    call.origin = local(kept_.back().get());
    return issue(from, call);
  }
  Issued add(Rank from, Rank to, std::size_t place, std::uint64_t value) {
    kept_.push_back(std::make_unique<std::uint64_t>(value));
    WindowCall call = word_call(WindowCall::Kind::accumulate, to, place);
    call.what = {Accumulate::sum, Element::u64};
    call.origin = local(kept_.back().get());
    return issue(from, call);
  }
  Issued get(Rank from, Rank to, std::size_t place, std::uint64_t& result) {
    WindowCall call = word_call(WindowCall::Kind::get, to, place);
    call.result = local(&result);
    return issue(from, call);
  }

  std::size_t on_their_way() const { return frames_.size(); }
  // Delivers the frame at that place, and the replies of that pass. False: there is no such frame.
  bool deliver(std::size_t place) {
    if (place >= frames_.size()) return false;
    const Frame frame = std::move(frames_[place]);
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(place));
    Protocol& to = at(frame.to);
    switch (frame.type) {
      case FrameType::service: {
        WindowHead head;
        std::memcpy(&head, frame.bytes.data(), sizeof head);
        const std::span<const std::byte> rest(frame.bytes);
        expect(to.on_head(frame.from, head, rest.subspan(sizeof head)) != Verdict::malformed);
        break;
      }
      case FrameType::service_ack: {
        WindowAck ack;
        std::memcpy(&ack, frame.bytes.data(), sizeof ack);
        if (ack.kind == static_cast<std::uint8_t>(AckKind::result)) {
          WindowOp* const op = operations_.find(ack.reply, frame.from);
          expect(op != nullptr && op->owner == &to.origin);
          expect(op->owner->on_result(*op, ack, status_of(ack)) == Verdict::release);
        } else {
          to.origin.on_counted(to.origin.use(frame.from), ack, status_of(ack));
        }
        break;
      }
      default: {
        WindowReply reply;
        std::memcpy(&reply, frame.bytes.data(), sizeof reply);
        WindowOp* const op = operations_.find(reply.reply, frame.from);
        expect(op != nullptr && op->owner == &to.origin);
        const std::span<const std::byte> rest(frame.bytes);
        expect(op->owner->on_reply(*op, reply, rest.subspan(sizeof reply)) == Verdict::release);
      }
    }
    if (frame.credit) give_credit(frame.from);
    for (const auto& member : members_)
      if (std::exchange(member->awake, false)) member->protocol.target.work();
    return true;
  }

  // As REQUIRE, a thousand times cheaper while all is well.
  static void expect(bool well) {
    if (!well) FAIL("a member has broken the protocol");
  }

 private:
  struct Frame {
    Rank from, to;
    FrameType type;
    std::vector<std::byte> bytes;
    bool credit;  // gives one back when it is dealt with
  };

  struct Member final : Carrier {
    Member(ProtocolWorld& world_, Rank rank_, std::uint32_t members)
        : world(world_),
          rank(rank_),
          protocol(rank, members, Flavor::create, reinterpret_cast<std::byte*>(words.data()),
                   sizeof words, &control, world_.operations_, *this) {}

    PeerId peer_of(Rank to) const noexcept override { return to; }
    std::size_t frame_bytes() const noexcept override { return 256; }
    bool send(Rank to, WindowHead head, std::span<const Run> runs,
              std::span<const std::byte> data) override {
      head.rank = rank;
      Frame frame{rank, to, FrameType::service, {}, true};
      append(frame.bytes, &head, sizeof head);
      append(frame.bytes, runs.data(), runs.size_bytes());
      append(frame.bytes, data.data(), data.size());
      if (used < world.credits_) {
        ++used;
        world.frames_.push_back(std::move(frame));
        return true;
      }
      waiting.push_back(std::move(frame));
      return false;
    }
    void transfer(const WindowCall&) override { FAIL("no link reaches the memory"); }
    void signal(Rank to, WindowHead head) override {
      head.rank = rank;
      post(to, FrameType::service, &head, sizeof head);
    }
    void acknowledge(Rank to, WindowAck ack) override {
      post(to, FrameType::service_ack, &ack, sizeof ack);
    }
    void reply(Rank to, const WindowHead& head, std::span<const Run> runs,
               std::vector<std::byte> values) override {
      Reply reply;
      reply.begin(head, runs, std::move(values));
      while (!reply.all_sent()) {
        std::vector<std::byte> room(reply.next_size(frame_bytes()));
        std::span<std::byte> bytes = room;
        const WindowReply part = reply.next_frame(&protocol.memory, bytes);
        std::vector<std::byte> frame;
        append(frame, &part, sizeof part);
        append(frame, bytes.data(), bytes.size());
        post(to, FrameType::service_data, frame.data(), frame.size());
      }
    }
    void wake() override { awake = true; }
    bool notify(std::uint64_t counter, std::uint64_t by) override {
      if (counter >= counters.size()) return false;
      counters[counter] += by;
      return true;
    }
    void post(Rank to, FrameType type, const void* bytes, std::size_t size) {
      Frame frame{rank, to, type, {}, false};
      append(frame.bytes, bytes, size);
      world.frames_.push_back(std::move(frame));
    }
    static void append(std::vector<std::byte>& to, const void* bytes, std::size_t size) {
      const auto* from = static_cast<const std::byte*>(bytes);
      if (size != 0) to.insert(to.end(), from, from + size);
    }

    ProtocolWorld& world;
    const Rank rank;
    std::array<std::uint64_t, kWords> words{};
    std::array<std::uint64_t, kCounters> counters{};
    WindowControl control;
    bool awake = false;
    std::size_t used = 0;  // credits
    std::vector<Frame> waiting;
    Protocol protocol;
  };

  void give_credit(Rank from) {
    Member& member = *members_[from];
    --member.used;
    if (member.waiting.empty()) return;
    ++member.used;
    Frame frame = std::move(member.waiting.front());
    member.waiting.erase(member.waiting.begin());
    const Rank to = frame.to;
    frames_.push_back(std::move(frame));
    member.protocol.origin.carried(to, true);
  }
  static View local(std::uint64_t* word) {
    static const Run run{0, 8, 0, 1};
    return {reinterpret_cast<std::byte*>(word), 0, {&run, 1}, 8, 1, 8};
  }
  static WindowCall word_call(WindowCall::Kind kind, Rank to, std::size_t place) {
    WindowCall call;
    call.kind = kind;
    call.target = to;
    call.there = local(nullptr);
    call.there.offset = static_cast<std::int64_t>(8 * place);
    call.bytes = 8;
    return call;
  }
  Issued issue(Rank from, const WindowCall& call) {
    expect(at(from).origin.check(call) == WindowStatus::ok);
    // All calls are plain, so every other one takes the short path if it can.
    plain_ = !plain_;
    const auto there = static_cast<std::uint64_t>(call.there.offset);
    if (plain_ && at(from).origin.issue_plain({call.kind, call.what, call.target, call.origin.base,
                                               call.result.base, there, call.bytes}))
      return {WindowStatus::ok, Way::frames};
    return at(from).origin.issue(call);
  }

  const std::size_t credits_;
  bool plain_ = false;
  Operations operations_;
  std::vector<Frame> frames_;
  std::vector<std::unique_ptr<std::uint64_t>> kept_;  // operands
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace lfc::rma
