#include "services/collective/processes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "machine/cma.hpp"
#include "machine/first_of_node.hpp"
#include "services/collective/protocol/names.hpp"
#include "wire/node_name.hpp"

namespace lfc {

Processes::Processes(std::uint64_t parameters) {
  facts_.parameters = parameters;
  std::string why_not;
  arena_ = OwnArena::create(why_not);
  if (arena_ != nullptr) facts_.arena = arena_->name();
  facts_.probe = reinterpret_cast<std::uintptr_t>(&facts_.arena.memory.cookie[0]);
}

// --- Published facts ---

bool Processes::knows(ProcessName name) {
  const std::lock_guard guard(mutex_);
  return processes_.contains(name.packed());
}

void Processes::introduce(ProcessName name, std::span<const std::byte> facts,
                          std::span<const std::byte> address) {
  const std::lock_guard guard(mutex_);
  Process& known = process(name);
  Facts read;
  if (facts.size() != sizeof read || address.empty()) return;
  std::memcpy(&read, facts.data(), sizeof read);
  if (read.version != facts_.version) return;
  known.address = Address::parse(address);
  if (known.address) known.facts = read;
}

void* Processes::copy_address(ProcessName name, std::size_t& size) {
  const std::lock_guard guard(mutex_);
  const auto found = processes_.find(name.packed());
  if (found == processes_.end() || !found->second.facts) return nullptr;
  const std::span<const std::byte> bytes = found->second.address->bytes();
  void* const copy = std::malloc(bytes.size());
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, bytes.data(), bytes.size());
  size = bytes.size();
  return copy;
}

const char* Processes::why_not(ProcessName name) {
  const std::lock_guard guard(mutex_);
  const Process& known = process(name);
  if (!known.facts) return "a rank has no LFC engine, or another build of LFC";
  return known.facts->parameters == facts_.parameters ? nullptr : "ranks have different parameters";
}

std::uint64_t Processes::node_of(ProcessName name) {
  const std::lock_guard guard(mutex_);
  const ProcessSpace& space = process(name).facts->arena.space;
  if (space.boot == 0) return mix(mix(1, name.packed()), 1);  // alone
  return mix(mix(2, space.boot), space.pid_namespace);
}

std::size_t Processes::max_payload(ProcessName name) {
  const std::lock_guard guard(mutex_);
  return port_->max_payload_of(*process(name).address);
}

// --- Agreement ---

// Whether the published facts permit these processes to open the first one's arena through /proc. Where arenas are
// handed over instead, a refusal would take some seconds.
bool Processes::open_through_proc(std::span<const ProcessName> names) {
  const std::lock_guard guard(mutex_);
  const ProcessSpace first = process(names.front()).facts->arena.space;
  return std::all_of(names.begin(), names.end(), [&](ProcessName name) {
    return may_open(first, process(name).facts->arena.space);
  });
}

// Null: the first process's arena is out of reach. This process's own arena then has a mark, which the first one finds.
Agreement* Processes::agreement_of(ProcessName first) {
  const std::lock_guard guard(mutex_);
  if (arena_ == nullptr) return nullptr;
  if (is_self(first)) return &arena_->agreement();
  Agreement* const found = local_peer(first).agreement();
  if (found == nullptr) arena_->agreement().refuse();
  return found;
}

// Whether the process has refused or ended, or cannot be checked. The arena of an ended process cannot be opened.
bool Processes::cannot_arrive(ProcessName name) noexcept {
  try {
    ArenaName arena;
    {
      const std::lock_guard guard(mutex_);
      arena = process(name).facts->arena;
    }
    PeerArena opened(arena);
    const Agreement* const agreement = opened.agreement();
    return agreement == nullptr || agreement->is_given_up();
  } catch (const std::exception&) {
    return true;  // there is no memory
  }
}

std::optional<std::uint32_t> Processes::combine(std::span<const ProcessName> names,
                                                std::uint32_t word, int (*progress)()) {
  if (!open_through_proc(names)) return std::nullopt;
  Agreement* const agreement = agreement_of(names.front());
  if (agreement == nullptr) return std::nullopt;
  const auto watched = is_self(names.front()) ? names.subspan(1) : names.first(1);
  // This process has been counted when it calls this. If `progress` throws, the agreement decides for all of them.
  const auto is_hopeless = [&]() noexcept {
    try {
      progress();
    } catch (...) {
      return true;
    }
    return std::any_of(watched.begin(), watched.end(),
                       [this](ProcessName name) { return cannot_arrive(name); });
  };
  return agreement->combine(word, static_cast<std::uint32_t>(names.size()), is_hopeless);
}

// --- Communicators ---

// The members are in the order of their names, and so of their jobs.
template <class Change>
void Processes::for_each_of_other_jobs(const Membership& members, Change change) {
  const std::uint32_t own = port_->identity().name.job;
  if (members.name(0).job == own && members.name(members.size() - 1).job == own) return;
  const std::lock_guard guard(mutex_);
  for (std::uint32_t member = 0; member < members.size(); ++member)
    if (const ProcessName name = members.name(member); name.job != own) change(process(name));
}

void Processes::attach(const Membership& members) {
  for_each_of_other_jobs(members, [](Process& known) { ++known.communicators; });
}

void Processes::detach(const Membership& members) noexcept {
  for_each_of_other_jobs(members, [](Process& known) {
    if (--known.communicators != 0) return;
    known.arena.reset();
    known.watch.reset();
  });
}

// --- Boards ---

PeerArena& Processes::local_peer(ProcessName name) {
  Process& known = process(name);
  if (known.arena == nullptr) known.arena = std::make_unique<PeerArena>(known.facts->arena);
  return *known.arena;
}

bool Processes::reaches_boards(ProcessName first) {
  const std::lock_guard guard(mutex_);
  return is_self(first) ? arena_ != nullptr : local_peer(first).reachable();
}

bool Processes::reads(ProcessName name) {
  if (is_self(name)) return true;
  const std::lock_guard guard(mutex_);
  Process& known = process(name);
  if (!known.readable) {
    const SharedMemoryName& memory = known.facts->arena.memory;
    std::string why_not;
    known.readable = cma_permitted(memory.pid, known.facts->probe, memory.cookie[0], why_not);
  }
  return *known.readable;
}

bool Processes::read(ProcessName owner, std::byte* to, std::uint64_t from, std::size_t size) {
  std::uint32_t pid = 0;
  {
    const std::lock_guard guard(mutex_);
    const Process& known = process(owner);
    if (known.readable && !*known.readable) return false;
    pid = known.facts->arena.memory.pid;
  }
  if (cma_read(pid, to, from, size)) return true;
  if (!cma_is_refused(errno)) return false;
  const std::string why = std::generic_category().message(errno);
  {
    const std::lock_guard guard(mutex_);
    process(owner).readable = false;
  }
  const std::string text =
      "coll lfc: ranks of this node may not read each other's memory any more (process_vm_readv: " +
      why + "); large blocks go through shared buffers";
  if (first_of_node(owner.job, text)) std::fprintf(stderr, "%s\n", text.c_str());
  return false;
}

std::size_t Processes::boards() {
  const std::lock_guard guard(mutex_);
  return arena_ == nullptr ? 0 : arena_->boards();
}

std::byte* Processes::own_board(std::uint64_t key, std::uint32_t lanes, std::uint32_t users) {
  std::byte* const memory = arena_ == nullptr ? nullptr : arena_->make(key, lanes, users);
  if (memory == nullptr)
    std::fprintf(stderr,
                 "coll lfc: no shared memory for a communicator more (%zu are there); leave it out "
                 "with --mca coll ^lfc\n",
                 arena_ == nullptr ? 0 : arena_->boards());
  return memory;
}

bool Processes::reserve_board(ProcessName first, std::uint64_t key, std::uint32_t lanes, bool few) {
  const std::lock_guard guard(mutex_);
  if (!is_self(first)) return local_peer(first).reserve(key, lanes);
  return arena_ != nullptr &&
         (few ? arena_->reserve(key, lanes, limits::kCollBoards) : arena_->reserve(key, lanes));
}

void Processes::cancel_board(ProcessName first, std::uint64_t key) noexcept {
  const std::lock_guard guard(mutex_);
  if (is_self(first)) {
    if (arena_ != nullptr) arena_->cancel(key);
  } else if (const auto found = processes_.find(first.packed());
             found != processes_.end() && found->second.arena != nullptr) {
    found->second.arena->cancel(key);
  }
}

std::byte* Processes::board(ProcessName first, std::uint64_t key, std::uint32_t lanes,
                            std::uint32_t users, bool& failed) {
  const std::lock_guard guard(mutex_);
  if (is_self(first)) {
    std::byte* const memory = own_board(key, lanes, users);
    failed = memory == nullptr;
    return memory;
  }
  PeerArena& arena = local_peer(first);
  std::byte* const memory = arena.find(key, lanes, failed);
  // If that process has ended, the caller's next look at the members reports the loss.
  if (memory == nullptr && !arena.why_not().empty() && !process_has_ended(process(first))) {
    if (!failed)
      std::fprintf(stderr, "coll lfc: %s; leave it out with --mca coll ^lfc\n",
                   arena.why_not().c_str());
    failed = true;
  }
  return memory;
}

// --- Connections ---

void Processes::report_unreachable(ProcessName name, const std::string& why_not) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(process(name).reported, true)) return;
  }
  const std::string text = "coll lfc: " + describe(name) + " cannot be reached by LFC: ";
  if (first_of_node(name.job, text)) std::fprintf(stderr, "%s%s\n", text.c_str(), why_not.c_str());
}

PeerId Processes::peer(ProcessName name) {
  std::optional<Address> address;
  {
    const std::lock_guard guard(mutex_);
    address = process(name).address;
  }
  std::string why_not;
  PeerId peer = kNoPeer;
  {
    const ServicePort::Access access(*port_);
    peer = port_->add(*address, why_not);
  }
  if (peer == kNoPeer) report_unreachable(name, why_not);
  return peer;
}

bool Processes::has_ended(ProcessName name) {
  if (is_self(name)) return false;
  const std::lock_guard guard(mutex_);
  return process_has_ended(process(name));
}

bool Processes::process_has_ended(Process& known) {
  if (known.watch == nullptr)
    known.watch = std::make_unique<ProcessWatch>(known.facts->arena.memory.pid);
  return known.watch->dead();
}

std::string Processes::describe(ProcessName name) {
  const std::string rank = "rank " + std::to_string(name.rank);
  const bool is_own_job = name.job == port_->identity().name.job;
  std::string node;
  {
    const std::lock_guard guard(mutex_);
    const Process& known = process(name);
    if (known.address) node = node_name(*known.address);
  }
  return rank + " of " + (is_own_job ? "MPI_COMM_WORLD" : "job " + std::to_string(name.job)) +
         (node.empty() ? "" : " on node " + node);
}

}  // namespace lfc
