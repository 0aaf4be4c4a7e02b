// The network interface (NI): one per process, shared by every component. Its control program
// joins the protocols (credits, remote memory) and the links, and owns what lies between them.
//
//   Ni ni(config);
//   ni.add_link(std::move(link));                          // in order of preference
//   publish(ni.open());
//   ni.set_message_handler(handler_of<deliver>(context));
//   PeerId peer = ni.add_peer(*Address::parse(blob), why_not);
//   if (!ni.try_send(peer, tag, slices, 2)) ni.post(peer, message);   // message.done() later
//   while (running) ni.progress();
//
// The host side (every public function but progress) and the control program (progress and what it
// calls) meet in three places only: the state of sending, under `SendLock`; the list of finished
// operations, swapped out under that lock and called back without it; and the HostQueue, through
// which messages reach the host. So a thread of the NI's own (engine/ni_thread.hpp) can drive the
// control program without touching anything of the host's. Which of the two does is the policy:
//
//   single    the host, inside progress(). There is no thread.
//   floating  the host, whenever it is there; while it stays away, the thread, woken by arrivals.
//   fixed     the thread alone; progress() only takes what has arrived.
//
// Guarantees: messages are FIFO and exactly once per peer; a message posted is sent, or its `done`
// says why not; no call blocks; no receive buffer is overrun; a peer that stops receiving stalls
// only the sends to it.
// Threads: with Config::threads every function may be called by any thread at any time; without
// it, by one thread at a time. Callbacks run on the thread that calls progress() (with upcalls also
// on the NI's) and may call anything; a nested progress() returns 0 at once. No lock that another
// thread of the host could wait for is held meanwhile.
// Source: LFC thesis ch. 3 and 4.1.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/limits.hpp"
#include "engine/credits.hpp"
#include "engine/host_queue.hpp"
#include "engine/linger.hpp"
#include "engine/peer.hpp"
#include "engine/remote_memory.hpp"
#include "engine/service.hpp"
#include "engine/watchdog.hpp"
#include "link/link.hpp"
#include "link/region.hpp"
#include "stats/counters.hpp"
#include "sync/send_lock.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {

class NiThread;

enum class Policy : std::uint8_t { single, floating, fixed };

// What the NI thread does when there is nothing to do, with Policy::fixed.
enum class Idle : std::uint8_t {
  spin,     // polls on
  yield,    // lets others have the core between two polls
  backoff,  // sleeps between two polls, the longer the more of them were in vain
  block,    // polls for the delay, then sleeps until something arrives
};

struct Config {
  ProcessName name;
  std::uint32_t key = 0;                                  // 0: drawn at random
  std::uint32_t initial_window = limits::kInitialWindow;  // credits a new peer starts with
  std::uint32_t maximum_window = limits::kMaximumWindow;  // credits one peer may come to hold
  std::uint64_t window_cap = limits::kWindowCap;  // credits all peers together may come to hold
  bool threads = false;  // several threads call at the same time; implies queued
  HostQueue::Mode delivery = HostQueue::Mode::direct;

  Policy policy = Policy::single;
  // The NI thread also calls the host back; needs `threads`.
  bool upcalls = false;
  // How long an arrival may wait for the host; 0: twice the measured cost of a wake-up.
  std::chrono::nanoseconds delay{0};
  // How long the host may have left before that is noticed, at most.
  std::chrono::nanoseconds longest_rest{1'000'000};
  // The same while the machine is crowded, when each look costs the host its processor; 0: no matter.
  std::chrono::nanoseconds crowded_rest{0};
  // How long the host must not have polled to count as away; at least the delay.
  std::chrono::nanoseconds patience{0};
  Idle idle = Idle::block;
  // Bytes of messages that are kept for a host that is away before their senders are stalled.
  std::size_t queue_memory = limits::kQueueMemory;
  std::vector<int> cpus;  // where the NI thread may run; empty: where its creator may
};

class Ni final : private FrameSink {
 public:
  explicit Ni(const Config& config);
  ~Ni() override;

  // --- Set-up (alone, before the first peer) ---

  // Adds a link; earlier links are preferred. The link must have been made with sink() as its
  // sink. At most kMaxLinks.
  void add_link(std::unique_ptr<Link> link);
  FrameSink& sink() noexcept { return *this; }
  // Closes the set-up: tells the links their own address and returns it, to be published. From here
  // on the policy's thread runs.
  std::vector<std::byte> open();
  // The largest message that whoever has this address takes, whatever the way; 0: it is malformed.
  static std::size_t max_message_of(const Address& address) noexcept;
  void set_message_handler(MessageHandler handler) noexcept { host_.set_handler(handler); }
  // Called once for each peer that is lost. `peer` stays valid but every operation on it fails.
  using BrokenHandler = void (*)(void* context, PeerId peer, std::string_view why);
  void set_broken_handler(BrokenHandler handler, void* context) noexcept;

  // --- Peers ---

  // Finds or makes the peer with this address, and chooses its link. No connection is opened
  // before the first send. kNoPeer: no link reaches it, `why_not` says why for each link.
  PeerId add_peer(const Address& address, std::string& why_not);
  // Forgets a peer; what was posted but not sent is completed with Result::unreachable.
  void remove_peer(PeerId peer);
  void set_peer_context(PeerId peer, void* context) noexcept;
  // True when nothing posted to the peer is still waiting, or nothing can go there any more.
  bool idle(PeerId peer) noexcept;
  // What kind of link carries frames to the peer; named "none" when none does.
  const LinkTraits& link_traits(PeerId peer) const noexcept;

  // --- Messages ---

  // Payload bytes of the largest message to any peer.
  std::size_t max_message() const noexcept { return max_message_; }
  // Sends now and returns true, or returns false and does nothing: no credit, no room in the
  // link, or older messages are waiting. The slices' bytes may be reused on return.
  bool try_send(PeerId peer, std::uint8_t tag, const Slice* slices, int count) noexcept;
  // Sends as soon as possible, after everything posted before it. The message and its bytes stay
  // alive until message.done() has been called: by progress(), for who posts may be in the middle of
  // what the callbacks for other messages would do; from here only if the peer is lost.
  void post(PeerId peer, Message& message) noexcept;

  // --- Remote memory ---

  bool register_memory(void* data, std::size_t size, std::uint32_t access, RegionHandle& out);
  void deregister_memory(RegionHandle& handle) noexcept;
  // Whether a registration is worth keeping for the next use: a link pins or maps pages for it.
  bool registration_costs() const noexcept;
  // Each starts one operation; operation->done is called exactly once, possibly inside the call.
  // put and atomics have finished when the target's memory has changed. `local` may be null (the
  // link registers as needed); sizes in bytes; addresses are the target's.
  void put(PeerId peer, const void* source, const RegionHandle* local, std::uint64_t address,
           const RegionHandle& remote, std::size_t size, Operation* operation) noexcept;
  void get(PeerId peer, void* destination, const RegionHandle* local, std::uint64_t address,
           const RegionHandle& remote, std::size_t size, Operation* operation) noexcept;
  // The same, finished on return, where the link copies within the call and nothing waits before it. False: nothing was
  // done, and what is wrong, if anything, put() and get() tell.
  bool put_at_once(PeerId peer, const void* source, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size) noexcept;
  bool get_at_once(PeerId peer, void* destination, std::uint64_t address,
                   const RegionHandle& remote, std::size_t size) noexcept;
  // Applies `request` at the target with a real CPU atomic; stores the old value (request.width
  // bytes) at `result` unless that is null. `address` must be aligned to the width.
  void atomic(PeerId peer, const AtomicRequest& request, std::uint64_t address,
              const RegionHandle& remote, void* result, Operation* operation) noexcept;
  // Operations started towards the peer and not finished.
  std::size_t outstanding(PeerId peer) noexcept;
  // True when put/get to this peer need no help of its NI.
  bool native_remote_memory(PeerId peer) noexcept;
  // Whether a message of so many bytes gets to this peer sooner when its receiver fetches it by get()
  // than as a sequence of messages.
  bool fetch_is_faster(PeerId peer, std::size_t size) noexcept;

  // --- Services (engine/service.hpp). All but attach() are called with Access held: by the service,
  // from inside the callbacks of the control program, or by its host side, which takes it. ---

  class Access {
   public:
    explicit Access(Ni& ni) noexcept : guard_(ni.lock_) {}

   private:
    SendLock::Guard guard_;
  };
  // Access without a scope, for who has it in one function and gives it up in another.
  SendLock::Entry begin_access() noexcept { return lock_.await_entry(); }
  void end_access(SendLock::Entry entry) noexcept { lock_.leave(entry); }
  // Makes `service` the receiver of frames for `id`; null ends that, and frames for it break the
  // sender's connection again. The service outlives its time here.
  void attach(ServiceId id, Service* service) noexcept;
  // As try_send(), for a frame of type `service`.
  bool service_try_send(PeerId peer, ServiceId id, const Slice* slices, int count) noexcept;
  // As post(), for frames of type `service` or `service_data`; message.type says which, message.tag
  // is the service's id. done() is called by the control program, with Access held.
  void service_post(PeerId peer, Message& message);
  // Sends a frame of type `service_data` now, or does nothing and returns false: no room in the link.
  bool service_try_send_data(PeerId peer, ServiceId id, const Slice* slices, int count) noexcept;
  // Takes back a message that service_post() has not sent yet; done() is not called.
  void service_withdraw(PeerId peer, Message& message) noexcept;
  // Sends a frame of type `service_ack` that answers no `service` frame: at most kServiceAckRoom
  // bytes, and no more of them than a bound of the service's own allows.
  void service_control(PeerId peer, ServiceId id, const void* payload, std::size_t size);
  // False: what is sent to the peer waits for a credit, and for nothing else.
  bool service_has_credit(PeerId peer) const noexcept;
  // Frees the receive buffer of a frame that on_frame() kept with Verdict::hold.
  void service_release(PeerId peer);
  // Likewise, and answers it with at most kServiceAckRoom bytes.
  void service_ack(PeerId peer, ServiceId id, const void* payload, std::size_t size);
  // Has work() called in the next pass of the control program.
  void service_wake(ServiceId id) noexcept {
    services_awake_ |= 1u << service_index(id);
    used_.store(true, std::memory_order_relaxed);
    wake_sleeper();
  }
  // Has item.call() called in the host's next progress(); not before it has been called is the item
  // passed again.
  void service_call_host(WaitingCall& item) noexcept { hand_over(item); }
  bool is_lost(PeerId peer) const noexcept { return is_lost(at(peer)); }
  // The peer with this name, if it is known; kNoPeer if not.
  PeerId find_peer(ProcessName name) noexcept;

  // --- The control program ---

  // One bounded pass over links and stalled peers; returns the number of events.
  int progress() noexcept { return passes_over() ? 0 : pass(); }
  // Its two halves: what the NI does alone, and what needs the host: waiting messages are handed
  // over and callbacks made.
  int run_control() noexcept;
  int serve_host() noexcept;
  // The host's first half of progress(): run_control() if it is the host's to run.
  int progress_control() noexcept {
    if (config_.policy != Policy::fixed) return run_control();  // which notes the visit
    lock_.note_visit();
    return 0;
  }
  // True when every accepted frame has left this process.
  bool drained() const noexcept;

  // Between the two the NI thread neither drives the control program nor calls the host back,
  // however long it takes. They may be nested. Cheap: a store and a load.
  void mask() noexcept;
  void unmask() noexcept;

  // While it lives some thread of the host polls without a pause: however seldom that thread gets a
  // core, the NI's need not do its work. With more ranks than cores it would only take the core from
  // whom all wait for. Costs two additions; any number at a time.
  class Attendance {
   public:
    explicit Attendance(Ni& ni) noexcept : ni_(ni) {
      ni_.attended_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Attendance() { ni_.attended_.fetch_sub(1, std::memory_order_relaxed); }
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;

   private:
    Ni& ni_;
  };

  // --- For the NI thread ---

  // Drives the control program in the host's stead until nothing has come for linger.time(), and arms
  // the links. With upcalls it then serves the host as well. `events` counts.
  Watchdog::Outcome take_turn(Linger& linger, int& events) noexcept;
  // One pass for a thread that polls anyway; -1: the host is inside, or has masked.
  int take_pass() noexcept;
  // Changes with every poll of the host.
  std::uint64_t polls() const noexcept { return lock_.visits(); }
  // The same, and with every look while somebody attends.
  std::uint64_t presence() noexcept {
    if (attended_.load(std::memory_order_relaxed) != 0) ++looks_;
    return polls() + (looks_ << 40);
  }
  const Config& config() const noexcept { return config_; }
  const std::vector<std::unique_ptr<Link>>& links() const noexcept { return links_; }
  bool is_host_waiting() const noexcept { return lock_.is_wanted(); }

  // --- Observation ---

  // Several threads may call (Config::threads).
  bool threads() const noexcept { return config_.threads; }
  const Counters& counters() const noexcept { return counters_; }
  // What a wake-up of the NI thread was measured to take; 0 without one.
  std::chrono::nanoseconds wake_up_cost() const noexcept;
  // For links and services, which count what they do.
  Counters& link_counters() noexcept { return counters_; }
  const Identity& identity() const noexcept { return identity_; }
  // What open() has returned.
  std::span<const std::byte> address() const noexcept { return address_; }
  // Receive buffers promised to peers, and the cap.
  const WindowBudget& window_budget() const noexcept { return budget_; }
  // Bytes of buffers held by the NI and its links now (common/engine/README.md has the bound).
  std::size_t memory() const noexcept;
  // Appends one line per peer: link, credits, window, waiting. For hang reports.
  void describe(std::string& out) const;
  void* peer_context(PeerId peer) const noexcept;
  // True once the peer has talked, or we to it.
  bool has_talked(PeerId peer) const noexcept;
  // For invariant checks in tests: the state of one peer.
  const Peer* peer_state(PeerId peer) const noexcept;
  std::size_t peer_count() const noexcept;

 private:
  enum class Attempt : std::uint8_t { sent, no_credit, no_room, broken };
  enum class Step : std::uint8_t { finished, progressed, waits };
  struct Loss {
    PeerId peer;
    std::string why;
  };

  // FrameSink: called by links inside progress().
  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override;
  int on_ring(PeerId peer, RingReader& ring, int limit) override;
  PeerId on_connect(Link& link, const Address& from) override;
  void on_broken(PeerId peer, Link& link, std::string_view why) override;

  // Everything below runs under the lock, except complete_finished().
  Peer& at(PeerId peer) noexcept { return *peers_[peer]; }
  const Peer& at(PeerId peer) const noexcept { return *peers_[peer]; }
  static bool is_lost(const Peer& peer) noexcept {
    return peer.state == Peer::State::broken || peer.state == Peer::State::removed;
  }
  Peer& insert_peer(const Address& address);
  void admit(Peer& peer, Link& link);
  int poll_links() noexcept;
  int pass() noexcept;
  // How often links without connections are polled.
  static constexpr unsigned kPassesPerIdlePoll = 256;
  // While nobody has talked there can only be a stranger's first words, for which links are polled now
  // and then anyhow: a job that has this NI loaded and talks over something else hardly pays for it.
  bool passes_over() noexcept {
    if (used_.load(std::memory_order_relaxed)) [[likely]]
      return false;
    const unsigned passes = passes_.load(std::memory_order_relaxed) + 1;
    if (passes % kPassesPerIdlePoll == 0 || news_.load(std::memory_order_relaxed)) return false;
    passes_.store(passes, std::memory_order_relaxed);
    return true;
  }
  int poll_all_links() noexcept;
  int drain_host(int limit) noexcept;
  int run_pass(bool all_links) noexcept;
  // The host leaves something to be done for which nothing will arrive: the thread, if it sleeps,
  // has to see to it.
  void wake_sleeper() noexcept {
    if (armed_ && !polling_) [[unlikely]]
      wake_thread();
  }
  void wake_thread() noexcept;
  void begin_turn() noexcept;
  void end_turn() noexcept;
  Link::Armed arm_links() noexcept;
  void disarm_links() noexcept;
  bool ensure_connected(Peer& peer);

  bool send_short(Peer& peer, std::uint8_t tag, const Slice* slices, int count) noexcept;
  [[gnu::noinline]] bool send_long(Peer& peer, std::uint8_t tag, const Slice* slices,
                                   int count) noexcept;
  [[gnu::noinline]] bool try_send_shared(PeerId peer, std::uint8_t tag, const Slice* slices,
                                         int count) noexcept;
  SendStatus transmit(Peer& peer, Meta meta, const Slice* slices, int count, std::uint32_t returned,
                      bool frees = false) noexcept;
  void departed(Peer& peer, FrameType type, std::uint32_t returned, std::size_t bytes) noexcept;
  Attempt send_data(Peer& peer, FrameType type, std::uint8_t tag, const Slice* slices,
                    int count) noexcept;
  void answer(Peer& peer, FrameType type, std::uint8_t tag, const void* payload, std::size_t size,
              bool releases = false);
  bool send_answer(Peer& peer, const Peer::ControlFrame& frame) noexcept;
  void enqueue(Peer& peer, WaitingQueue& queue, Waiting& item);
  [[gnu::noinline]] void pump(Peer& peer);
  void pump_queues(Peer& peer);
  bool pump_control(Peer& peer) noexcept;
  Step send_waiting(Peer& peer, Waiting& item);
  Step send_message(Peer& peer, WaitingQueue& queue, Message& message);
  void finish(Message& message, Result result);
  Step send_operation(Peer& peer, RemoteOp& op);
  Step send_native(Peer& peer, RemoteOp& op);
  bool send_answer(Peer& peer, Waiting& item);
  bool send_get_data(Peer& peer, GetService& service);
  Step wait(Peer& peer, Attempt attempt) noexcept;
  void retry_later(Peer& peer) noexcept;
  [[gnu::noinline]] void retry_all();

  bool accept_frame(Peer& peer, Meta meta, std::span<const std::byte> payload);
  [[gnu::noinline]] bool accept_other_frame(Peer& peer, Meta meta,
                                            std::span<const std::byte> payload);
  [[gnu::noinline]] void refuse_frame(Peer& peer, Meta meta);
  bool arrived(Peer& peer, FrameType type, std::uint32_t credits);
  bool credits_arrived(Peer& peer, std::uint32_t count);
  void release_buffer(Peer& peer) noexcept;
  void release_with_answer(Peer& peer, FrameType type, std::uint8_t tag, const void* payload,
                           std::size_t size);
  [[gnu::noinline]] void return_credits(Peer& peer) noexcept;

  RemoteOp& begin(Peer& peer, RemoteOp::Type type, void* local, std::uint64_t address,
                  const RegionHandle& remote, std::size_t size, Operation* operation);
  void transfer(PeerId peer, RemoteOp::Type type, void* memory, const RegionHandle* local,
                std::uint64_t address, const RegionHandle& remote, std::size_t size,
                Operation* operation);
  bool transfer_at_once(PeerId id, RemoteOp::Type type, void* memory, std::uint64_t address,
                        const RegionHandle& remote, std::size_t size) noexcept;
  void count_native(RemoteOp::Type type, std::size_t size) noexcept;
  void finish(RemoteOp& op, Result result) noexcept;
  static void link_finished(Operation* self, Result result);
  bool serve_put(Peer& peer, std::span<const std::byte> payload);
  bool serve_get(Peer& peer, std::span<const std::byte> payload);
  bool serve_atomic(Peer& peer, std::span<const std::byte> payload);
  bool accept_service(Peer& peer, Meta meta, std::span<const std::byte> payload);
  [[gnu::noinline]] void run_services();
  bool accept_get_data(Peer& peer, std::span<const std::byte> payload);
  bool accept_ack(Peer& peer, FrameType type, std::span<const std::byte> payload);

  void lose_peer(Peer& peer, Peer::State state, std::string_view why);
  void fail_pending(Peer& peer);
  void hand_over(Waiting& item) noexcept {
    finished_.push(item);
    news_.store(true, std::memory_order_relaxed);
  }
  [[gnu::noinline]] int drain_host_queue() noexcept;
  // Calls back for what has finished; without the lock.
  void complete_finished() noexcept {
    if (news_.load(std::memory_order_relaxed)) [[unlikely]]
      call_back_finished();
  }
  [[gnu::noinline]] void call_back_finished() noexcept;

  const Config config_;
  const Identity identity_;
  std::vector<std::byte> address_;
  Counters counters_;
  mutable SendLock lock_;
  bool polling_ = false;
  bool all_wake_ = true;  // no link has to be polled
  bool armed_ = false;    // the links; the NI thread sleeps, or is about to
  std::atomic<std::uint32_t> masks_{0};
  std::atomic<std::uint32_t> attended_{0};
  std::uint64_t looks_ = 0;  // of the thread's own
  std::atomic<bool> unmask_awaited_{false};
  std::atomic_flag draining_ = ATOMIC_FLAG_INIT;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> busy_links_;    // with a connection; the others are polled now and then
  std::atomic<unsigned> passes_{0};  // a hint
  std::atomic<bool> used_{false};    // there has been a connection, or work for a service
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, PeerId> by_name_;
  Peer* to_retry_ = nullptr;
  WindowBudget budget_;
  HostQueue host_;
  std::array<Service*, kServices> services_{};
  std::uint32_t services_awake_ = 0;  // a bit for each that wants work() to be called
  RegionTable regions_;
  RemoteOpTable operations_;
  WaitingQueue finished_;
  std::vector<Loss> losses_;
  std::atomic<bool> news_{false};  // one of the two has something for the host; a hint
  std::size_t max_message_ = 0;
  BrokenHandler broken_handler_ = nullptr;
  void* broken_context_ = nullptr;
  std::unique_ptr<NiThread> thread_;  // last: it ends before what it uses
};

}  // namespace lfc
