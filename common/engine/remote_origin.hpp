// RemoteOrigin: puts, gets and atomics that this process starts on peers' memory, natively if the link can, otherwise
// in frames; and the registrations of its own memory. Services use it through MemoryPort.
//
//   RegionHandle region;
//   ni.remote().register_memory(buffer, size, kRemoteWrite, region);     // the target publishes it
//   { const ServicePort::Visit visit(ni.services());
//     ni.remote().put(peer, source, nullptr, address, region, size, &operation); } // operation.done() later
//
// Invariants: operation->done is called exactly once. An answer that names no live operation of ours to that peer
// breaks the protocol. The loss of a peer ends operations that wait for its answer
// (tests/unit/engine/ni_remote_test.cpp, tests/sim).
// Threads: as MemoryPort; fetch() and atomic() as put(), outstanding() and fetch_is_faster() without Access; the
// engine's functions under the NI's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory_port.hpp"
#include "engine/message_ways.hpp"
#include "engine/outcomes.hpp"
#include "engine/remote_memory.hpp"
#include "engine/remote_target.hpp"
#include "engine/sender.hpp"
#include "link/region.hpp"
#include "sync/send_lock.hpp"

namespace lfc {

class RemoteOrigin final : public MemoryPort,
                           public Sender::Operations,
                           private PeerTable::Watcher {
 public:
  RemoteOrigin(SendLock& lock, PeerTable& peers, Sender& sender, Counters& counters,
               Outcomes& outcomes)
      : lock_(lock),
        peers_(peers),
        sender_(sender),
        counters_(counters),
        outcomes_(outcomes),
        ways_(counters),
        target_(regions_, sender) {
    peers.add_watcher(*this);
  }

  // --- The host ---

  bool register_memory(void* data, std::size_t size, std::uint32_t access,
                       RegionHandle& out) override;
  void deregister_memory(RegionHandle& handle) noexcept override;
  bool is_native(PeerId peer) noexcept override;
  void put(PeerId peer, const void* source, const RegionHandle* local, std::uint64_t address,
           const RegionHandle& remote, std::size_t size, Operation* operation) noexcept override;
  void get(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
           const RegionHandle& remote, std::size_t size, Operation* operation) noexcept override;
  void put_notified(PeerId peer, const void* source, const RegionHandle* local,
                    std::uint64_t address, const RegionHandle& remote, std::size_t size,
                    ServiceId service, std::uint32_t value, Operation* operation) noexcept override;
  bool put_pieces_at_once(PeerId peer, std::span<const CopyPiece> pieces,
                          const RegionHandle& remote) noexcept override;
  bool put_at_once(PeerId peer, const void* source, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size) noexcept override;
  bool get_at_once(PeerId peer, void* destination, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size) noexcept override;
  // Returns whether a registration is worth keeping for the next use, because a link pins or maps pages for it.
  bool registration_costs() const noexcept;
  // get() of a message whose RTS has come. Its sender keeps it until it has been read. It takes the faster way,
  // also one on which the sender's NI has to work.
  void fetch(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
             const RegionHandle& remote, std::size_t size, Operation* operation) noexcept;
  // Applies `request` at the target with a real CPU atomic, otherwise like put(). Stores the old value (request.width
  // bytes) at `result` unless that is null. `address` must be aligned to the width.
  void atomic(PeerId peer, const AtomicRequest& request, std::uint64_t address,
              const RegionHandle& remote, void* result, Operation* operation) noexcept;
  // Operations started towards the peer and not finished.
  std::size_t outstanding(PeerId peer) noexcept;
  // Returns whether a message of this size reaches the peer sooner if its receiver fetches it by get()
  // than as a sequence of messages.
  bool fetch_is_faster(PeerId peer, std::size_t size) noexcept;

  // --- The engine ---

  // Accepts a frame of remote memory, whose buffer is taken. False: it breaks the protocol.
  bool accept(Peer& peer, FrameType type, std::span<const std::byte> payload);
  // Reports the end of an operation to the host. Without the lock.
  static void call_back(RemoteOp& op);

 private:
  Sender::Step send(Peer& peer, Waiting& item) override;
  void fail(Waiting& item) override;
  void on_lost(Peer& peer) override;
  void on_turned(Peer& peer) override;

  RemoteOp& begin(Peer& peer, RemoteOp::Type type, void* local, std::uint64_t address,
                  const RegionHandle& remote, std::size_t size, Operation* operation);
  void transfer(PeerId peer, RemoteOp::Type type, void* memory, const RegionHandle* local,
                std::uint64_t address, const RegionHandle& remote, std::size_t size,
                Operation* operation, bool by_rts = false);
  bool transfer_at_once(PeerId id, RemoteOp::Type type, void* memory, std::uint64_t address,
                        const RegionHandle& remote, std::size_t size) noexcept;
  Sender::Step send_native(Peer& peer, RemoteOp& op);
  Sender::Attempt send_frame(Peer& peer, RemoteOp& op, bool& all_sent);
  Sender::Attempt send_put(Peer& peer, RemoteOp& op);
  void finish(RemoteOp& op, Result result) noexcept;
  static void link_finished(Operation* self, Result result);
  bool accept_get_data(Peer& peer, std::span<const std::byte> payload);
  bool accept_ack(Peer& peer, FrameType type, std::span<const std::byte> payload);

  SendLock& lock_;
  PeerTable& peers_;
  Sender& sender_;
  Counters& counters_;
  Outcomes& outcomes_;
  MessageWays ways_;
  RegionTable regions_;
  RemoteTarget target_;
  RemoteOpTable operations_;
};

}  // namespace lfc
