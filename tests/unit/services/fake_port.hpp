// Fake ports for one service: no engine, no link, no time. The test sets which peers have a credit, the abilities of
// links, and the events while the service waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/host_port.hpp"
#include "engine/memory_port.hpp"
#include "engine/service_port.hpp"

namespace lfc {

struct FakePortParts {
  SendLock own_lock{SendLock::Kind::none};
  Identity own_identity{{1, 1}, {}, 4};
  Counters own_counters;
  Outcomes own_outcomes{own_lock};
};

// Packets that wait until the test sends them.
struct FakePackets final : PacketPort {
  FakePackets() : PacketPort(pool) {}
  bool send(PeerId peer, Packet packet, std::uint64_t note) override {
    waiting.push_back({peer, note, std::move(packet)});
    return false;
  }
  void drop(PeerId peer, ServiceId, std::uint64_t note) noexcept override {
    std::erase_if(waiting, [&](const Posted& it) { return it.peer == peer && it.note == note; });
  }
  bool waits(PeerId peer, ServiceId, std::uint64_t note) const noexcept override {
    return std::any_of(waiting.begin(), waiting.end(),
                       [&](const Posted& it) { return it.peer == peer && it.note == note; });
  }
  SharedBytes keep(std::span<const std::byte> payload) override {
    return keeper ? keeper(payload) : pool.bytes().copy(payload);
  }

  struct Posted {
    PeerId peer;
    std::uint64_t note;
    Packet packet;

    FrameType type() const { return packet.item().type; }
    std::vector<std::byte> bytes() const {
      std::array<Slice, 2> slices;
      const int count = packet.item().slices(slices);
      std::vector<std::byte> all;
      for (int i = 0; i < count; ++i) {
        const auto* const from = static_cast<const std::byte*>(slices[i].data);
        if (slices[i].size != 0) all.insert(all.end(), from, from + slices[i].size);
      }
      return all;
    }
  };
  PacketPool pool;
  std::function<SharedBytes(std::span<const std::byte>)> keeper;  // instead of a copy
  std::vector<Posted> waiting;
};

// Peer i is the process {1, i}. A frame to a peer with a credit arrives at once; others wait.
struct FakePort final : FakePortParts, ServicePort {
  explicit FakePort(SendLock::Kind kind = SendLock::Kind::none)
      : FakePortParts{.own_lock = SendLock(kind)},
        ServicePort(own_lock, own_identity, own_counters, own_outcomes) {}

  void attach(ServiceId, Service* it) noexcept override {
    if (it == nullptr && ending) ending();
    service = it;
    if (it == nullptr) made.waiting.clear();
  }
  PeerId find(ProcessName name) const noexcept override { return name.rank; }
  PeerId add(const Address& address, std::string& why_not) override {
    const ProcessName it = address.identity().name;
    added.push_back(it.rank);
    if (it.rank < credit.size()) return it.rank;
    why_not = "there are four";
    return kNoPeer;
  }
  ProcessName name(PeerId peer) const noexcept override { return {1, peer}; }
  bool is_lost(PeerId peer) const noexcept override { return lost[peer]; }
  const LinkTraits& link_traits(PeerId) const noexcept override { return traits; }
  std::size_t max_payload() const noexcept override { return 1024; }
  std::size_t max_payload_of(const Address&) const noexcept override { return 512; }
  bool try_send_rts(PeerId, std::uint8_t, const Slice*, int) noexcept override { return false; }
  bool try_send(PeerId peer, ServiceId, const Slice* slices, int count, bool) noexcept override {
    if (!credit[peer]) return false;
    sent.push_back(peer);
    head = bytes_of(slices, 1);
    frame = bytes_of(slices, count);
    return true;
  }
  void flush(PeerId) noexcept override {}
  PacketPort& packets() noexcept override { return made; }
  bool try_send_data(PeerId, ServiceId, const Slice*, int) noexcept override { return false; }
  void control(PeerId peer, ServiceId, const void*, std::size_t) override { told.push_back(peer); }
  bool has_credit(PeerId peer) const noexcept override { return credit[peer]; }
  void release(PeerId peer) override { released.push_back(peer); }
  void ack(PeerId peer, ServiceId, const void*, std::size_t) override { released.push_back(peer); }
  void wake(ServiceId) noexcept override { awake = true; }

  static std::vector<std::byte> bytes_of(const Slice* slices, int count) {
    std::vector<std::byte> all;
    for (int i = 0; i < count; ++i) {
      const auto* const bytes = static_cast<const std::byte*>(slices[i].data);
      if (slices[i].size != 0) all.insert(all.end(), bytes, bytes + slices[i].size);
    }
    return all;
  }
  // Sends the first packet that waits, and returns its bytes.
  std::vector<std::byte> leaves(Result result = Result::ok) {
    const FakePackets::Posted first = std::move(made.waiting.front());
    made.waiting.erase(made.waiting.begin());
    std::vector<std::byte> bytes = first.bytes();
    if (first.note != 0) service->on_left(first.peer, first.note, result);
    return bytes;
  }
  // Acts as the host's next progress().
  void call() { own_outcomes.call_back(); }

  Service* service = nullptr;
  std::function<void()> ending;  // the events just before the service ends
  std::array<bool, 4> credit{true, true, true, true}, lost{};
  LinkTraits traits{.name = "fake"};
  std::vector<PeerId> sent, released, told;
  std::vector<std::uint32_t> added;
  FakePackets made;
  const std::vector<FakePackets::Posted>& waiting = made.waiting;
  bool awake = false;
  std::vector<std::byte> head,
      frame;  // of the last frame sent: its first slice, and all of it
};

// Bytes of a port that notice whether their last owner ends with Access. The port's lock is of the kind `shared`.
struct GuardedBytes : SharedBytes::Block {
  explicit GuardedBytes(FakePort& port_) : Block{free_block, 0}, port(port_) {
    port.made.keeper = [this](std::span<const std::byte> payload) {
      ++owners;
      return SharedBytes(this, payload);
    };
  }
  static void free_block(SharedBytes::Block* block) noexcept {
    auto& self = *static_cast<GuardedBytes*>(block);
    const SendLock::Entry entry = self.port.own_lock.try_enter();
    if (entry != SendLock::kRefused) self.port.own_lock.leave(entry);
    ++(entry == SendLock::kRefused ? self.ended : self.ended_without_access);
  }
  FakePort& port;
  int ended = 0, ended_without_access = 0;
};

// Remote memory at the address given; the test ends the operations.
struct FakeMemory final : MemoryPort {
  struct Started {
    PeerId peer;
    std::uint64_t address;
    std::size_t size;
    Operation* operation;
    const RegionHandle* local = nullptr;  // the source's
    void end(Result result) const { operation->done(operation, result); }
  };

  bool register_memory(void* data, std::size_t size, std::uint32_t, RegionHandle& out) override {
    if (!registers) return false;
    out.address = reinterpret_cast<std::uintptr_t>(data);
    out.size = size;
    ++registered;
    ++registrations;
    return true;
  }
  void deregister_memory(RegionHandle&) noexcept override { --registered; }
  bool is_native(PeerId) noexcept override { return native; }
  void put(PeerId peer, const void*, const RegionHandle* local, std::uint64_t address,
           const RegionHandle&, std::size_t size, Operation* operation) noexcept override {
    puts.push_back({peer, address, size, operation, local});
  }
  void get(PeerId peer, void*, const RegionHandle*, std::uint64_t address, const RegionHandle&,
           std::size_t size, Operation* operation) noexcept override {
    gets.push_back({peer, address, size, operation});
  }
  void put_notified(PeerId peer, const void*, const RegionHandle* local, std::uint64_t address,
                    const RegionHandle&, std::size_t size, ServiceId, std::uint32_t,
                    Operation* operation) noexcept override {
    puts.push_back({peer, address, size, operation, local});
  }
  bool put_at_once(PeerId, const void*, std::uint64_t, const RegionHandle&,
                   std::size_t) noexcept override {
    return ++at_once, copies;
  }
  bool put_pieces_at_once(PeerId, std::span<const CopyPiece> pieces,
                          const RegionHandle&) noexcept override {
    if (!copies) return false;
    ++pieces_calls;
    for (const CopyPiece& piece : pieces) {
      const auto* from = static_cast<const std::byte*>(piece.from);
      copied.push_back({piece.to, {from, from + piece.size}});
    }
    return true;
  }
  bool get_at_once(PeerId, void*, std::uint64_t, const RegionHandle&,
                   std::size_t) noexcept override {
    return ++at_once, copies;
  }

  bool registers = true, native = false, copies = true;
  int registered = 0, registrations = 0, at_once = 0, pieces_calls = 0;
  std::vector<Started> puts, gets;
  struct Copied {
    std::uint64_t address;
    std::vector<std::byte> bytes;
  };
  std::vector<Copied> copied;  // pieces, in order
};

struct FakeHost final : HostPort {
  bool has_threads() const noexcept override { return threads; }
  bool goes_on_alone() const noexcept override { return false; }
  bool is_engine() const noexcept override { return false; }
  int progress() noexcept override {
    if (meanwhile) meanwhile();
    return 0;
  }
  int pass_away() noexcept override {
    ++passes_away;
    if (meanwhile) meanwhile();
    return meanwhile ? 1 : 0;
  }

  void leaving() noexcept override { ++departures; }

  bool threads = false;
  bool together = false;
  int passes_away = 0, attending = 0, departures = 0;
  std::function<void()> meanwhile;  // the events during a pass of the control program

 private:
  void begin_polling() noexcept override { ++attending; }
  void leave() noexcept override { --attending; }
  bool begin_together() noexcept override { return !std::exchange(together, true); }
  void end_together() noexcept override { together = false; }
};

}  // namespace lfc
