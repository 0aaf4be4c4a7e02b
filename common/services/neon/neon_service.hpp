// NeonService: the service that carries NEON's frames (neon.hpp) between engines, for all windows of the process.
// The target's part, and the origin's after the call, run in the control program, so that announced
// buffers fill and notifications arrive while the host computes.
//
//   auto service = NeonService::of_process();                // null: no NI is open
//   NeonWindow window(service, rank, limits, exposure, ranks);
//   window.connect(peers, ids);                              // ids: window.id() of each rank
//   { const ServicePort::Visit visit(window.port());
//     window.neon().origin().put(op, target, tag, 0, data, n, true, false); }
//
// Frames travel as FrameType::service: they take credits, and no buffer is held longer than on_frame() takes,
// so no cycle of waits exists. At most one frame per window and peer waits for a credit; the protocol
// keeps the rest where it is.
// Threads: the NI's. Everything of neon() is called with Access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/column.hpp"
#include "base/limits.hpp"
#include "engine/memory_port.hpp"
#include "engine/service_port.hpp"
#include "look/published.hpp"
#include "services/neon/mapped_peers.hpp"
#include "services/neon/neon_writes.hpp"
#include "services/neon/notification_keys.hpp"
#include "services/neon/protocol/exposure.hpp"
#include "services/neon/protocol/neon.hpp"

namespace lfc {

class NeonWindow;

class NeonService final : public Service {
 public:
  // Returns the process's service, made at the first call; null: no NI is open.
  static std::shared_ptr<NeonService> of_process();
  // `memory`: the port for direct writes into memory; null: there are none.
  NeonService(ServicePort& port, MemoryPort* memory, bool serves_alone = false);
  ~NeonService() override;
  NeonService(const NeonService&) = delete;
  NeonService& operator=(const NeonService&) = delete;

  ServicePort& port() const noexcept { return port_; }
  // Returns whether the engine serves others while the rank computes.
  bool serves_alone() const noexcept { return serves_alone_; }
  // Returns the largest payload of NEON that one frame can carry here.
  std::uint32_t frame_bytes() const noexcept;
  // Returns the counters of all windows that this service has had. Without Access.
  neon::Statistics totals() noexcept;

  // Service
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  Verdict on_notified(PeerId peer, std::uint32_t key) override;
  void on_left(PeerId peer, std::uint64_t note, Result result) override;
  void on_lost(PeerId peer) override;
  bool work() override;

 private:
  friend class NeonWindow;

  Verdict on_counter_notified(PeerId peer, neon::WindowKey key);

  ServicePort& port_;
  MemoryPort* const memory_;
  const bool serves_alone_;
  NameTable<NeonWindow, std::uint32_t> windows_{limits::kNeonWindowBits};
  neon::Statistics freed_;  // of windows that are gone
  NotificationKeys keys_;
};

class NeonWindow final : public MappedPeers {
 public:
  NeonWindow(std::shared_ptr<NeonService> service, std::uint32_t rank, const neon::Limits& limits,
             const neon::Exposure& exposure, std::uint32_t ranks);
  ~NeonWindow() override;

  std::uint32_t id() const noexcept { return id_; }
  // Sets peers and window names, by rank. The entry of this process itself is ignored.
  void connect(std::span<const PeerId> peers, std::span<const std::uint32_t> ids);

  ServicePort& port() const noexcept { return service_->port(); }
  neon::Neon& neon() noexcept { return neon_; }

  // Direct puts into memory.
  NeonWrites& writes() noexcept { return writes_; }

  // Lets origins write to the announced buffer. Called by the host without Access.
  void publish(neon::Announcement& buffer);
  void withdraw(neon::Announcement& buffer);

  // Returns whether a member's process is gone. Called with Access.
  bool has_lost() const noexcept { return has_lost_; }

  // --- For the window's end. With Access. ---

  // True: nothing waits to be sent. After the first true, nothing more is sent.
  bool quiet() noexcept;
  struct Traffic {
    std::vector<int> sent;  // frames, by rank
    int received = 0;       // frames of all
  };
  const Traffic& traffic() const noexcept { return traffic_; }

 private:
  friend class NeonService;
  template <class>
  friend struct Insight;  // lfc-look
  struct Members {
    std::vector<PeerId> peers;      // by rank
    Column<std::uint32_t> names;    // by rank: the window's name there
    std::vector<neon::Rank> ranks;  // by PeerId
  };

  bool send(neon::Rank to, const neon::Header& header, std::span<const std::byte> list,
            std::span<const std::byte> data) override;
  bool has_room(neon::Rank to) override;
  SharedBytes keep(std::span<const std::byte> bytes) override {
    return port().packets().keep(bytes);
  }
  bool can_write(neon::Rank to) const override { return writes_.can(to); }
  bool write(neon::Rank to, const neon::Token& token, std::uint64_t offset,
             neon::Operation& op) override {
    writes_.add(to, token, offset, op);
    return true;
  }
  bool write_window(neon::Rank to, std::uint64_t offset, neon::Operation& op) override;
  std::byte* window(std::uint64_t offset, std::uint64_t within, std::uint64_t size) override {
    return exposure_.at(offset, within, size);
  }
  neon::Slot* slot(std::uint32_t index) override { return exposure_.slot(index); }

  Service::Verdict receive(PeerId from, const neon::Header& header, const std::byte* payload,
                           std::size_t size);
  void lost(PeerId peer);
  void show_members();
  void show(const neon::Announcement& buffer);
  void deliver_own();

  const std::shared_ptr<NeonService> service_;
  const neon::Exposure& exposure_;
  const std::uint32_t rank_;
  std::uint32_t id_ = 0;
  Members members_;
  std::vector<bool> waiting_;               // by rank: a frame waits for a credit
  std::deque<std::vector<std::byte>> own_;  // frames to this process itself
  bool has_lost_ = false;
  Traffic traffic_;
  bool closing_ = false;
  neon::Neon neon_;
  NeonWrites writes_;
  std::optional<look::Published> shown_;  // its members
  std::map<const neon::Announcement*, look::Published> shown_buffers_;
};

}  // namespace lfc
