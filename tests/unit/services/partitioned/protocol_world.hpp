// Two protocols of partitioned communication, and the frames between them. The test delivers the frames in any order.
//
//   ProtocolWorld world;
//   Sending& send = world.offer(data, partitions, each);     // side 0 sends, side 1 receives
//   world.deliver(2);                                        // the third of those under way
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "catch.hpp"
#include "services/partitioned/protocol/protocol.hpp"

namespace lfc::partitioned {

class ProtocolWorld {
 public:
  struct Ended {
    Request* request;
    Status status;
    std::uint64_t bytes;
  };

  explicit ProtocolWorld(std::size_t room = 8) : room_(room) {}

  Protocol& side(int which) { return ends_[which].protocol; }
  static Key key(std::int32_t tag = 7) { return {.peer = 5, .comm = 99, .tag = tag}; }

  // If set, data frames refer to the program's memory until free_data().
  void keep_data(bool keep) { keeps_ = keep; }
  std::size_t under_way() const { return frames_.size(); }
  void deliver(std::size_t which) {
    const Frame frame = frames_[which];
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(which));
    REQUIRE(side(frame.to).on_frame(5, frame.bytes));
  }
  void deliver_all() {
    while (!frames_.empty() || woken() || !kept_.empty()) {
      if (!frames_.empty()) deliver(0);
      if (!kept_.empty()) free_data();
      work();
    }
  }
  void free_data() {
    const Kept kept = kept_.front();
    kept_.pop_front();
    std::vector<std::byte> bytes(sizeof kept.head + kept.size);
    std::memcpy(bytes.data(), &kept.head, sizeof kept.head);
    if (kept.size > 0) std::memcpy(bytes.data() + sizeof kept.head, kept.data, kept.size);
    frames_.push_back({1, std::move(bytes)});
    side(0).left(kept.send->name);
  }
  std::size_t kept() const { return kept_.size(); }
  bool woken() const { return ends_[0].woken || ends_[1].woken; }
  void work() {
    for (End& end : ends_) {
      if (!end.woken) continue;
      end.woken = false;
      end.protocol.work();
    }
  }
  // The epochs that have ended since the last call.
  std::vector<Ended> ended() { return std::exchange(ended_, {}); }
  bool lost = false;

 private:
  struct Frame {
    int to;
    std::vector<std::byte> bytes;
  };
  struct Kept {
    Sending* send;
    Head head;
    const void* data;
    std::size_t size;
  };
  struct End : Carrier {
    End(ProtocolWorld& world_, int other_) : world(world_), other(other_) {}
    void control(PeerId, const Head& head, const void* payload, std::size_t size) override {
      std::vector<std::byte> bytes(sizeof head + size);
      std::memcpy(bytes.data(), &head, sizeof head);
      if (size > 0) std::memcpy(bytes.data() + sizeof head, payload, size);
      world.frames_.push_back({other, std::move(bytes)});
    }
    bool data(Sending& of, const Head& head, const void* bytes, std::size_t size) override {
      if (world.keeps_) {
        world.kept_.push_back({&of, head, bytes, size});
        return false;
      }
      control(0, head, bytes, size);
      return true;
    }
    std::size_t room() const override { return world.room_; }
    void wake() override { woken = true; }
    bool is_lost(PeerId) const override { return world.lost; }
    // The token of the receive's memory is its address.
    bool write(Sending& of, const Bytes& piece) override {
      if (++world.writes_ % 3 == 0) return false;
      std::byte* place = nullptr;
      std::memcpy(&place, of.token.data(), sizeof place);
      std::memcpy(place + piece.offset, of.data + piece.offset, piece.length);
      return true;
    }
    void ended(Request& request, Status status, std::uint64_t bytes) override {
      world.ended_.push_back({&request, status, bytes});
    }
    ProtocolWorld& world;
    const int other;
    bool woken = false;
    Protocol protocol{*this, Direct{.total = 4, .run = 3, .token = sizeof(std::byte*)}};
  };

  const std::size_t room_;
  bool keeps_ = false;
  std::deque<Kept> kept_;
  std::deque<Frame> frames_;
  int writes_ = 0;
  std::vector<Ended> ended_;
  End ends_[2]{{*this, 1}, {*this, 0}};
};

}  // namespace lfc::partitioned
