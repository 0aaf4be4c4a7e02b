#include "services/collective/engine.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/process_ni.hpp"
#include "machine/process_watch.hpp"
#include "services/collective/arena.hpp"
#include "services/collective/group.hpp"
#include "services/collective/group_names.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kFactsVersion = 2;
constexpr auto kWatchPeriod = std::chrono::milliseconds(200);
// Rounds of waiting without events before Open MPI's other business is looked after, and, on one
// node, before the clock is.
constexpr unsigned kSpins = 128;
constexpr unsigned kClockSpins = 1024;
// After so many it gives way even where there are processors enough for this job: some 100 us.
constexpr unsigned kPatience = 1024;

// What each process publishes. All members of a group must agree on `parameters`.
struct Facts {
  std::uint32_t version = kFactsVersion;
  std::uint32_t unused = 0;
  std::uint64_t parameters = 0;
  ArenaName arena;
};

struct Process {
  std::optional<Facts> facts;      // none: takes no part
  std::optional<Address> address;  // with facts
  std::unique_ptr<NeighbourArena> arena;
  std::unique_ptr<ProcessWatch> watch;  // a descriptor: one for all communicators
  bool reported = false;                // that it cannot be reached
};

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Engine;
Engine* engine = nullptr;

}  // namespace
}  // namespace lfc

struct lfc_coll_group {
  std::unique_ptr<lfc::CollGroup> group;
  std::vector<std::uint32_t> members;  // by rank
  std::vector<std::uint32_t> ranks;    // by member
  std::mutex watch_mutex;  // several threads may wait for operations of one communicator
  lfc::Clock::time_point watched{};
  bool loss_told = false;
  unsigned found = LFC_COLL_BOARDS | LFC_COLL_NODES;
  bool active = false;         // in the engine's list: has operations that go on by themselves
  std::atomic<int> users = 1;  // the communicator, and whoever advances it just now
};

namespace lfc {
namespace {

class Engine {
 public:
  explicit Engine(const lfc_coll_options& options) : options_(options) {
    const lfc_coll_parameters& said = options.said;
    facts_.parameters = mix(mix(mix(mix(7, said.packet), said.window), said.fan),
                            (host_forwarding() ? 1u : 0u) + 2u * static_cast<unsigned>(recovery()) +
                                8u * static_cast<unsigned>(shape()));
    std::string why_not;
    arena_ = OwnArena::create(why_not);
    if (arena_ != nullptr) facts_.arena = arena_->name();
  }
  ~Engine() {
    for (const auto& network : lingering_) network->leave();
    lingering_.clear();
    multicast_.reset();
    ni_.reset();
  }

  const Facts& facts() const noexcept { return facts_; }
  const lfc_coll_options& options() const noexcept { return options_; }
  CollOptions group_options() const noexcept {
    const lfc_coll_parameters& said = options_.said;
    return {said.packet, said.window, said.fan, shape(), host_forwarding(), threads_};
  }

  TreeShape shape() const noexcept { return choice<TreeShape>(options_.said.tree); }
  bool host_forwarding() const noexcept { return choice<bool>(options_.said.forwarding); }
  Multicast::Suspicion recovery() const noexcept {
    return can_deadlock(shape()) ? choice<Multicast::Suspicion>(options_.said.recovery)
                                 : Multicast::Suspicion::never;
  }

  bool start_service(bool threads) {
    threads_ = threads;
    ni_ = process_ni();
    if (ni_ == nullptr) return false;
    multicast_ = std::make_unique<Multicast>(
        *ni_, Multicast::Options{.share = CollGroup::share(group_options()),
                                 .forward_in_host = host_forwarding(),
                                 .recovery = recovery(),
                                 .delay = std::uint64_t{options_.said.recovery_delay} * 1000});
    return true;
  }

  bool knows(ProcessName name) {
    const std::lock_guard guard(mutex_);
    return processes_.contains(name.packed());
  }
  void introduce(ProcessName name, std::span<const std::byte> facts,
                 std::span<const std::byte> address) {
    const std::lock_guard guard(mutex_);
    Process& process = processes_[name.packed()];
    Facts read;
    if (facts.size() != sizeof read || address.empty()) return;
    std::memcpy(&read, facts.data(), sizeof read);
    if (read.version != kFactsVersion) return;
    process.address = Address::parse(address);
    if (process.address) process.facts = read;
  }

  lfc_coll_group* join(std::uint64_t key, const lfc_coll_process* processes, int count, int self,
                       std::string& why_not);
  void agree(unsigned found) noexcept { agreed_ = found; }
  void leave(lfc_coll_group* group);
  void release(lfc_coll_group* group);
  void sweep();

  // Whether the boards that process `first` makes can be reached.
  bool reaches_boards(ProcessName first) {
    const std::lock_guard guard(mutex_);
    if (first == ni_->identity().name) return arena_ != nullptr;
    return neighbour(first).reachable();
  }

  // The memory of a board that process `first` makes for its neighbours.
  std::byte* board(ProcessName first, std::uint64_t key, std::uint32_t lanes, bool& failed) {
    const std::lock_guard guard(mutex_);
    if (first == ni_->identity().name) {
      std::byte* const memory = arena_ == nullptr ? nullptr : arena_->make(key, lanes);
      failed = memory == nullptr;
      if (failed)
        std::fprintf(
            stderr,
            "coll lfc: no shared memory for a communicator more (%zu are there); leave it out "
            "with --mca coll ^lfc\n",
            arena_ == nullptr ? 0 : arena_->boards());
      return memory;
    }
    NeighbourArena& arena = neighbour(first);
    std::byte* const memory = arena.find(key, lanes, failed);
    if (memory == nullptr && !arena.why_not().empty()) {
      if (!failed)
        std::fprintf(stderr, "coll lfc: %s; leave it out with --mca coll ^lfc\n",
                     arena.why_not().c_str());
      failed = true;
    }
    return memory;
  }

  void report_unreachable(ProcessName name, const std::string& why_not) {
    const std::lock_guard guard(mutex_);
    if (std::exchange(processes_[name.packed()].reported, true)) return;
    std::fprintf(stderr, "coll lfc: %s cannot be reached by LFC: %s\n", shown(name).c_str(),
                 why_not.c_str());
  }

  PeerId peer(ProcessName name) {
    std::optional<Address> address;
    {
      const std::lock_guard guard(mutex_);
      address = processes_[name.packed()].address;
    }
    {
      const Ni::Access access(*ni_);
      const PeerId known = ni_->find_peer(name);
      if (known != kNoPeer) return known;
    }
    std::string why_not = "its address is malformed";
    PeerId peer = kNoPeer;
    if (address) peer = ni_->add_peer(*address, why_not = {});
    if (peer == kNoPeer) report_unreachable(name, why_not);
    return peer;
  }

  Ni* ni() noexcept { return ni_.get(); }
  // Open MPI's other business, now and then where nobody has to wait for anything.
  void visit() {
    const std::uint64_t visits = visits_.load(std::memory_order_relaxed) + 1;
    visits_.store(visits, std::memory_order_relaxed);
    if (visits % kSpins == 0) options_.progress();
  }
  // How often to look for the others before waiting in earnest.
  unsigned looks() const noexcept { return options_.crowded ? 0 : kSpins; }

  CollOperation& describe(lfc_coll_group& group, const lfc_coll_call& call,
                          CollOperation& operation) {
    operation.kind = static_cast<CollOperation::Kind>(call.kind);
    operation.root = operation.kind == CollOperation::Kind::allreduce
                         ? 0
                         : group.members[static_cast<std::size_t>(call.root)];
    operation.in = static_cast<const std::byte*>(call.in);
    operation.out = static_cast<std::byte*>(call.out);
    operation.bytes = call.bytes;
    static_assert(sizeof(CollOperation::Block) == sizeof(lfc_coll_block) &&
                  offsetof(CollOperation::Block, bytes) == offsetof(lfc_coll_block, bytes));
    operation.blocks = reinterpret_cast<const CollOperation::Block*>(call.blocks);
    operation.ranks = group.ranks.data();
    operation.op = static_cast<CombineOp>(call.op);
    operation.type = static_cast<CombineType>(call.type);
    operation.mismatch.store(call.mismatch, std::memory_order_relaxed);
    return operation;
  }

  void wait(lfc_coll_group& group, CollOperation& operation);
  void start(lfc_coll_group& group, CollOperation& operation);
  int progress();
  void submitted() noexcept { operations_.fetch_add(1, std::memory_order_relaxed); }
  void finished() noexcept { running_.fetch_sub(1, std::memory_order_relaxed); }
  void watch(lfc_coll_group& group);
  void explain(lfc_coll_group& group, CollOperation::Status status);
  void describe(char* text, std::size_t size);

 private:
  // Which of its words the user chose: in the order of the values.
  template <class Value>
  Value choice(const lfc_text& member) const noexcept {
    return static_cast<Value>(
        lfc_parameter_choice(lfc_coll_parameter_table(), &options_.said, &member));
  }
  // With the mutex held.
  NeighbourArena& neighbour(ProcessName name) {
    Process& process = processes_[name.packed()];
    if (process.arena == nullptr)
      process.arena = std::make_unique<NeighbourArena>(process.facts->arena);
    return *process.arena;
  }
  bool has_ended(ProcessName name) {
    const std::lock_guard guard(mutex_);
    Process& process = processes_[name.packed()];
    if (process.watch == nullptr)
      process.watch = std::make_unique<ProcessWatch>(process.facts->arena.pid);
    return process.watch->dead();
  }
  void tell_loss(lfc_coll_group& group, const std::string& what);
  static std::string shown(ProcessName name) {
    return "process " + std::to_string(name.job) + ":" + std::to_string(name.rank);
  }
  std::uint64_t node_of(ProcessName name, const Facts& facts) const noexcept {
    const ArenaName& arena = facts.arena;
    if (arena.boot == 0) return mix(mix(1, name.packed()), 1);  // alone
    return mix(mix(2, arena.boot), arena.space);
  }

  const lfc_coll_options options_;
  bool threads_ = false;
  std::atomic<std::uint64_t> visits_ = 0;
  Facts facts_;
  std::unique_ptr<OwnArena> arena_;
  std::shared_ptr<Ni> ni_;
  std::unique_ptr<Multicast> multicast_;
  std::vector<std::unique_ptr<GroupNetwork>> lingering_;  // of communicators that are gone
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Process> processes_;
  GroupNames names_;
  std::mutex active_mutex_;
  std::vector<lfc_coll_group*> active_;
  std::atomic<std::uint32_t> running_ = 0;
  unsigned agreed_ = LFC_COLL_BOARDS | LFC_COLL_NODES;  // set before there is a second thread
  std::atomic<std::uint64_t> operations_ = 0;           // but those done at once, which are visits
  std::uint64_t groups_ = 0;
  std::uint64_t groups_made_ = 0;
};

// What a group asks of the engine.
class EnginePlace final : public CollGroup::Place {
 public:
  EnginePlace(std::uint64_t key, Membership members, std::uint32_t self)
      : key_(key), members_(std::move(members)) {
    first_ = members_.first(members_.node(self));
    for (std::uint32_t member = 0; member < members_.size(); ++member)
      lanes_ += members_.node(member) == members_.node(self) ? 1 : 0;
  }
  std::byte* board(bool& failed) override {
    return engine->board(members_.name(first_), key_, lanes_, failed);
  }
  PeerId peer(std::uint32_t member) override { return engine->peer(members_.name(member)); }
  Ni* ni() override { return engine->ni(); }

 private:
  std::uint64_t key_;
  Membership members_;
  std::uint32_t first_ = 0;
  std::uint32_t lanes_ = 0;
};

lfc_coll_group* Engine::join(std::uint64_t key, const lfc_coll_process* processes, int count,
                             int self, std::string& why_not) {
  const auto size = static_cast<std::uint32_t>(count);
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  const auto name_of = [&](std::uint32_t rank) {
    return ProcessName{processes[rank].job, processes[rank].rank};
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return name_of(a).packed() < name_of(b).packed();
  });
  auto made = std::make_unique<lfc_coll_group>();
  made->members.resize(size);
  made->ranks = order;
  std::size_t max_message = multicast_->ni().max_message();
  for (std::uint32_t member = 0; member < size; ++member) {
    const ProcessName name = name_of(order[member]);
    made->members[order[member]] = member;
    key = mix(mix(key, name.packed()), order[member]);
    const std::lock_guard guard(mutex_);
    const Process& process = processes_[name.packed()];
    if (!process.facts) {
      why_not = "a rank has no LFC network interface";
      return nullptr;
    }
    if (process.facts->parameters != facts_.parameters) {
      why_not = "ranks have different parameters";
      return nullptr;
    }
    max_message = std::min(max_message, Ni::max_message_of(*process.address));
    names.push_back(name);
    nodes.push_back(node_of(name, *process.facts));
  }
  const std::uint32_t own = made->members[static_cast<std::size_t>(self)];
  CollOptions options = group_options();
  options.packet = std::min(options.packet, multicast_->max_packet(max_message));
  if (options.packet == 0) {
    why_not = "a rank takes no packets";
    return nullptr;
  }
  const Membership members(names, nodes);
  if ((agreed_ & LFC_COLL_BOARDS) == 0 ||
      (members.nodes() > 1 && (agreed_ & LFC_COLL_NODES) == 0)) {
    why_not = "some rank of the job cannot reach another by LFC";
    return nullptr;
  }
  {
    const std::lock_guard guard(mutex_);
    key = names_.next(key);
  }
  if (!reaches_boards(members.name(members.first(members.node(own)))))
    made->found &= ~unsigned{LFC_COLL_BOARDS};
  std::unique_ptr<GroupNetwork> network;
  if (members.nodes() > 1) {
    {
      const std::lock_guard guard(mutex_);
      sweep();
    }
    network = std::make_unique<GroupNetwork>(*multicast_);
    std::vector<PeerId> peers(size, kNoPeer);
    std::vector<std::uint32_t> out_of_reach;
    for (std::uint32_t node = 0; node < members.nodes(); ++node) {
      const std::uint32_t first = members.first(node);
      if (first == own) continue;
      peers[first] = peer(members.name(first));
      if (peers[first] == kNoPeer) out_of_reach.push_back(first);
    }
    network->join(key, members, own, std::move(peers));
    if (!out_of_reach.empty()) made->found &= ~unsigned{LFC_COLL_NODES};
    const Ni::Access access(*ni_);
    for (const std::uint32_t first : out_of_reach) network->set_peer(first, kNoPeer);
  }
  made->group = std::make_unique<CollGroup>(
      members, own, std::move(network), std::make_unique<EnginePlace>(key, members, own), options);
  const std::lock_guard guard(mutex_);
  ++groups_;
  ++groups_made_;
  return made.release();
}

void Engine::leave(lfc_coll_group* group) {
  {
    const std::lock_guard guard(active_mutex_);
    std::erase(active_, group);
  }
  release(group);
}

void Engine::release(lfc_coll_group* group) {
  if (group->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_ptr<GroupNetwork> network = group->group->take_network();
  delete group;
  const std::lock_guard guard(mutex_);
  --groups_;
  if (network != nullptr) lingering_.push_back(std::move(network));
  sweep();
}

// The NI's parts of communicators that are gone, once they have nothing more to do.
void Engine::sweep() {
  std::erase_if(lingering_, [](const auto& old) {
    if (!old->drained()) return false;
    old->leave();
    return true;
  });
}

// Whether the ranks of this node still live; asked now and then while waiting.
void Engine::watch(lfc_coll_group& group) {
  const Clock::time_point now = Clock::now();
  const std::unique_lock looking(group.watch_mutex, std::try_to_lock);
  if (!looking.owns_lock() || now - group.watched < kWatchPeriod) return;
  const bool first = group.watched == Clock::time_point{};
  group.watched = now;
  if (first) return;
  CollGroup& coll = *group.group;
  for (const std::uint32_t member : coll.local()) {
    const ProcessName name = coll.members().name(member);
    if (name == ni_->identity().name || !has_ended(name)) continue;
    coll.set_lost();
    tell_loss(group, shown(name) + " has ended");
  }
}

// An operation has ended so: what MPI's error code does not say.
void Engine::explain(lfc_coll_group& group, CollOperation::Status status) {
  const CollGroup& coll = *group.group;
  const bool disagreed = status == CollOperation::Status::mismatch && coll.disagreed();
  if (!disagreed && status != CollOperation::Status::lost) return;
  const std::lock_guard looking(group.watch_mutex);
  if (disagreed) {
    tell_loss(group, "ranks have called it with other bytes, another root, or another call");
    return;
  }
  const std::uint32_t member = coll.lost_member();
  tell_loss(group, member < coll.members().size()
                       ? "no connection to " + shown(coll.members().name(member))
                       : "another member has lost a rank, or its call was not ours");
}

// Once for each communicator; with its watch_mutex held.
void Engine::tell_loss(lfc_coll_group& group, const std::string& what) {
  if (std::exchange(group.loss_told, true)) return;
  std::fprintf(stderr, "coll lfc: %s; collectives of this communicator fail from now on\n",
               what.c_str());
}

void Engine::wait(lfc_coll_group& group, CollOperation& operation) {
  CollGroup& coll = *group.group;
  const bool network = coll.members().nodes() > 1;
  std::optional<Ni::Attendance> attendance;
  if (network) attendance.emplace(*ni_);
  unsigned idle = 0;
  while (!operation.finished.load(std::memory_order_acquire)) {
    if (coll.advance()) {
      idle = 0;
      continue;
    }
    ++idle;
    if (operation.flag != nullptr && !options_.crowded) {
      // Nothing else matters for a moment; a pause would cost as much as the hand-over.
      unsigned spins = 0;
      while (operation.flag->load(std::memory_order_acquire) != operation.flag_value &&
             ++spins < kSpins) {
      }
      if (spins < kSpins) continue;
    }
    if (options_.crowded) {
      // Somebody else has to run before anything can change.
      if (network || idle % 8 == 0) options_.progress();
      sched_yield();
    } else if (network || idle % 16 == 0) {
      options_.progress();
      // Whoever it waits for may be kept from running by us, or by another job.
      if (idle > kPatience) sched_yield();
    } else {
      relax();
    }
    if (idle % (options_.crowded ? kSpins : kClockSpins) == 0) watch(group);
  }
  group.watched = {};
}

// Puts the group among those that lfc_coll_progress() advances.
void Engine::start(lfc_coll_group& group, CollOperation& operation) {
  running_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard guard(active_mutex_);
    if (!std::exchange(group.active, true)) active_.push_back(&group);
  }
  submitted();
  group.group->submit(operation);
}

int Engine::progress() {
  if (running_.load(std::memory_order_relaxed) == 0) return 0;
  std::vector<lfc_coll_group*> list;
  {
    const std::lock_guard guard(active_mutex_);
    std::erase_if(active_, [](lfc_coll_group* group) {
      if (!group->group->idle()) return false;
      group->active = false;
      return true;
    });
    list = active_;
    for (lfc_coll_group* group : list) group->users.fetch_add(1, std::memory_order_relaxed);
  }
  int events = 0;
  for (lfc_coll_group* group : list) {
    events += group->group->advance() ? 1 : 0;
    watch(*group);
    release(group);
  }
  return events;
}

void Engine::describe(char* text, std::size_t size) {
  Multicast::Stats stats;
  std::size_t packets = 0;
  if (multicast_ != nullptr) {
    const Ni::Access access(*ni_);
    stats = multicast_->stats();
    packets = multicast_->packets();
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::snprintf(
      text, size,
      "operations=%llu groups=%llu groups_made=%llu boards=%llu multicast_sent=%llu forwarded=%llu "
      "taken=%llu copied=%llu blocked=%llu early=%llu stored=%llu most_stored=%llu packets=%llu",
      number(operations_ + visits_), number(groups_), number(groups_made_),
      number(arena_ == nullptr ? 0 : arena_->boards()), number(stats.sent), number(stats.forwarded),
      number(stats.taken), number(stats.copied), number(stats.blocked), number(stats.early),
      number(stats.stored), number(stats.most_stored), number(packets));
}

// A CollOperation in the caller's room, with the caller's way to be told.
struct Started : CollOperation {
  lfc_coll_done told = nullptr;
  lfc_coll_group* group = nullptr;
};
static_assert(sizeof(Started) <= sizeof(lfc_coll_operation));

void tell(CollOperation* operation) {
  auto* started = static_cast<Started*>(operation);
  const lfc_coll_done told = started->told;
  const auto status = static_cast<lfc_coll_status>(started->status);
  engine->explain(*started->group, started->status);
  engine->finished();
  std::destroy_at(started);
  told(reinterpret_cast<lfc_coll_operation*>(operation), status);
}

}  // namespace
}  // namespace lfc

using lfc::engine;

const void* lfc_coll_open(const lfc_coll_options* options, size_t* size) {
  try {
    engine = new lfc::Engine(*options);
  } catch (const std::exception&) {
    *size = 0;
    return nullptr;
  }
  *size = sizeof(lfc::Facts);
  return &engine->facts();
}

void lfc_coll_close(void) {
  delete engine;
  engine = nullptr;
}

bool lfc_coll_start_service(bool threads) {
  return engine != nullptr && engine->start_service(threads);
}

bool lfc_coll_knows(lfc_coll_process process) { return engine->knows({process.job, process.rank}); }

void lfc_coll_introduce(lfc_coll_process process, const void* facts, size_t facts_size,
                        const void* address, size_t address_size) {
  engine->introduce({process.job, process.rank}, {static_cast<const std::byte*>(facts), facts_size},
                    {static_cast<const std::byte*>(address), address_size});
}

lfc_coll_group* lfc_coll_join(uint64_t key, const lfc_coll_process* processes, int count, int self,
                              char* why, size_t why_size) {
  try {
    std::string why_not;
    lfc_coll_group* const group = engine->join(key, processes, count, self, why_not);
    if (group == nullptr) std::snprintf(why, why_size, "%s", why_not.c_str());
    return group;
  } catch (const std::exception& failure) {
    std::snprintf(why, why_size, "%s", failure.what());
    return nullptr;
  }
}

void lfc_coll_leave(lfc_coll_group* group) { engine->leave(group); }

unsigned lfc_coll_reach(const lfc_coll_group* group) { return group->found; }
void lfc_coll_agree(unsigned found) { engine->agree(found); }

bool lfc_coll_combines(lfc_coll_op op, lfc_coll_type type) {
  return lfc::find_combine(static_cast<lfc::CombineOp>(op), static_cast<lfc::CombineType>(type)) !=
         nullptr;
}

lfc_coll_status lfc_coll_run(lfc_coll_group* group, const lfc_coll_call* call) {
  if (call->bytes == 0 && call->kind != LFC_COLL_ALLREDUCE)
    return call->mismatch ? LFC_COLL_MISMATCH : LFC_COLL_OK;
  lfc::CollOperation operation;
  engine->describe(*group, *call, operation);
  if (group->group->try_at_once(operation, engine->looks())) {
    engine->visit();
    return LFC_COLL_OK;
  }
  engine->submitted();
  group->group->submit(operation);
  engine->wait(*group, operation);
  engine->explain(*group, operation.status);
  return static_cast<lfc_coll_status>(operation.status);
}

void lfc_coll_start(lfc_coll_group* group, const lfc_coll_call* call, lfc_coll_operation* room,
                    lfc_coll_done done) {
  if (call->bytes == 0 && call->kind != LFC_COLL_ALLREDUCE) {
    done(room, call->mismatch ? LFC_COLL_MISMATCH : LFC_COLL_OK);
    return;
  }
  auto* operation = new (room) lfc::Started;
  operation->told = done;
  operation->group = group;
  operation->done = lfc::tell;
  engine->start(*group, engine->describe(*group, *call, *operation));
}

int lfc_coll_progress(void) { return engine == nullptr ? 0 : engine->progress(); }

unsigned lfc_coll_nodes(const lfc_coll_group* group) { return group->group->members().nodes(); }

void lfc_coll_describe(char* text, size_t size) {
  *text = '\0';
  if (engine != nullptr) engine->describe(text, size);
}
