// Some ranks with NEON in one process. The carrier delays, reorders and refuses frames; one seed determines
// everything.
//
//   World world(2, {.seed = 7, .reorder = true, .refuse = 0.2});
//   world[0].neon.target().announce(buffer);
//   world.run();                               // until no frame is under way
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "services/neon/protocol/neon.hpp"

namespace lfc::neon {

struct Fabric {
  std::uint64_t seed = 1;
  bool reorder = false;     // else in order between two ranks
  double refuse = 0;        // how often the carrier has no room
  bool writes = false;      // it can write straight into announced memory
  std::size_t entries = 0;  // of each rank for announced buffers; 0: windows are not mapped
  Limits limits{};
};

class World {
 public:
  class Node final : public Carrier {
    World& world_;
    Rank rank_;

   public:
    Node(World& world, Rank rank)
        : world_(world),
          rank_(rank),
          neon(static_cast<std::uint32_t>(world.size_), world.fabric.limits, *this) {}

    bool send(Rank to, const Header& header, std::span<const std::byte> list,
              std::span<const std::byte> data) override {
      ++offered[static_cast<std::size_t>(header.kind)];
      if (world_.chance(world_.fabric.refuse) || world_.blocked) return false;
      std::vector<std::byte> bytes(list.begin(), list.end());
      bytes.insert(bytes.end(), data.begin(), data.end());
      world_.frames.push_back({rank_, to, header, std::move(bytes)});
      ++sent[static_cast<std::size_t>(header.kind)];
      return true;
    }
    bool has_room(Rank) override { return !world_.blocked; }
    bool can_write(Rank) const override { return world_.fabric.writes; }
    Token expose(const Announcement& buffer) override {
      Token token;
      token.size = sizeof buffer.address;
      std::memcpy(token.bytes, &buffer.address, sizeof buffer.address);
      return token;
    }
    bool write(Rank, const Token& token, std::uint64_t offset, Operation& op) override {
      if (world_.chance(world_.fabric.refuse)) return false;
      std::uintptr_t address = 0;  // an empty token: `offset` is an address
      std::memcpy(&address, token.bytes, sizeof address);
      world_.writes.push_back({rank_, reinterpret_cast<std::byte*>(address + offset), &op});
      return true;
    }
    MappedEntry* own_entry(Rank origin, std::uint32_t tag) override {
      return table.empty() || !world_[origin].maps ? nullptr : entries().make(origin, tag);
    }
    MappedEntry* entry_of(Rank target, std::uint32_t tag) override {
      return table.empty() || !maps ? nullptr : world_[target].entries().find(rank_, tag);
    }
    // The place of a buffer is its address.
    std::byte* mapped(Rank target, std::uint64_t place, std::uint64_t within,
                      std::uint64_t size) override {
      if (table.empty() || !maps || size > world_[target].largest) return nullptr;
      return place == 0 ? memory.data() : reinterpret_cast<std::byte*>(place + within);
    }
    MappedEntries entries() { return {reinterpret_cast<std::byte*>(table.data()), table.size()}; }
    std::byte* window(std::uint64_t displacement, std::uint64_t within,
                      std::uint64_t size) override {
      if (on_window) on_window();
      if (!table.empty()) return reinterpret_cast<std::byte*>(displacement + within);
      const std::uint64_t begin = displacement + within;
      return begin <= memory.size() && size <= memory.size() - begin ? memory.data() + begin
                                                                     : nullptr;
    }
    Slot* slot(std::uint32_t index) override {
      return index < slots.size() ? &slots[index] : nullptr;
    }

    Neon neon;
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 16);
    std::deque<Slot> slots = std::deque<Slot>(8);
    std::vector<MappedEntry> table = std::vector<MappedEntry>(world_.fabric.entries);
    bool maps = true;                           // if there are entries
    std::uint64_t largest = ~std::uint64_t{0};  // more bytes of this rank's window are not in it
    std::uint64_t sent[16] = {};
    std::uint64_t offered[16] = {};   // frames that were built, sent or refused
    std::function<void()> on_window;  // called before a place in the window is named
  };

  struct Frame {
    Rank from, to;
    Header header;
    std::vector<std::byte> bytes;
  };
  struct Write {
    Rank from;
    std::byte* to;
    Operation* op;
  };

  World(std::size_t ranks, const Fabric& of) : fabric(of), size_(ranks), random_(of.seed) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      nodes_.push_back(std::make_unique<Node>(*this, static_cast<Rank>(rank)));
  }
  Node& operator[](std::size_t rank) { return *nodes_[rank]; }
  std::size_t size() const { return size_; }

  bool chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  // Delivers one frame or write, if any is under way. False: a peer violated the protocol.
  bool step() {
    const std::size_t all = frames.size() + writes.size();
    if (all == 0) return true;
    std::size_t which = below(all);
    if (which >= frames.size()) {
      const auto it = writes.begin() + static_cast<std::ptrdiff_t>(which - frames.size());
      const Write write = *it;
      writes.erase(it);
      std::memcpy(write.to, write.op->data, write.op->size);
      nodes_[write.from]->neon.written(*write.op, Status::ok);
      return true;
    }
    if (fabric.reorder) {
      std::swap(frames[which], frames.back());
      which = frames.size() - 1;
    } else {
      for (std::size_t i = 0; i < which; ++i)
        if (frames[i].from == frames[which].from && frames[i].to == frames[which].to) which = i;
    }
    Frame frame = std::move(frames[which]);
    frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(which));
    return nodes_[frame.to]->neon.on_frame(frame.from, frame.header, frame.bytes.data(),
                                           frame.bytes.size());
  }
  // Runs until nothing is under way. False: as step().
  bool run() {
    for (bool more = true; more;) {
      more = false;
      while (!frames.empty() || !writes.empty())
        if (!step()) return false;
      for (auto& node : nodes_) more = node->neon.pump() || more;
      for (auto& node : nodes_) more = node->neon.target().look() > 0 || more;
      more = more || !frames.empty() || !writes.empty();
    }
    return true;
  }

  Fabric fabric;
  bool blocked = false;  // no room at all
  std::deque<Frame> frames;
  std::deque<Write> writes;

 private:
  const std::size_t size_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// An operation that records its result.
struct Op : Operation {
  Op() {
    done = [](Operation* self, Status how) {
      static_cast<Op*>(self)->result = how;
      ++static_cast<Op*>(self)->times;
    };
  }
  Status result = Status::ok;
  int times = 0;
  std::vector<std::byte> kept;  // the bytes that it puts, if the caller does not keep them
};

// An announcement with its memory, which records its result.
struct Buffer : Announcement {
  Buffer(std::size_t bytes, std::vector<Rank> from, std::uint32_t name) : memory(bytes) {
    address = memory.data();
    size = bytes;
    origins = std::move(from);
    tag = name;
    done = [](Announcement* self, Status how) {
      static_cast<Buffer*>(self)->result = how;
      ++static_cast<Buffer*>(self)->times;
    };
  }
  std::vector<std::byte> memory;
  Status result = Status::ok;
  int times = 0;
};

inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t key) {
  std::vector<std::byte> bytes(size);
  std::mt19937_64 random(key);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

// How many frames of this kind a node has sent.
inline std::uint64_t sent(World::Node& node, Kind kind) {
  return node.sent[static_cast<std::size_t>(kind)];
}

inline Status put(World& world, Op& op, Rank from, Rank to, std::uint32_t tag, std::uint64_t offset,
                  const std::vector<std::byte>& data, bool final = true, bool strong = false) {
  return world[from].neon.origin().put(op, to, tag, offset, data.data(), data.size(), final,
                                       strong);
}
// The operation keeps the bytes, because an origin reads them until the put is complete.
inline Status put(World& world, Op& op, Rank from, Rank to, std::uint32_t tag, std::uint64_t offset,
                  std::vector<std::byte>&& data, bool final = true, bool strong = false) {
  op.kept = std::move(data);
  return put(world, op, from, to, tag, offset, std::as_const(op.kept), final, strong);
}
// By rank 1 to rank 0.
inline Status put_notify(World& world, Op& op, std::uint64_t displacement, const std::byte* data,
                         std::uint64_t size, std::span<const Run> runs, std::uint32_t index,
                         bool strong = false) {
  return world[1].neon.origin().put_notify(op, 0, displacement, data, size, runs, index, strong);
}
inline Status notify(World& world, Op& op, Rank from, Rank to, std::uint32_t tag) {
  return put(world, op, from, to, tag, 0, std::vector<std::byte>());
}

}  // namespace lfc::neon
