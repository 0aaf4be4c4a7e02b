// WindowService: the service of all windows of the process, which alone holds the engine's ports and takes its lock.
//
//   WindowService windows(ni.services(), ni.remote(), ni.host(), host);     // one for each process
//   std::unique_ptr<Window> window = windows.create(std::move(shape));
//   while (waiting) windows.serve_host();                       // now and then, while something is deferred
//
// The target's part of every operation runs in the NI. The origin's part runs in the calls, and in the NI for
// operations that had to wait (for a lock, a post, a credit). The protocol (protocol.hpp) interprets the frames.
// README.md beside this file has the states and the proof that nothing waits in a circle.
//
// Threads: any, when the NI has threads. The state is under the NI's lock. Only the calls marked so wait, and each of
// them ends with `lost` when a member of the window is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "base/name_table.hpp"
#include "base/spares.hpp"
#include "engine/host_port.hpp"
#include "engine/memory_port.hpp"
#include "engine/service_port.hpp"
#include "services/windows/protocol/lock_order.hpp"
#include "services/windows/store_order.hpp"
#include "services/windows/window.hpp"

namespace lfc {

// Callbacks of a component: to drive the rest of the process, and to receive completions.
struct WindowHost {
  void (*progress)() = nullptr;                                    // one pass; may yield
  void (*finished)(void* request, WindowStatus status) = nullptr;  // of r... operations
};

class WindowService final : public Service {
 public:
  WindowService(ServicePort& port, MemoryPort& memory, HostPort& engine, const WindowHost& host);
  ~WindowService() override;
  WindowService(const WindowService&) = delete;
  WindowService& operator=(const WindowService&) = delete;

  const WindowHost& host() const noexcept { return host_; }
  // The operations of all windows.
  Operations& operations() noexcept { return operations_; }
  LockOrder& lock_order() noexcept { return lock_order_; }
  // Throws std::bad_alloc.
  // Stores the reason why local peers cannot map the memory that the window has allocated, and reach it through their
  // links instead.
  std::unique_ptr<Window> create(WindowShape shape, std::string* why_unshared = nullptr);
  // Reports finished requests to the host, and starts operations that the NI cannot start alone. Returns the number of
  // events. Call it now and then while r... operations or windows with deferred ones exist.
  int serve_host();

  // Service
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_left(PeerId peer, std::uint64_t note, Result result) override;
  void on_lost(PeerId peer) override;
  bool work() override;

 private:
  friend class Window;
  friend class EngineCarrier;
  friend class EpochCalls;
  friend struct NotifiedAccess;
  struct Replying;
  struct Native;

  template <class Call>
  decltype(auto) locked(Call call) {
    const ServicePort::Access access(port_);
    return call();
  }
  // locked(), and then the work that was queued meanwhile: completions of transfers.
  template <class Call>
  decltype(auto) visited(Call call) {
    const ServicePort::Visit visit(port_);
    return call();
  }

  // --- Creation and end of windows ---
  void enter(Window& window);
  void leave(Window& window) noexcept;
  void find_link(Window& window, rma::Rank target);
  // Notes a window whose elements the host changes without their lock. Only the host reads the list.
  void settle_later(Window& window) { singles_.push_back(&window); }

  // --- For the carriers ---
  bool send(const Window& window, rma::Rank to, const Slice* slices, int count);
  void signal(Window& window, PeerId to, const WindowHead& head);
  void reply(const Window& window, PeerId to, const WindowHead& head, std::span<const Run> runs,
             std::vector<std::byte> values);
  void wake(Window& window);
  void transfer(const Window& window, const WindowCall& call);

  Verdict accept_head(PeerId peer, std::span<const std::byte> payload);
  Verdict accept_ack(PeerId peer, std::span<const std::byte> payload);
  Verdict accept_reply(PeerId peer, std::span<const std::byte> payload);
  void go_on(std::unique_ptr<Replying> replying);

  ServicePort& port_;
  MemoryPort& memory_;
  HostPort& engine_;
  const WindowHost host_;
  const std::size_t frame_bytes_;  // the largest payload that we send
  Operations operations_;
  LockOrder lock_order_;
  StoreOrder store_order_;
  NameTable<Window, std::uint32_t> windows_{limits::kWindowBits};
  Spares<Replying> spare_replies_;
  NameTable<Replying, std::uint32_t> waiting_replies_{limits::kWindowBits};
  Spares<Native> spare_natives_;
  std::vector<CopyPiece> pieces_;  // of a bundle that the link copies; its memory stays
  std::vector<Window*> working_;   // with acks or tickets to handle
  std::vector<Window*> singles_;
};

}  // namespace lfc
