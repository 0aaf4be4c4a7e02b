// NeonWrites: puts of a NEON window that go straight into announced memory, by a link or by a copy if it is mapped
// here; and notified puts that a link writes into the memory of the window.
//
//   writes.prepare(rank);                            // before a large put: determines whether the link can write
//   { const ServicePort::Visit visit(port);
//     window.neon().origin().put(op, target, tag, 0, data, n, true, false); }      // then the write begins
//
// A write is queued until the end of the host's Visit, because registering its source, and copying, must not be done
// with Access. A put that starts outside of a Visit goes in frames, which need no host.
// Threads: connect(), forget(), map(), can(), add() and idle() with Access; prepare(), reveal(), conceal() and
// conceal_all() without it, by the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/sparse_table.hpp"
#include "engine/memory_port.hpp"
#include "engine/service_port.hpp"
#include "services/neon/protocol/neon.hpp"

namespace lfc {

class NeonWrites {
 public:
  // `memory` is null if no link writes. `owner` is kept as long as a write is under way.
  NeonWrites(std::shared_ptr<void> owner, ServicePort& port, MemoryPort* memory, neon::Neon& neon,
             std::uint32_t rank, std::uint32_t ranks);
  ~NeonWrites();
  NeonWrites(const NeonWrites&) = delete;
  NeonWrites& operator=(const NeonWrites&) = delete;
  // Both by rank; the caller keeps them. `sent`: a write that notifies counts there, as a frame does.
  void connect(std::span<const PeerId> peers, std::span<int> sent) noexcept {
    peers_ = peers;
    sent_ = sent;
  }
  // Called before the window is freed: writes under way to lost members end without a completion.
  void forget() noexcept;

  // The memory of `rank` from `address` there on is mapped at `here`: large puts to it are copied.
  void map(neon::Rank rank, std::uint64_t address, std::uint64_t size, std::byte* here);
  // Determines whether puts to that rank can go straight into its memory, and opens the connection.
  void prepare(neon::Rank to);
  // They do the same for notified puts to the window at large. `region`: that rank's memory of the window.
  bool is_prepared_for_window(neon::Rank to);
  void prepare_for_window(neon::Rank to, const RegionHandle& region);
  bool can(neon::Rank to) const noexcept {
    const Target* const known = targets_.find(to);
    return port_.is_visited() && known != nullptr && (known->native || known->mapped != nullptr);
  }
  // An empty token: `offset` is in the mapped memory.
  void add(neon::Rank to, const neon::Token& token, std::uint64_t offset, neon::Operation& op);
  // Returns whether a link can write to the rank's window and notify it in the same request.
  bool can_notify(neon::Rank to) const noexcept {
    const Target* const known = targets_.find(to);
    return port_.is_visited() && known != nullptr && known->window != nullptr;
  }
  // Only if that is so. `offset`: in the rank's memory of the window.
  void add_notified(neon::Rank to, std::uint64_t offset, std::uint32_t key, neon::Operation& op);
  // True: no write is to begin, and none that notifies is under way.
  bool idle() const noexcept { return queued_ == 0 && notifying_ == 0; }

  // Lets origins write to the announced buffer. Its registration may come from the cache, and then stays in it.
  void reveal(neon::Announcement& buffer);
  void conceal(neon::Announcement& buffer);
  // Before the memory of the window goes: its announcements may be freed later.
  void conceal_all();

 private:
  struct Write;
  struct Target {
    bool native = false;  // the link can write
    std::byte* mapped = nullptr;
    std::uint64_t address = 0, size = 0;  // of the mapped memory, at the target
    bool window_known = false;
    std::unique_ptr<const RegionHandle> window;  // null: the link cannot notify with a write to it
  };
  Write& make(neon::Rank to, neon::Operation& op, const RegionHandle& region);
  void queue(Write& write);
  void ended(neon::Operation& op, Result result, neon::Written what);
  static void leave_queue(std::unique_ptr<Write> write);
  static void copy(const Write& write);
  static void begin(std::unique_ptr<Write> write);
  static void over(Write* write, Result result);
  // The registration of a buffer.
  struct Revealed {
    RegionHandle region;                   // as origins get it
    const RegionHandle* cached = nullptr;  // null: it is not of the cache
  };
  bool register_buffer(const neon::Announcement& buffer, Revealed& revealed);
  void release(Revealed& revealed);
  static bool begins_anew(Write& write, Result result);

  const std::shared_ptr<void> owner_;
  ServicePort& port_;
  MemoryPort* const memory_;
  neon::Neon& neon_;
  const std::uint32_t rank_;
  std::span<const PeerId> peers_;  // by rank
  std::span<int> sent_;            // by rank
  std::uint32_t queued_ = 0;       // writes that have not begun
  std::uint32_t notifying_ = 0;    // writes under way that notify
  SparseTable<Target> targets_;    // by rank; those of prepare() and map()
  std::vector<Write*> under_way_;  // queued or begun; each deletes itself
  std::mutex revealed_lock_;       // threads announce buffers at the same time
  std::map<neon::Announcement*, Revealed> revealed_;
};

}  // namespace lfc
