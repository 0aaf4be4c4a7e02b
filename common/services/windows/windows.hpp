// Windows: memory that other processes read, write and combine into, without this host's help.
//
// One service for all windows of the process; a Window is one MPI window, or whatever else has
// ranks, memory and epochs. The target's part of every operation runs in the NI; the origin's runs
// in the calls, and in the NI where something had to wait (for a lock, a post, a credit).
//
//   auto windows = Windows::of_process(host);               // null: no NI is open
//   std::unique_ptr<Window> window = windows->create(std::move(shape));
//   allgather(window->facts(), facts);                      // of all ranks
//   window->connect(facts, peers, neighbours);              // each by rank
//   window->lock(target, true, false);
//   window->put(target, origin, there, nullptr);            // Views: local memory, displacement
//   window->unlock(target);
//
// How an operation travels: by loads, stores and CPU atomics where the target's memory is mapped
// here (itself, neighbours in an allocated window); natively through the link (large or on this
// host, contiguous on both sides); else in frames that the target's NI serves.
//
// Threads: any, when the NI has threads. The state is under the NI's lock; nothing waits but the
// calls that say so, and each of them gives up with `lost` when a member of the window is lost.
// Source: MPI-3.1 chapter 11.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "base/name_table.hpp"
#include "base/spares.hpp"
#include "elements/accumulate.hpp"
#include "elements/layout.hpp"
#include "elements/single_elements.hpp"
#include "engine/ni.hpp"
#include "engine/service.hpp"
#include "machine/shared_memory.hpp"
#include "services/windows/ticket_lock.hpp"
#include "services/windows/window_frames.hpp"
#include "sync/fence.hpp"
#include "sync/published.hpp"

namespace lfc {

enum class WindowStatus : std::uint8_t {
  ok,
  sync,       // no epoch, or the wrong one
  range,      // outside the target's memory
  truncated,  // more bytes than the other side has room for
  lost,       // a member of the window is gone
  invalid,    // operation and type do not fit, or not attached
  memory,     // out of memory
};

enum class Flavor : std::uint8_t { create, allocate, shared, dynamic };

// What a component gives: how to let everything else of the process go on, and whom to tell.
struct WindowsHost {
  void (*progress)() = nullptr;                                    // one pass; may yield
  void (*finished)(void* request, WindowStatus status) = nullptr;  // of r... operations
};

// A piece of local or remote memory as MPI's calls describe it: `count` elements of some runs.
struct View {
  std::byte* base = nullptr;  // local memory; not used for the target's
  std::int64_t offset = 0;    // bytes, added to each run's
  std::span<const Run> runs;
  std::int64_t extent = 0;
  std::uint64_t count = 0;
  std::uint64_t size = 0;  // packed bytes of one element

  std::uint64_t bytes() const noexcept { return size * count; }
  Cursor cursor() const noexcept { return {runs, extent, count, offset}; }
  // One piece, wherever it lies.
  bool contiguous() const noexcept {
    return runs.size() == 1 && runs[0].repeat == 1 &&
           (count == 1 || static_cast<std::uint64_t>(extent) == size);
  }
};

// Where neighbours on the host find what a window shares besides its bytes; also where they do not map those.
struct WindowControl {
  TicketLock lock;
  ElementLock elements;
  SingleElements singles;  // of the member whose control this is
};

// What every member must know of every other: plain bytes, exchanged once.
struct WindowFacts {
  std::uint32_t id = 0;
  std::uint32_t displacement_unit = 1;
  std::uint32_t process = 0;  // pid, of interest to neighbours
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  RegionHandle region;
  SharedMemoryName
      segment;  // of the control and, if the window allocated it, the memory; size 0: none
  std::uint64_t control_offset = 0;
  std::uint64_t memory_offset = 0;
};

class Window;
class Windows;
struct WindowOp;

// What a window knows of one member; O(1) for each.
struct WindowPeer {
  enum class Lock : std::uint8_t { none, wanted, requested, held, assumed };
  enum class End : std::uint8_t { none, complete, unlock };

  // What an access by loads and stores needs to know.
  std::byte* mapped = nullptr;       // its memory, in this process
  WindowControl* control = nullptr;  // likewise, of any flavour; null: not mapped
  std::uint64_t size = 0;
  Published<WindowOp*> first{nullptr};  // operations that wait, in order
  Published<Lock> lock{Lock::none};
  bool in_access = false;    // in the group of the access epoch
  bool memory_here = false;  // mapped, or ourselves
  std::uint32_t displacement_unit = 1;

  PeerId peer = kNoPeer;
  std::uint32_t id = 0;       // the window's name there
  std::uint32_t process = 0;  // pid of a neighbour
  std::uint64_t base = 0;
  RegionHandle region;
  std::optional<SharedMemory> segment;

  // As origin.
  WindowOp* last = nullptr;
  bool carrying = false;  // a fragment waits in the NI for a credit
  bool pumping = false;
  bool exclusive = false;
  bool access_granted = false;  // no post is needed (nocheck)
  End ending = End::none;       // what the last fragment of those that wait shall tell the target
  bool end_told = false;        // complete or unlock
  bool native_known = false;
  bool native = false;           // the link moves bytes itself
  bool native_small = false;     // which needs nobody there
  bool unlocked = false;         // the answer to our unlock
  std::uint64_t sent = 0;        // put and accumulate fragments
  std::uint64_t wanted = 0;      // of which an ack will count
  std::uint64_t counted = 0;     // acknowledged
  std::uint32_t fence_sent = 0;  // in the fence epoch that is open
  std::uint32_t replies = 0;     // results that are due
  std::uint32_t natives = 0;     // operations in the link
  std::uint32_t posts = 0, posts_used = 0;

  // As target.
  std::uint64_t received = 0;  // put and accumulate fragments
  std::uint32_t completes = 0, completes_used = 0;
  bool ack_due = false;
  bool in_exposure = false;
  bool holds = false;  // the lock, which we took for it
  bool holds_exclusive = false;
  bool unlock_pending = false;  // until `unlock_count` fragments have arrived
  std::uint64_t unlock_count = 0;
  WindowStatus ack_status = WindowStatus::ok;

  // Its memory is reached by loads and stores.
  bool is_mapped() const noexcept { return memory_here; }
  // Its lock is: we take it ourselves.
  bool lock_is_mapped() const noexcept { return control != nullptr; }
};

class Window {
 public:
  struct Shape {
    Flavor flavor = Flavor::create;
    void* base = nullptr;  // create
    std::uint64_t size = 0;
    std::uint32_t displacement_unit = 1;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    // shared: where this rank's part lies in the segment that all of them map.
    std::optional<SharedMemory> segment;
    std::uint64_t control_offset = 0;
    std::uint64_t memory_offset = 0;
  };

  ~Window();

  // --- Life ---

  std::byte* memory() const noexcept { return memory_; }
  const WindowFacts& facts() const noexcept { return facts_; }
  // Takes what the members told, by rank, and who they are; maps the memory of those in `neighbours`.
  // False: a neighbour's memory cannot be mapped.
  bool connect(std::span<const WindowFacts> facts, std::span<const PeerId> peers,
               std::span<const bool> neighbours);
  // Nobody will map it any more.
  void close_segment() noexcept;
  // Every member's memory is mapped here.
  bool all_mapped() const noexcept { return all_mapped_; }
  // Waits until nothing of ours is under way.
  WindowStatus drain();
  std::uint32_t rank() const noexcept { return rank_; }
  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(peers_.size()); }
  WindowPeer& peer(std::uint32_t rank) noexcept { return peers_[rank]; }
  Windows& service() noexcept { return windows_; }

  // Dynamic windows.
  WindowStatus attach(void* base, std::uint64_t size);
  WindowStatus detach(const void* base);

  // --- Operations. None of them waits. `request` is null, or what host.finished() is called with
  // when origin and result are the caller's again, possibly inside the call. ---

  WindowStatus put(std::uint32_t target, const View& origin, const View& there, void* request);
  WindowStatus get(std::uint32_t target, const View& result, const View& there, void* request);
  WindowStatus accumulate(std::uint32_t target, Accumulation what, const View& origin,
                          const View& there, void* request);
  // The old values go to `result`.
  WindowStatus fetch(std::uint32_t target, Accumulation what, const View& origin,
                     const View& result, const View& there, void* request);
  // The target's memory at `displacement` (in its units) when `bytes` of it may be accessed by loads
  // and stores now; null: it takes one of the calls above. For what is contiguous on both sides.
  std::byte* direct(std::uint32_t target, std::int64_t displacement, std::uint64_t bytes) noexcept {
    const WindowPeer& to = peers_[target];
    const bool open =
        to.lock >= WindowPeer::Lock::held ||
        (to.lock == WindowPeer::Lock::none && !lock_all_ && !to.in_access && fence_open_);
    std::uint64_t offset = 0;
    if (to.mapped == nullptr || to.first != nullptr || !open ||
        !inside(to, displacement, bytes, offset))
      return nullptr;
    return to.mapped + offset;
  }
  // The same memory by the link's own copy, finished on return. False: nothing was done.
  bool put_at_once(std::uint32_t target, const void* from, std::int64_t displacement,
                   std::uint64_t bytes) noexcept;
  bool get_at_once(std::uint32_t target, void* to, std::int64_t displacement,
                   std::uint64_t bytes) noexcept;
  // Before stores to direct(), and before loads: what a flush before has completed comes first.
  void note_stores() noexcept { stored_ = true; }
  void order_loads() noexcept {
    if (unordered_) [[unlikely]]
      order_stores();
  }
  // How the host may change that many elements now of a target whose memory is mapped.
  ElementGuard elements(std::uint32_t target, std::uint64_t count) noexcept {
    const bool single = count <= kFewElements && control_->singles.may_skip_lock();
    return {peers_[target].control->elements, single ? Hold::none : host_hold(count)};
  }
  // One element of `size` bytes, at most 8.
  WindowStatus compare_and_swap(std::uint32_t target, const void* compare, const void* value,
                                void* result, std::size_t size, std::int64_t offset);

  // --- Epochs. Those that wait say so. ---

  bool fence_open() const noexcept { return fence_open_; }
  // Whether a fence may begin or end now.
  WindowStatus fence_allowed() noexcept;
  // Waits until what the epoch's operations need of this side has been done; tells how many
  // fragments were sent to each rank.
  WindowStatus fence_leave(std::span<std::uint32_t> sent);
  // Waits until `count` fragments of the epoch have arrived here.
  WindowStatus fence_arrived(std::uint32_t count);
  // An epoch begins, or none does.
  void fence_enter(bool open) noexcept;

  WindowStatus start(std::span<const std::uint32_t> group, bool no_check);
  WindowStatus complete();  // waits: for local completion
  WindowStatus post(std::span<const std::uint32_t> group, bool no_check);
  WindowStatus wait();  // waits
  WindowStatus test(bool& flag);

  // These two tell nothing of earlier operations: when they fail, no lock is held.
  WindowStatus lock(std::uint32_t target, bool exclusive, bool no_check);  // waits if mapped
  WindowStatus unlock(std::uint32_t target);                               // waits
  WindowStatus lock_all(bool no_check);                                    // waits for mapped ones
  WindowStatus unlock_all();                                               // waits
  // Whether there is nothing for flush() and flush_local() to wait for: all has been done by stores, which the
  // CPU completes in order. So only loads of this thread could still come before them: order_loads() sees to that.
  bool flushed_at_once(std::uint32_t target) noexcept {
    const WindowPeer& to = peers_[target];
    if (!to.is_mapped() || to.lock < WindowPeer::Lock::held || to.first != nullptr || troubled() ||
        ++quiet_calls_ > kQuietCalls)
      return false;
    if (threads_) {
      full_fence();
    } else {
      release_fence();
      if (std::exchange(stored_, false)) unordered_ = true;
    }
    return true;
  }
  WindowStatus flush(std::uint32_t target);        // waits
  WindowStatus flush_all();                        // waits
  WindowStatus flush_local(std::uint32_t target);  // waits
  WindowStatus flush_local_all();                  // waits

 private:
  friend class Windows;
  friend struct WindowOp;
  struct Region {
    std::uint64_t address;
    std::uint64_t size;
  };
  struct PendingComplete {
    std::uint32_t rank;
    std::uint64_t count;
  };
  struct RemoteTicket {
    std::uint32_t rank;
    std::uint32_t ticket;
    bool exclusive;
  };

  // Calls with nothing to wait for between two passes: whoever only polls its own or its neighbours' memory
  // serves the others all the same. Held by "who polls mapped memory serves the others".
  static constexpr unsigned kQuietCalls = 64;
  // Up to so many elements are changed one by one, unless all members take the lock anyway.
  static constexpr std::uint64_t kFewElements = 8;

  Window(Windows& windows, Shape shape);
  // Where `bytes` at a displacement lie in the target's memory, if all of them do.
  static bool inside(const WindowPeer& to, std::int64_t displacement, std::uint64_t bytes,
                     std::uint64_t& offset) noexcept {
    return displacement >= 0 &&
           !__builtin_mul_overflow(static_cast<std::uint64_t>(displacement),
                                   std::uint64_t{to.displacement_unit}, &offset) &&
           offset <= to.size && bytes <= to.size - offset;
  }
  template <class Copy>
  bool copy_at_once(std::uint32_t target, std::int64_t displacement, std::uint64_t bytes,
                    Copy copy) noexcept;
  bool troubled() const noexcept { return lost_ || error_ != WindowStatus::ok; }

  void make_segment(Shape& shape);
  bool allocates() const noexcept {
    return flavor_ == Flavor::allocate || flavor_ == Flavor::shared;
  }

  // Origin: services/windows/window_origin.cpp (which way), services/windows/window_fragments.cpp (in frames)
  WindowStatus issue(WindowOp& model);
  bool issue_in_frames(WindowPeer& peer, WindowOp& model);
  WindowStatus check_range(const WindowPeer& peer, const View& there) const noexcept;
  bool permitted(WindowPeer& peer);
  bool passive(const WindowPeer& peer) const noexcept;
  void enqueue(WindowPeer& peer, WindowOp& op);
  void pump(WindowPeer& peer);
  std::uint64_t cut_fragment(WindowOp& op);
  void send_fragment(WindowPeer& peer, WindowOp& op, std::uint64_t bytes);
  std::uint8_t count_fragment(WindowPeer& peer) noexcept;
  void execute_mapped(const WindowPeer& peer, WindowOp& op);
  Hold host_hold(std::uint64_t count) noexcept;
  Hold hold(std::uint64_t count) noexcept;
  void start_native(WindowPeer& peer, const WindowOp& op);
  bool native_possible(WindowPeer& peer, const WindowOp& op);
  void let_end_ride(const WindowOp& op, WindowPeer& peer, WindowHead& head) noexcept;
  bool frames_under_way(const WindowPeer& peer) const noexcept;
  WindowOp* host_operation(WindowPeer& peer);
  void end_host_operation(WindowPeer& peer, WindowOp& op);
  void run_host_work();
  WindowHead head(const WindowPeer& peer, WindowKind kind) const noexcept;
  void signal(WindowPeer& peer, WindowKind kind, std::uint8_t flags, std::uint64_t count);
  void order_stores() noexcept;
  bool locally_complete(const WindowPeer& peer) const noexcept;
  bool remotely_complete(const WindowPeer& peer) const noexcept;
  enum class Errors : bool { kept, told };
  template <class Ready>
  WindowStatus wait_until(Ready ready, Errors errors = Errors::told);
  void drive();
  void drive_if_quiet();
  WindowStatus take_error() noexcept;
  bool neighbour_died() const noexcept;

  // Epochs: services/windows/window_epochs.cpp
  WindowStatus acquire(WindowPeer& peer);
  void let_unlock_ride(WindowPeer& peer);
  WindowStatus release(WindowPeer& peer);
  bool exposure_ended() noexcept;
  void grant_locks();

  // Target: services/windows/window_target.cpp
  Service::Verdict accept(WindowPeer& peer, const WindowHead& head,
                          std::span<const std::byte> rest);
  Service::Verdict serve(WindowPeer& peer, const WindowHead& head, std::span<const std::byte> rest);
  Service::Verdict count(WindowPeer& peer, const WindowHead& head, WindowStatus status);
  Service::Verdict end_access(WindowPeer& peer, const WindowHead& head);
  Service::Verdict end_lock(WindowPeer& peer, const WindowHead& head);
  Service::Verdict unlock_if_due(WindowPeer& peer);
  void release_for(WindowPeer& peer);
  void answer_result(WindowPeer& peer, std::uint64_t reply, WindowStatus status,
                     const std::byte* bytes, std::size_t size);
  void send_acks();
  void check_completes(WindowPeer& peer);
  // The memory that the runs are relative to, and what to add to their offsets; null: not all inside.
  std::byte* resolve(std::span<const Run> runs, std::int64_t& base) const noexcept;
  bool is_attached(const Run& run) const noexcept;
  bool member_lost(PeerId peer) noexcept;

  Windows& windows_;
  Ni& ni_;
  const std::uint32_t rank_;
  const Flavor flavor_;
  std::byte* memory_ = nullptr;
  std::uint64_t size_ = 0;
  WindowFacts facts_;
  std::optional<SharedMemory> segment_;
  WindowControl own_control_;  // when there is no segment
  WindowControl* control_ = &own_control_;
  std::vector<WindowPeer> peers_;
  std::vector<Region> attached_;

  bool all_mapped_ = false;
  bool all_singles_known_ = true;   // of the members who may change elements by loads and stores
  std::atomic<bool> alone_{false};  // under an element lock of this window: all members take it
  const bool threads_;
  bool stored_ = false;       // by direct(), not flushed yet
  bool unordered_ = false;    // loads may still overtake stores that a flush has completed
  unsigned quiet_calls_ = 0;  // since the NI was last driven
  bool lost_ = false;
  WindowStatus error_ = WindowStatus::ok;  // told by a target, not yet by us
  bool fence_open_ = false;
  bool odd_fence_ = false;
  bool access_open_ = false;
  bool exposure_open_ = false;
  bool lock_all_ = false;
  bool lock_all_assumed_ = false;
  std::uint32_t locks_ = 0;                  // by lock(), not lock_all()
  std::vector<std::uint32_t> access_group_;  // ranks
  std::vector<std::uint32_t> exposure_group_;
  std::uint32_t fence_received_[2] = {0, 0};
  std::uint32_t fence_expected_[2] = {0, 0};
  std::vector<PendingComplete> pending_completes_;
  std::vector<RemoteTicket> remote_tickets_;
  std::vector<std::uint32_t> acks_due_;  // ranks
  bool host_work_ = false;               // an operation at the head of a queue needs the host
};

class Windows final : public Service {
 public:
  // The process's, made when it is first asked for; null when no NI is open.
  static std::shared_ptr<Windows> of_process(const WindowsHost& host);
  Windows(std::shared_ptr<Ni> ni, const WindowsHost& host);
  ~Windows() override;

  Ni& ni() noexcept { return *ni_; }
  // Of all windows, that have not ended (diagnosis).
  std::size_t operations() noexcept;
  const WindowsHost& host() const noexcept { return host_; }
  // Throws std::bad_alloc.
  std::unique_ptr<Window> create(Window::Shape shape);
  // To be called now and then while r... operations or windows with deferred ones exist: tells the
  // host what has finished, starts what the NI cannot start alone. The number of events.
  int serve_host();

  // Service
  Verdict on_frame(PeerId peer, FrameType type, std::span<const std::byte> payload) override;
  void on_lost(PeerId peer) override;
  bool work() override;

 private:
  friend class Window;
  struct Reply;
  struct Carrier;
  struct Native;

  void abandon(Window& window);
  void leave(const Window& window) noexcept;
  Window* find(std::uint32_t id) noexcept { return windows_.find(id); }

  WindowOp& take_op();
  void give_back(WindowOp& op) noexcept;
  WindowOp* find_op(std::uint64_t name, PeerId peer) noexcept;
  void finish(WindowOp& op, WindowStatus status);
  void received(WindowOp& op, std::uint64_t bytes);
  std::uint64_t cut(Cursor& to, std::uint64_t limit, std::uint64_t unit, bool with_data);
  void send(WindowPeer& peer, const Window& window, std::uint32_t rank, const WindowHead& head,
            const std::byte* data, std::size_t size);
  void want_work(Window& window);

  Verdict accept_head(PeerId peer, std::span<const std::byte> payload);
  Verdict accept_ack(PeerId peer, std::span<const std::byte> payload);
  Verdict accept_reply(PeerId peer, std::span<const std::byte> payload);
  void start_reply(PeerId peer, const Window& window, const WindowHead& head,
                   std::vector<std::byte> bytes);
  void continue_reply(Reply& reply);

  std::shared_ptr<Ni> ni_;
  const WindowsHost host_;
  const std::size_t frame_bytes_;  // the largest payload that we send
  NameTable<Window, std::uint32_t> windows_{limits::kWindowBits};
  NameTable<WindowOp, std::uint64_t> ops_{32};  // which are ours
  Spares<WindowOp> spare_ops_;
  Spares<Reply> spare_replies_;
  Spares<Carrier> spare_carriers_;
  Spares<Native> spare_natives_;
  std::vector<Window*> working_;  // with acks or tickets to see to
  std::vector<Window*>
      singles_;  // whose elements the host changes without their lock; only the host looks
  std::vector<WindowOp*> finished_;  // whose requests the host is to be told of
  std::atomic<bool> host_wanted_{false};
  std::vector<Run> runs_scratch_;
  std::vector<std::byte> bytes_scratch_;
};

}  // namespace lfc
