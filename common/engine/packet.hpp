// Packet: a frame of a service, with one owner at a time: first the service that fills it, then the engine while the
// frame waits for a credit. Sending one neither copies its bytes nor needs a callback.
//
//   Packet packet = packets.make(ServiceId::test, 64);            // with memory for a body of 64 bytes
//   packet.set_head(&header, sizeof header);
//   std::memcpy(packet.body(), data, 64);
//   packets.send(peer, std::move(packet));                        // now, or when there is a credit
//
//   Packet other = packets.make(ServiceId::test);                 // with a body that stays the sender's
//   other.lend({data, size});                                     // until Service::on_left()
//   if (!packets.send(peer, std::move(other), note)) wait_for(note);
//
// A packet has a head of at most kHead bytes, and a body: memory of a pool, which several packets may share
// (base/shared_bytes.hpp), or memory that the sender lends.
// Tests: tests/unit/engine/service_test.cpp. Threads: under the NI's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "base/shared_bytes.hpp"
#include "engine/waiting.hpp"
#include "link/link.hpp"
#include "wire/frame.hpp"

namespace lfc {

class PacketPool;

// WaitingPacket: the packet as an item of a queue of the engine.
struct WaitingPacket : WaitingFrame {
  static constexpr std::size_t kHead = 96;

  explicit WaitingPacket(PacketPool& pool_) noexcept : WaitingFrame(Kind::packet), pool(pool_) {}
  int slices(std::array<Slice, 2>& out) const noexcept {
    out = {{{head.data(), head_size}, body}};
    return body.size == 0 ? 1 : 2;
  }

  PacketPool& pool;
  SharedBytes owned;  // the body, unless it is lent
  Slice body{};
  std::uint8_t head_size = 0;
  Result result = Result::ok;
  PeerId peer = kNoPeer;
  std::uint32_t place = 0;  // of the pool
  std::uint64_t note = 0;   // the sender's, for Service::on_left(); 0: it need not know
  alignas(std::uint64_t) std::array<std::byte, kHead> head;
};

class Packet {
 public:
  static constexpr std::size_t kHead = WaitingPacket::kHead;

  // For the engine: an item that it owns.
  explicit Packet(WaitingPacket* item) noexcept : item_(item) {}
  Packet(Packet&& other) noexcept : item_(other.release()) {}
  Packet& operator=(Packet&& other) noexcept {
    std::swap(item_, other.item_);
    return *this;
  }
  ~Packet();

  // `size`: at most kHead.
  void set_head(const void* head, std::size_t size) noexcept {
    std::memcpy(item_->head.data(), head, size);
    item_->head_size = static_cast<std::uint8_t>(size);
  }
  // The memory of a body that is not shared.
  std::byte* body() noexcept { return item_->owned.writable(); }
  std::size_t body_size() const noexcept { return item_->body.size; }
  // Makes the body shorter.
  void shorten(std::size_t size) noexcept { item_->body.size = size; }
  // Both only for a packet without a body.
  void share(SharedBytes bytes) noexcept {
    item_->owned = std::move(bytes);
    item_->body = {item_->owned.data(), item_->owned.size()};
  }
  void lend(Slice bytes) noexcept { item_->body = bytes; }

  const WaitingPacket& item() const noexcept { return *item_; }
  // For the engine: the item, which its caller owns from then on.
  WaitingPacket* release() noexcept { return std::exchange(item_, nullptr); }

 private:
  WaitingPacket* item_;
};

// PacketPool: all packets of an NI. Those that still wait at its end are never sent.
class PacketPool {
 public:
  PacketPool() = default;
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  // Returns a packet with memory for a body of `body` bytes. Throws std::bad_alloc.
  Packet take(FrameType type, std::uint8_t tag, std::size_t body);
  // Ends a packet that has waited and left, or never will. With a note: take_left() returns it. False: it has none.
  bool end(WaitingPacket& item, Result result) noexcept;
  WaitingQueue take_left() noexcept { return std::exchange(left_, {}); }
  template <class Chosen>
  void drop_left(Chosen chosen) noexcept {
    for (WaitingQueue left = take_left(); Waiting* item = left.pop();) {
      Packet packet(static_cast<WaitingPacket*>(item));
      if (!chosen(packet.item())) left_.push(*packet.release());
    }
  }
  BytesPool& bytes() noexcept { return bytes_; }
  // Bytes of all bodies, in use or spare.
  std::size_t memory() const noexcept { return bytes_.memory(); }
  // Returns the number of packets that have an owner.
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  friend class Packet;
  static constexpr std::size_t kSpares = 256;

  void give_back(WaitingPacket& item) noexcept;

  BytesPool bytes_{limits::kPacketSpares};
  std::vector<std::unique_ptr<WaitingPacket>> all_;  // first those in use, then spares
  std::size_t in_use_ = 0;
  WaitingQueue left_;  // packets of which a service wants to know
};

inline Packet::~Packet() {
  if (item_ != nullptr) item_->pool.give_back(*item_);
}

}  // namespace lfc
