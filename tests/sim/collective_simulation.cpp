#include "sim/collective_simulation.hpp"

#include "services/collective/algorithms/exchange.hpp"
#include "sim/collective_calls.hpp"
#include "sim/neighbours.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <new>
#include <numeric>

namespace lfc {
namespace {

constexpr std::uint64_t kIdleLimit = 20000;  // ticks without progress at any rank
constexpr std::size_t kGuard = 64;
constexpr std::byte kUntouched{0x5a};
constexpr std::uint32_t kMostAtOnce = 12;  // nonblocking calls of a rank under way
constexpr std::uint32_t kMostLooks = 32;   // to one question, well below kIdleLimit

}  // namespace

struct CollectiveSimulation::Group {
  std::vector<World::Node> ranks;      // by rank of the communicator
  std::vector<std::uint32_t> numbers;  // by member, its rank in the communicator
  Membership members;
  bool one_node = false;
  std::map<std::uint64_t, std::byte*> boards;      // by the first of a node
  std::map<std::uint64_t, std::byte*> own_boards;  // by rank, for its neighbours
  Edges edges;
};

struct CollectiveSimulation::Call {
  std::size_t number = 0;
  std::uint32_t group = 0;
  lfc_coll_call call{};
  std::vector<lfc_coll_block> blocks;
  bool unequal = false;  // the size of a block depends on its writer and reader
  std::size_t between(std::uint32_t from, std::uint32_t to) const noexcept {
    return unequal ? (number * 7 + from * 13 + to * 29) % (call.bytes + 1) : call.bytes;
  }
  // Bytes of the part along an edge; in an allgather all edges of a writer have the same.
  std::size_t size_of(std::uint32_t writer, std::size_t edge) const noexcept {
    const std::size_t salt = call.kind == LFC_COLL_NEIGHBOR_ALLGATHER ? 0 : edge * 29;
    return (number * 7 + writer * 13 + salt) % (call.bytes + 1);
  }
};

// The part of one rank in a call.
struct CollectiveSimulation::Part {
  const Call* call = nullptr;
  std::uint32_t rank = 0;  // in the communicator
  std::vector<std::byte> in, out;
  std::vector<lfc_coll_block> blocks, in_blocks;  // of unequal sizes: from each rank, and to each
  std::unique_ptr<NeighbourPart> neighbours;
  std::unique_ptr<CollOperation> operation;
  std::uint32_t looks = 0;  // since its last step
  bool over = false;
  lfc_coll_status status = LFC_COLL_OK;
};

struct CollectiveSimulation::Host final : Environment {
  Host(CollectiveSimulation& of, World::Node number) : simulation(of), node(number) {}
  CollectiveSimulation& simulation;
  World::Node node;
  bool dead = false;
  std::uint64_t busy_until = 0;
  std::unique_ptr<Multicast> multicast;
  std::map<std::uint32_t, std::unique_ptr<Communicator>> communicators;      // by group
  std::map<std::uint32_t, std::unique_ptr<lfc_coll_neighbours>> neighbours;  // by group
  std::vector<Part> parts;
  std::size_t begun = 0;
  std::size_t over = 0;

  // Boards are memory of this process. The first rank of each node makes those of its node.
  std::byte* board(ProcessName first, std::uint64_t key, std::uint32_t lanes, std::uint32_t users,
                   bool&) override {
    const bool own = lanes == 1;
    Group& group = *simulation.groups_[(own ? ~key : key) - 1];
    std::byte*& made = (own ? group.own_boards : group.boards)[first.packed()];
    if (made == nullptr && first.rank == node) {
      made = static_cast<std::byte*>(
          ::operator new (Board::size(lanes), std::align_val_t{Board::kLine}));
      Board::format(made, lanes, users);
    }
    return made;
  }
  PeerId peer(ProcessName name) override { return simulation.world_.peer(node, name.rank); }
  bool read(ProcessName owner, std::byte* to, std::uint64_t from, std::size_t size) override {
    if (has_ended(owner)) return false;
    std::memcpy(to, reinterpret_cast<const std::byte*>(from), size);
    return true;
  }
  bool has_ended(ProcessName name) override { return simulation.hosts_[name.rank]->dead; }
  Communicator& communicator(const Part& part) { return *communicators.at(part.call->group); }
};

void CollectiveCounts::add(const CollectiveCounts& other) noexcept {
  calls += other.calls;
  endings += other.endings;
  errors += other.errors;
  bytes += other.bytes;
  recoveries += other.recoveries;
  deaths += other.deaths;
  most_stored = std::max(most_stored, other.most_stored);
  ticks += other.ticks;
}

CollectiveSimulation::CollectiveSimulation(const CollectiveSimulationOptions& options)
    : options_(options),
      random_(options.seed),
      world_(options.ranks, random_fabric(options.seed, 400),
             {.initial_window = options.window, .maximum_window = options.window}),
      node_(options.ranks) {
  for (std::uint32_t rank = 1; rank < options.ranks; ++rank)
    node_[rank] = node_[rank - 1] + (random_.chance(400) ? 1 : 0);
  for (World::Node rank = 0; rank < options.ranks; ++rank)
    hosts_.push_back(std::make_unique<Host>(*this, rank));
  coll_.shape = options.shape;
  coll_.fan = static_cast<unsigned>(random_.below(5));
  const auto recovery = can_deadlock(options.shape) ? options.recovery : Suspicion::never;
  for (auto& host : hosts_) {
    Ni& ni = world_.ni(host->node);
    if (coll_.window == CollOptions{}.window) {
      const std::size_t head = sizeof(MulticastHeader) + sizeof(Recovery::EscapePath);
      coll_.packet = std::max(ni.peers().max_payload() - std::min(ni.peers().max_payload(), head),
                              kLeastPacket);
      coll_.window = (coll_.packet + MulticastPacket::kCost) * random_.between(1, 20);
    }
    host->multicast = std::make_unique<Multicast>(
        ni.services(),
        Multicast::Options{
            .share = Pace::share(coll_),
            .recovery = recovery,
            .delay = 500,
            .clock = [](const void* world) { return static_cast<const World*>(world)->now(); },
            .clock_context = &world_});
  }
  for (std::uint32_t group = 0; group < options.communicators; ++group) make_group(group);
  for (std::uint32_t call = 0; call < options.calls; ++call) make_call();
  deaths_due_ = options.deaths;
  at_once_ = random_.between(1, kMostAtOnce);
  helped_ = random_.chance(500);
}

CollectiveSimulation::~CollectiveSimulation() {
  std::vector<std::unique_ptr<TreeNode>> trees;
  for (auto& host : hosts_)
    for (auto& [group, communicator] : host->communicators)
      trees.push_back(communicator->take_tree());
  for (auto& host : hosts_) host->neighbours.clear();
  for (auto& host : hosts_) host->communicators.clear();
  for (auto& tree : trees)
    if (tree != nullptr) tree->leave();
  for (auto& group : groups_)
    for (auto* const boards : {&group->boards, &group->own_boards})
      for (auto& [first, made] : *boards) ::operator delete (made, std::align_val_t{Board::kLine});
}

void CollectiveSimulation::make_group(std::uint32_t number) {
  Group& group = *groups_.emplace_back(std::make_unique<Group>());
  const bool one_node = random_.chance(250);
  const auto centre = static_cast<std::uint32_t>(random_.below(options_.ranks));
  const auto share = static_cast<std::uint32_t>(random_.between(100, 900));
  for (World::Node rank = 0; rank < options_.ranks; ++rank)
    if (rank == centre || (one_node ? node_[rank] == node_[centre] : random_.chance(share)))
      group.ranks.push_back(rank);
  if (group.ranks.size() == 1)  // a communicator has two ranks or more
    group.ranks.insert(group.ranks.begin() + (centre == 0 ? 1 : 0), centre == 0 ? 1 : centre - 1);
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> nodes;
  for (const World::Node rank : group.ranks) {
    names.push_back({1, rank});
    nodes.push_back(node_[rank]);
  }
  group.members = Membership(names, nodes);
  group.one_node = group.members.nodes() == 1;
  // The order of ranks differs from that of names.
  const auto turn = static_cast<std::uint32_t>(random_.below(group.ranks.size()));
  std::rotate(group.ranks.begin(), group.ranks.begin() + turn, group.ranks.end());
  const auto size = static_cast<std::uint32_t>(group.ranks.size());
  for (std::uint32_t member = 0; member < size; ++member)
    group.numbers.push_back((member + size - turn) % size);
  if (group.one_node)
    group.edges =
        random_.chance(200) ? Edges::ring(static_cast<int>(size)) : Edges::random(random_, size);
  for (std::uint32_t member = 0; member < size; ++member) {
    Host& host = *hosts_[names[member].rank];
    std::unique_ptr<TreeNode> tree;
    if (!group.one_node) {
      std::vector<PeerId> peers(size, kNoPeer);
      for (std::uint32_t node = 0; node < group.members.nodes(); ++node)
        if (const std::uint32_t first = group.members.first(node); first != member)
          peers[first] = host.peer(names[first]);
      tree = std::make_unique<TreeNode>(*host.multicast);
      tree->join(number + 1, group.members, member, std::move(peers));
    }
    auto state = std::make_unique<CommunicatorState>(group.members, member, group.numbers,
                                                     number + 1, std::move(tree), host);
    auto& made = host.communicators[number] =
        std::make_unique<Communicator>(std::move(state), coll_);
    if (group.one_node) host.neighbours[number] = made->meet(group.edges.at(group.numbers[member]));
  }
}

// Draws the next call. Each rank of its communicator makes it after the calls before.
void CollectiveSimulation::make_call() {
  Call& made = *calls_.emplace_back(std::make_unique<Call>());
  made.number = calls_.size();
  made.group = static_cast<std::uint32_t>(random_.below(groups_.size()));
  const Group& group = *groups_[made.group];
  const auto size = static_cast<std::uint32_t>(group.ranks.size());
  lfc_coll_call& call = made.call;
  constexpr std::array kAmongNodes{LFC_COLL_BCAST,     LFC_COLL_REDUCE,   LFC_COLL_ALLREDUCE,
                                   LFC_COLL_ALLGATHER, LFC_COLL_ALLTOALL, LFC_COLL_REDUCE_SCATTER};
  call.kind = group.one_node ? static_cast<lfc_coll_kind>(random_.below(LFC_COLL_KINDS))
                             : kAmongNodes[random_.below(kAmongNodes.size())];
  call.op = random_.chance(500) ? LFC_OP_SUM : LFC_OP_BXOR;
  call.type = static_cast<lfc_element>(random_.between(LFC_ELEMENT_I8, LFC_ELEMENT_U64));
  const std::size_t limits[] = {1,
                                8,
                                Board::kInline,
                                coll_.packet,
                                coll_.window,
                                limits::kCollLocalChunk,
                                limits::kCollDirect / size};
  const std::size_t most = std::max<std::size_t>((std::size_t{1} << 20) / (size * size), 64);
  call.bytes = size_near(random_, limits[random_.below(std::size(limits))],
                         group.one_node ? 4 * most : most);
  if (call.kind == LFC_COLL_BCAST || lfc_coll_is_reduction(call.kind))
    call.bytes = call.bytes / 8 * 8;
  if (call.kind == LFC_COLL_BCAST || call.kind == LFC_COLL_REDUCE || is_gather(call) ||
      is_scatter(call))
    call.root = static_cast<int>(random_.below(size));
  if (call.kind == LFC_COLL_ALLREDUCE && random_.chance(300)) call.bytes = 0;  // a barrier
  if (call.kind != LFC_COLL_ALLREDUCE && call.bytes == 0) call.bytes = 8;
  const std::size_t exchanged = most_exchanged(group.members, coll_.packet, call.kind);
  if (call.kind == LFC_COLL_REDUCE_SCATTER ||
      (call.kind >= LFC_COLL_ALLGATHER && !group.one_node)) {
    const bool fits = exchanged >= 8;
    if (fits) call.bytes = std::min(call.bytes / 8 * 8, exchanged / 8 * 8);
    if (fits && call.bytes == 0) call.bytes = 8;
    if (!fits) call.kind = LFC_COLL_BCAST;
  }
  if (call.kind == LFC_COLL_ALLGATHER && random_.chance(500)) {
    std::size_t offset = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const std::size_t bytes = rank == 0 ? call.bytes : random_.below(call.bytes + 1);
      made.blocks.push_back({offset, bytes});
      offset += bytes;
    }
    call.blocks = made.blocks.data();
  }
  made.unequal = call.kind == LFC_COLL_GATHERV || call.kind == LFC_COLL_SCATTERV ||
                 (call.kind == LFC_COLL_ALLTOALL && group.one_node && random_.chance(500));
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Part& part = hosts_[group.ranks[rank]]->parts.emplace_back();
    part.call = &made;
    part.rank = rank;
  }
  ++counts_.calls;
  counts_.bytes += call.bytes;
}

// Prepares the buffers of a rank.
lfc_coll_call CollectiveSimulation::open(const Host& host, Part& part) {
  lfc_coll_call call = part.call->call;
  if (is_among_neighbours(call)) {
    const Call& of = *part.call;
    part.neighbours = std::make_unique<NeighbourPart>(
        groups_[of.group]->edges, part.rank,
        [&of](std::uint32_t writer, std::size_t edge) { return of.size_of(writer, edge); });
    return part.neighbours->call(call.kind, host.neighbours.at(of.group).get());
  }
  const auto size = static_cast<std::uint32_t>(groups_[part.call->group]->ranks.size());
  const bool is_root = call.root == static_cast<int>(part.rank);
  const bool gets_all = call.kind == LFC_COLL_ALLGATHER || call.kind == LFC_COLL_ALLTOALL ||
                        (is_gather(call) && is_root);
  const bool gives_all = call.kind == LFC_COLL_ALLTOALL || call.kind == LFC_COLL_REDUCE_SCATTER ||
                         (is_scatter(call) && is_root);
  const std::size_t slot = call.bytes;
  const std::size_t own = call.blocks == nullptr ? call.bytes : call.blocks[part.rank].bytes;
  part.in.resize(gives_all ? size * call.bytes : own);
  for (std::uint32_t rank = 0; part.call->unequal && rank < size; ++rank) {
    part.blocks.push_back({rank * slot, part.call->between(rank, part.rank)});
    part.in_blocks.push_back({rank * slot, part.call->between(part.rank, rank)});
  }
  if (gets_all && part.call->unequal) call.blocks = part.blocks.data();
  if (gives_all && part.call->unequal) call.in_blocks = part.in_blocks.data();
  const auto root = static_cast<std::uint32_t>(call.root);
  if (call.kind == LFC_COLL_GATHERV) call.bytes = part.call->between(part.rank, root);
  if (call.kind == LFC_COLL_SCATTERV) call.bytes = part.call->between(root, part.rank);
  for (std::size_t at = 0; at < part.in.size(); ++at)
    part.in[at] = given(part.call->number, part.rank, at);
  part.out.assign((gets_all ? size * slot : call.bytes) + kGuard, kUntouched);
  call.in = part.in.data();
  call.out = part.out.data();
  return call;
}

void CollectiveSimulation::begin(Host& host, Part& part) {
  const lfc_coll_call call = open(host, part);
  Communicator& communicator = host.communicator(part);
  if (random_.chance(300) && communicator.idle() && communicator.try_at_once(call, 0)) {
    part.over = true;
    check(part);
    return;
  }
  part.operation = std::make_unique<CollOperation>(call);
  communicator.submit(*part.operation);
}

void CollectiveSimulation::end(Host& host, Part& part) {
  part.over = true;
  part.status = part.operation->status;
  part.operation.reset();
  ++counts_.endings;
  if (part.status == LFC_COLL_OK) return check(part);
  ++counts_.errors;
  const Group& group = *groups_[part.call->group];
  const bool hit = std::any_of(group.ranks.begin(), group.ranks.end(),
                               [&](World::Node rank) { return hosts_[rank]->dead; });
  if (!hit || part.status != LFC_COLL_LOST)
    fail("call " + std::to_string(part.call->number) + " failed at rank " +
         std::to_string(host.node) + " with status " + std::to_string(part.status));
}

// Computes the expected result of a reduction or scan.
void CollectiveSimulation::put_combined(const Part& part, std::byte* to) const {
  const Call& of = *part.call;
  const lfc_coll_call& call = of.call;
  if (call.kind == LFC_COLL_REDUCE && call.root != static_cast<int>(part.rank)) return;
  const std::size_t first = call.kind == LFC_COLL_REDUCE_SCATTER ? part.rank * call.bytes : 0;
  std::uint32_t end = static_cast<std::uint32_t>(groups_[of.group]->ranks.size());
  if (call.kind == LFC_COLL_SCAN) end = part.rank + 1;
  if (call.kind == LFC_COLL_EXSCAN) end = part.rank;
  const Combiner combine =
      number_combiner({static_cast<Accumulate>(call.op), static_cast<Element>(call.type)});
  std::vector<std::byte> other(call.bytes);
  for (std::uint32_t rank = 0; rank < end; ++rank) {
    for (std::size_t i = 0; i < call.bytes; ++i) other[i] = given(of.number, rank, first + i);
    if (rank == 0)
      std::copy(other.begin(), other.end(), to);
    else
      combine(to, other.data(), to, call.bytes / size_of(static_cast<Element>(call.type)));
  }
}

// Checks the result of a call at a rank.
void CollectiveSimulation::check(const Part& part) {
  const Call& of = *part.call;
  const lfc_coll_call& call = of.call;
  const auto size = static_cast<std::uint32_t>(groups_[of.group]->ranks.size());
  const bool is_root = call.root == static_cast<int>(part.rank);
  if (part.neighbours != nullptr) {
    if (!part.neighbours->is_right())
      fail("call " + std::to_string(of.number) + " among neighbours: wrong at rank " +
           std::to_string(part.rank));
    return;
  }
  std::vector<std::byte> right(part.out.size(), kUntouched);
  const auto put = [&](std::size_t to, std::uint32_t from, std::size_t at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) right[to + i] = given(of.number, from, at + i);
  };
  const auto root = static_cast<std::uint32_t>(call.root);
  switch (call.kind) {
    case LFC_COLL_BCAST:
      if (!is_root) put(0, root, 0, call.bytes);
      break;
    case LFC_COLL_REDUCE:
    case LFC_COLL_REDUCE_SCATTER:
    case LFC_COLL_ALLREDUCE:
    case LFC_COLL_SCAN:
    case LFC_COLL_EXSCAN: put_combined(part, right.data()); break;
    case LFC_COLL_ALLTOALL:
      for (std::uint32_t rank = 0; rank < size; ++rank)
        put(rank * call.bytes, rank, part.rank * call.bytes, of.between(rank, part.rank));
      break;
    case LFC_COLL_GATHERV:
      for (std::uint32_t rank = 0; is_root && rank < size; ++rank)
        put(rank * call.bytes, rank, 0, of.between(rank, part.rank));
      break;
    case LFC_COLL_GATHER:
      if (!is_root) break;
      [[fallthrough]];
    case LFC_COLL_ALLGATHER:
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        const lfc_coll_block block = call.blocks == nullptr
                                         ? lfc_coll_block{rank * call.bytes, call.bytes}
                                         : of.blocks[rank];
        put(block.offset, rank, 0, block.bytes);
      }
      break;
    default: put(0, root, part.rank * call.bytes, of.between(root, part.rank));
  }
  if (part.out != right)
    fail("call " + std::to_string(of.number) + " of kind " + std::to_string(call.kind) + ", " +
         std::to_string(call.bytes) + " bytes: wrong at rank " + std::to_string(part.rank) +
         " of " + std::to_string(size));
}

void CollectiveSimulation::act(Host& host) {
  const std::uint64_t now = world_.now();
  if (host.dead) return;
  if (now < host.busy_until) {  // the NI's thread still runs
    if (helped_ && random_.chance(300))
      for (auto& [group, communicator] : host.communicators) communicator->advance_aside();
    return;
  }
  if (random_.chance(20)) host.busy_until = now + random_.between(1, 300);
  while (host.begun < host.parts.size() && host.begun - host.over < at_once_ && random_.chance(200))
    begin(host, host.parts[host.begun++]);
  for (std::size_t at = host.over; at < host.begun; ++at) {
    Part& part = host.parts[at];
    if (part.over) continue;
    if (host.communicator(part).advance()) {
      last_move_ = now;
      part.looks = 0;
    }
    if (random_.chance(5)) look(host, part);
    if (part.operation->finished.load()) end(host, part);
  }
  while (host.over < host.begun && host.parts[host.over].over) ++host.over;
}

// Queries after 1, 2, 4 ... calls, as LossWatch does. More queries would fill all queues and block other packets.
void CollectiveSimulation::look(Host& host, Part& part) {
  Communicator& communicator = host.communicator(part);
  for (const std::uint32_t member : communicator.local())
    if (host.has_ended(communicator.members().name(member)))
      communicator.set_failed(Board::End::lost);
  if (std::has_single_bit(++part.looks) || part.looks % kMostLooks == 0) communicator.query();
}

void CollectiveSimulation::kill_somebody() {
  --deaths_due_;
  Host& host = *hosts_[random_.below(hosts_.size())];
  if (host.dead) return;
  host.dead = true;
  world_.fabric().kill(host.node);
  ++counts_.deaths;
}

bool CollectiveSimulation::finished() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) {
    return host->dead || host->over == host->parts.size();
  });
}

std::string CollectiveSimulation::run() {
  while (fault_.empty() && !finished()) {
    for (auto& host : hosts_) act(*host);
    if (deaths_due_ > 0 && random_.chance(2)) kill_somebody();
    world_.step();
    if (world_.now() - last_move_ > kIdleLimit) fail("a wait for ever: no call gets any further");
  }
  if (fault_.empty()) check_end();
  for (auto& host : hosts_) {
    counts_.most_stored = std::max(counts_.most_stored, host->multicast->stats().most_stored);
    counts_.recoveries += world_.ni(host->node).counters().get(Counter::recoveries);
  }
  counts_.ticks = world_.now();
  return fault_;
}

void CollectiveSimulation::check_end() {
  if (counts_.deaths > 0) return;
  world_.settle();
  for (auto& host : hosts_) {
    if (host->multicast->packets() != 0) fail("packets are left in an NI's buffers");
    if (!host->multicast->recovered()) fail("an escape buffer is still in use");
  }
  const std::string fault = world_.credit_fault();
  if (!fault.empty()) fail(fault);
}

std::string CollectiveSimulation::describe() const {
  std::string text;
  for (const auto& host : hosts_) {
    if (host->over == host->parts.size()) continue;
    text += "rank " + std::to_string(host->node) + " node " + std::to_string(node_[host->node]) +
            (host->dead ? " dead" : "") + " calls:";
    for (std::size_t at = host->over; at < host->begun; ++at)
      if (!host->parts[at].over)
        text += " " + std::to_string(host->parts[at].call->number) + "/kind" +
                std::to_string(host->parts[at].call->call.kind) + "/" +
                std::to_string(host->parts[at].call->call.bytes);
    text += "\n";
  }
  return text;
}

}  // namespace lfc
