#include "services/collective/collectives.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "lfc/words.h"
#include "machine/address_room.hpp"
#include "stats/counter_line.hpp"

namespace lfc {
namespace {

// Fruitless advances of a nonblocking operation between two looks for losses.
constexpr unsigned kLooks = 32;
// In the parts that the job has agreed on: they are set.
constexpr unsigned kJobHasAgreed = 1u << 31;

// The value of a parameter that is one of several words (lfc/words.h).
template <class Value>
Value choice(const lfc_coll_parameters& parameters, const lfc_text& member) noexcept {
  return static_cast<Value>(lfc_parameter_choice(lfc_coll_parameter_table(), &parameters, &member));
}

CollOptions options_of(const lfc_coll_parameters& parameters, bool threads) noexcept {
  return {parameters.packet,
          parameters.window,
          parameters.fan,
          choice<TreeShape>(parameters, parameters.tree),
          choice<lfc_forwarding>(parameters, parameters.forwarding) == LFC_FORWARDING_HOST,
          threads};
}

Suspicion recovery_of(const lfc_coll_parameters& parameters) noexcept {
  return can_deadlock(choice<TreeShape>(parameters, parameters.tree))
             ? choice<Suspicion>(parameters, parameters.recovery)
             : Suspicion::never;
}

// A digest of the parameters that must be equal at all ranks. Open MPI chooses the component that serves a call by its
// priority, at each rank by that rank's.
std::uint64_t digest_of(const lfc_coll_parameters& parameters) {
  const CollOptions options = options_of(parameters, false);
  return mix(
      mix(mix(mix(mix(7, options.packet), options.window), options.fan), parameters.priority),
      (options.host_forwarding ? 1u : 0u) + 2u * static_cast<unsigned>(recovery_of(parameters)) +
          8u * static_cast<unsigned>(options.shape));
}

}  // namespace

Collectives::Collectives(const lfc_coll_options& options)
    : options_(options),
      processes_(digest_of(options.parameters)),
      wait_policy_({options.crowded, options.progress, options.progress_nowait}) {}

Collectives::~Collectives() {
  (void)walk();
  for (const auto& tree : lingering_) tree->leave();
  lingering_.clear();
  aside_.reset();
  multicast_.reset();
}

void Collectives::start_service(ServicePort& port, HostPort& engine, bool threads) {
  threads_ = threads;
  engine_ = &engine;
  processes_.use(port);
  const CollOptions options = options_of(options_.parameters, threads);
  multicast_ = std::make_unique<Multicast>(
      port, Multicast::Options{.share = Pace::share(options),
                               .forward_in_host = options.host_forwarding,
                               .recovery = recovery_of(options_.parameters),
                               .delay = std::uint64_t{options_.parameters.recovery_delay} * 1000});
  if (engine.goes_on_alone() && !options.host_forwarding)
    aside_ = std::make_unique<Aside>(*multicast_, engine);
}

// --- Communicators ---

// Sorts the members by their names. False: the communicator is not served, for the reason `why_not`, which all ranks
// find.
bool Collectives::make_roster(Roster& roster, const lfc_coll_process* processes, int count,
                              int self, std::string& why_not) {
  const auto size = static_cast<std::uint32_t>(count);
  const auto name_of = [&](std::uint32_t rank) {
    return ProcessName{processes[rank].job, processes[rank].rank};
  };
  roster.ranks.resize(size);
  std::iota(roster.ranks.begin(), roster.ranks.end(), 0u);
  std::sort(roster.ranks.begin(), roster.ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return name_of(a).packed() < name_of(b).packed();
  });
  roster.max_payload = multicast_->port().max_payload();
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  for (std::uint32_t member = 0; member < size; ++member) {
    const ProcessName name = name_of(roster.ranks[member]);
    if (roster.ranks[member] == static_cast<std::uint32_t>(self)) roster.self = member;
    roster.key = mix(mix(roster.key, name.packed()), roster.ranks[member]);
    if (const char* const reason = processes_.why_not(name)) {
      why_not = reason;
      return false;
    }
    roster.max_payload = std::min(roster.max_payload, processes_.max_payload(name));
    names.push_back(name);
    nodes.push_back(processes_.node_of(name));
  }
  roster.members = Membership(names, nodes);
  return true;
}

// Makes this node's place in the trees; clears LFC_COLL_NODES in `found` if another node is out of reach.
std::unique_ptr<TreeNode> Collectives::plant(const Roster& roster, unsigned& found) {
  if (roster.members.nodes() == 1) return nullptr;
  {
    const std::lock_guard guard(mutex_);
    sweep();
  }
  auto tree = std::make_unique<TreeNode>(*multicast_);
  std::vector<PeerId> peers(roster.members.size(), kNoPeer);
  std::vector<std::uint32_t> out_of_reach;
  for (std::uint32_t node = 0; node < roster.members.nodes(); ++node) {
    const std::uint32_t first = roster.members.first(node);
    if (first == roster.self) continue;
    peers[first] = processes_.peer(roster.members.name(first));
    if (peers[first] == kNoPeer) out_of_reach.push_back(first);
  }
  tree->join(roster.key, roster.members, roster.self, std::move(peers));
  if (!out_of_reach.empty()) found &= ~unsigned{LFC_COLL_NODES};
  for (const std::uint32_t first : out_of_reach) tree->set_peer(first, kNoPeer);
  return tree;
}

lfc_coll_communicator* Collectives::join(lfc_coll_key key, const lfc_coll_process* processes,
                                         int count, int self, lfc_coll_use use,
                                         std::string& why_not) {
  Roster roster;
  roster.key = key.number;
  if (!make_roster(roster, processes, count, self, why_not)) return nullptr;
  CollOptions options = options_of(options_.parameters, threads_);
  options.packet = std::min(options.packet, multicast_->max_packet(roster.max_payload));
  if (options.packet < kLeastPacket) {
    why_not = "a rank takes no packets that hold a number";
    return nullptr;
  }
  const std::uint64_t key_of_ranks = roster.key;
  {
    const std::lock_guard guard(mutex_);
    roster.key = names_.next(key_of_ranks);
  }
  unsigned found = LFC_COLL_BOARDS | LFC_COLL_NODES | LFC_COLL_MEMORY;
  const Membership& members = roster.members;
  if (!processes_.reaches_boards(members.name(members.first(members.node(roster.self)))))
    found &= ~unsigned{LFC_COLL_BOARDS};
  for (std::uint32_t member = 0; member < members.size(); ++member)
    if (members.node(member) == members.node(roster.self) &&
        !processes_.reads(members.name(member)))
      found &= ~unsigned{LFC_COLL_MEMORY};
  std::unique_ptr<TreeNode> tree = plant(roster, found);
  auto state = std::make_unique<CommunicatorState>(members, roster.self, std::move(roster.ranks),
                                                   roster.key, std::move(tree), processes_, use);
  if (state->has_room()) found |= LFC_COLL_ROOM;
  if (!AddressRoom::is_limited()) found |= LFC_COLL_UNLIMITED;
  auto made = std::make_unique<lfc_coll_communicator>(std::move(state), options, aside_.get(),
                                                      found, options_.prints_losses);
  const bool is_request = use == LFC_COLL_REQUEST || use == LFC_COLL_NEIGHBOUR_REQUEST;
  if (key.is_unique && !is_request) made->last_key = key_of_ranks;
  const std::lock_guard guard(mutex_);
  groups_.insert(made.get());
  processes_.attach(made->communicator.members());
  ++groups_made_;
  return made.release();
}

std::optional<std::uint32_t> Collectives::combine_on_node(const lfc_coll_communicator& communicator,
                                                          std::uint32_t word) {
  const Membership& members = communicator.communicator.members();
  if (members.nodes() != 1) return std::nullopt;
  std::vector<ProcessName> names;
  for (std::uint32_t member = 0; member < members.size(); ++member)
    names.push_back(members.name(member));
  return processes_.combine(names, word, options_.progress);
}

// If another thread is in walk(), its next walk releases the communicator.
void Collectives::leave(lfc_coll_communicator* communicator) {
  release(communicator);
  note_left();
  (void)walk();
}

void Collectives::leave_rest() {
  const std::lock_guard guard(mutex_);
  for (lfc_coll_communicator* const kept : groups_) {
    if (!kept->communicator.idle()) continue;
    if (auto tree = kept->communicator.take_tree()) lingering_.push_back(std::move(tree));
  }
  sweep();
}

void Collectives::note_left() noexcept {
  if (!left_.exchange(true, std::memory_order_relaxed))
    running_.fetch_add(1, std::memory_order_relaxed);
}

void Collectives::release(lfc_coll_communicator* communicator) {
  if (communicator->users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_ptr<TreeNode> tree = communicator->communicator.take_tree();
  const std::lock_guard guard(mutex_);
  groups_.erase(communicator);
  if (communicator->last_key) names_.forget(*communicator->last_key);
  const Membership members = communicator->communicator.members();
  delete communicator;
  processes_.detach(members);
  if (tree != nullptr) lingering_.push_back(std::move(tree));
  sweep();
}

// Removes the NI's parts of communicators that were left, once they have nothing more to do.
void Collectives::sweep() {
  std::erase_if(lingering_, [](const auto& old) {
    if (!old->drained()) return false;
    old->leave();
    return true;
  });
}

void Collectives::agree_for_job(unsigned found) noexcept { job_agreed_ = kJobHasAgreed | found; }

bool Collectives::agree_as_job(lfc_coll_communicator& communicator) const noexcept {
  const unsigned agreed = job_agreed_;
  const Membership& members = communicator.communicator.members();
  // The members are in the order of their names, and so of their jobs.
  if ((agreed & kJobHasAgreed) == 0 || members.name(0).job != members.name(members.size() - 1).job)
    return false;
  communicator.agreed = agreed & ~kJobHasAgreed;
  if ((agreed & LFC_COLL_UNLIMITED) != 0 || !communicator.is_served()) return true;
  communicator.agreed = 0;  // some rank may have no room for its board
  return false;
}

bool Collectives::reads_memory(const lfc_coll_communicator& communicator) const noexcept {
  const Membership& members = communicator.communicator.members();
  return members.nodes() == 1 && (communicator.agreed & LFC_COLL_MEMORY) != 0 &&
         members.size() <= most_in_row();
}

// --- Operations ---

lfc_coll_status Collectives::run(lfc_coll_communicator& communicator, const lfc_coll_call& call) {
  if (try_run(communicator, call)) return LFC_COLL_OK;
  CollOperation operation(call);
  operation.waited_for = true;
  operations_.fetch_add(1, std::memory_order_relaxed);
  communicator.communicator.submit(operation);
  {
    std::optional<HostPort::Attendance> attendance;
    if (communicator.communicator.members().nodes() > 1) attendance.emplace(*engine_);
    wait_policy_.until(operation, communicator.communicator,
                       [&] { communicator.watch.look(communicator.communicator, processes_); });
  }
  if (communicator.communicator.forwards(operation)) engine_->leaving();
  communicator.watch.moved();
  communicator.watch.explain(communicator.communicator, processes_, operation.status);
  return operation.status;
}

void Collectives::start(lfc_coll_communicator& communicator, CollOperation& operation) {
  running_.fetch_add(1, std::memory_order_relaxed);
  if (active_.begun(communicator)) communicator.users.fetch_add(1, std::memory_order_relaxed);
  operations_.fetch_add(1, std::memory_order_relaxed);
  communicator.communicator.submit(operation);
  wait_policy_.progress_nowait();  // a wait for an operation that has ended calls no progress
}

void Collectives::finished(lfc_coll_communicator& communicator, lfc_coll_status status) {
  communicator.watch.explain(communicator.communicator, processes_, status);
  ActiveOperations::ended(communicator);
  running_.fetch_sub(1, std::memory_order_relaxed);
}

int Collectives::progress() {
  if (running_.load(std::memory_order_relaxed) == 0) return 0;
  return walk();
}

int Collectives::walk() {
  int events = 0;
  const auto advance = [&](ActiveOperations::Entry& entry) {
    auto& each = static_cast<lfc_coll_communicator&>(entry);
    if (each.communicator.advance()) {
      ++events;
      each.fruitless = 0;
      each.watch.moved();
    } else if (++each.fruitless % kLooks == 0) {
      each.watch.look(each.communicator, processes_);
    }
  };
  const auto let_go = [this](ActiveOperations::Entry& entry) {
    release(&static_cast<lfc_coll_communicator&>(entry));
  };
  const bool left = left_.exchange(false, std::memory_order_relaxed);
  if (left) running_.fetch_sub(1, std::memory_order_relaxed);
  if (!active_.for_each(advance, let_go) && left) note_left();
  return events;
}

void Collectives::describe(char* text, std::size_t size) {
  Multicast::Stats stats;
  std::size_t packets = 0;
  if (multicast_ != nullptr) {
    const ServicePort::Access access(multicast_->port());
    stats = multicast_->stats();
    packets = multicast_->packets();
  }
  CounterLine line(text, size);
  line.add("operations", operations_ + wait_policy_.visits());
  line.add("groups", groups_.size());
  line.add("groups_made", groups_made_);
  line.add("boards", processes_.boards());
  line.add("multicast_sent", stats.sent);
  line.add("forwarded", stats.forwarded);
  line.add("taken", stats.taken);
  line.add("kept", stats.kept);
  line.add("blocked", stats.blocked);
  line.add("early", stats.early);
  line.add("stored", stats.stored);
  line.add("most_stored", stats.most_stored);
  line.add("packets", packets);
}

}  // namespace lfc
