#include "sim/simulation.hpp"

#include <algorithm>
#include <cstring>

namespace lfc {
namespace {

constexpr std::uint32_t kNeighbours = 8;
constexpr std::uint32_t kMaxPosted = 32;    // a host's messages under way
constexpr std::uint64_t kIdleLimit = 2000;  // ticks without any event, far above any stall
constexpr std::uint64_t kTickLimit = 5'000'000;
constexpr std::uint32_t kSmall = 8;  // up to so many nodes, every pair is checked in every step
constexpr std::size_t kSlice = 600;  // bytes of a host's memory for each origin

std::uint64_t mix(std::uint64_t from, std::uint64_t to, std::uint64_t number) noexcept {
  return Random((from << 48) ^ (to << 32) ^ number).next();
}

std::size_t message_size(std::uint64_t pattern, std::size_t limit) noexcept {
  const std::size_t bound = pattern % 4 == 0 ? std::min<std::size_t>(limit, 32) : limit;
  return (pattern >> 8) % (bound + 1);
}

void fill(std::byte* data, std::size_t size, std::uint64_t pattern) noexcept {
  Random bytes(pattern);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = bytes.next();
    std::memcpy(data + at, &word, std::min(size - at, sizeof word));
  }
}

}  // namespace

// A simulated MPI process.
struct Simulation::Host {
  Simulation* simulation = nullptr;
  Node node = 0;
  std::uint32_t to_do = 0;
  std::uint32_t posted = 0;
  std::uint32_t operations = 0;
  std::uint64_t stalled_until = 0;
  bool inside = false;  // in the handler
  std::vector<Node> neighbours;
  std::vector<std::uint32_t> sent;      // by receiver
  std::vector<std::uint32_t> received;  // by sender
  std::vector<bool> transferring;       // by target
  std::vector<std::byte> memory;        // a counter, then a slice for each origin
  RegionHandle region;
  std::uint64_t increments = 0;  // of this host's counter, by all
  std::uint64_t fetched_sum = 0;
  std::uint64_t transfers = 0;

  std::uint64_t counter_address() const { return region.address; }
  std::uint64_t slice_address(Node origin) const {
    return region.address + sizeof(std::uint64_t) + origin * kSlice;
  }
};

struct Simulation::Posted : Message {
  Host* host = nullptr;
  std::vector<std::byte> bytes;
};

struct Simulation::Transfer : Operation {
  Host* host = nullptr;
  Node target = 0;
  bool getting = false;
  std::uint64_t address = 0;
  std::vector<std::byte> out;
  std::vector<std::byte> back;
};

struct Simulation::Increment : Operation {
  Host* host = nullptr;
  Node target = 0;
  std::uint64_t old = ~0ull;
};

void SimulationCounts::add(const SimulationCounts& other) noexcept {
  messages += other.messages;
  transfers += other.transfers;
  atomics += other.atomics;
  frames += other.frames;
  refused += other.refused;
  credit_stalls += other.credit_stalls;
  link_stalls += other.link_stalls;
  explicit_credits += other.explicit_credits;
  ticks += other.ticks;
  law_checks += other.law_checks;
}

// The network is drawn from the seed as well.
SimOptions Simulation::fabric_options(const SimulationOptions& options) {
  SimOptions fabric = random_fabric(options.seed, 400);
  fabric.remote_memory = options.native;
  return fabric;
}

Simulation::Simulation(const SimulationOptions& options)
    : options_(options),
      random_(options.seed),
      world_(options.nodes, fabric_options(options),
             {.initial_window = options.window,
              .maximum_window = options.max_window == 0 ? options.window : options.max_window,
              .delivery = options.queued ? HostQueue::Mode::queued : HostQueue::Mode::direct,
              // Queued messages keep their buffers, so the credit law can be checked from outside.
              .queue_memory = 0}) {
  const std::uint32_t nodes = options.nodes;
  for (Node node = 0; node < nodes; ++node) {
    Host& host = *hosts_.emplace_back(std::make_unique<Host>());
    host.simulation = this;
    host.node = node;
    host.to_do = options.messages;
    host.sent.resize(nodes);
    host.received.resize(nodes);
    host.transferring.resize(nodes);
    for (std::uint32_t i = 0; i < kNeighbours; ++i)
      host.neighbours.push_back(static_cast<Node>((node + 1 + random_.below(nodes - 1)) % nodes));
    world_.ni(node).set_message_handler(handler_of<&Simulation::deliver>(&host));
    if (options.rma) {
      host.memory.resize(sizeof(std::uint64_t) + nodes * kSlice);
      world_.ni(node).remote().register_memory(host.memory.data(), host.memory.size(),
                                               kRemoteRead | kRemoteWrite | kRemoteAtomic,
                                               host.region);
    }
  }
}

Simulation::~Simulation() = default;

std::string Simulation::run() {
  std::uint64_t last_event = 0;
  while (fault_.empty() && !(finished() && world_.fabric().quiet())) {
    step();
    check_some();
    const std::uint64_t now = world_.fabric().now();
    if (events_ > 0 || !world_.fabric().quiet() || host_may_act()) last_event = now;
    if (now - last_event > kIdleLimit) fail("deadlock: nothing moves, and something is pending");
    if (now > kTickLimit) fail("no end in sight");
  }
  if (fault_.empty()) check_end();
  return fault_;
}

void Simulation::step() {
  world_.fabric().advance();
  const std::uint64_t now = world_.fabric().now();
  events_ = 0;
  const auto first = static_cast<Node>(random_.below(hosts_.size()));
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (random_.chance(500)) continue;
    Host& host = *hosts_[(first + i) % hosts_.size()];
    Ni& ni = world_.ni(host.node);
    const bool stalled = host.stalled_until > now;
    if (!stalled || options_.queued) events_ += ni.turn().pass();
    if (stalled) continue;
    if (random_.chance(20)) host.stalled_until = now + random_.below(300);
    if (random_.chance(300)) act(host);
    events_ += ni.turn().serve_host();
  }
}

bool Simulation::host_may_act() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const auto& host) { return host->to_do > 0 && host->posted < kMaxPosted; });
}

Simulation::Node Simulation::choose_peer(Host& host) {
  if (random_.chance(950)) return host.neighbours[random_.below(host.neighbours.size())];
  return static_cast<Node>((host.node + 1 + random_.below(hosts_.size() - 1)) % hosts_.size());
}

void Simulation::act(Host& host) {
  for (auto count = random_.between(1, 4); count > 0; --count) {
    if (host.to_do == 0 || host.posted >= kMaxPosted) return;
    --host.to_do;
    const Node to = choose_peer(host);
    if (!options_.rma || random_.chance(700)) {
      send_message(host, to);
    } else if (host.transferring[to] || random_.chance(300)) {
      start_increment(host, to);
    } else {
      start_transfer(host, to);
    }
  }
}

void Simulation::send_message(Host& host, Node to) {
  Ni& ni = world_.ni(host.node);
  const PeerId peer = world_.peer(host.node, to);
  const std::uint32_t number = host.sent[to]++;
  const std::uint64_t pattern = mix(host.node, to, number);
  const std::size_t size = message_size(pattern, ni.peers().max_payload());
  std::vector<std::byte> bytes(size);
  fill(bytes.data(), size, pattern);
  const std::size_t head = random_.below(size + 1);
  const Slice slices[] = {{bytes.data(), head}, {bytes.data() + head, size - head}};
  const auto tag = static_cast<std::uint8_t>(pattern);
  if (random_.chance(500) && ni.try_send(peer, tag, slices, 2)) return;

  auto* posted = new Posted;
  posted->host = &host;
  posted->bytes = std::move(bytes);  // the addresses in the slices stay valid
  posted->slices = {slices[0], slices[1]};
  posted->slice_count = 2;
  posted->tag = tag;
  posted->done = [](Message* self, Result result) {
    const std::unique_ptr<Posted> done(static_cast<Posted*>(self));
    --done->host->posted;
    fill(done->bytes.data(), done->bytes.size(), 0);  // the NI must not read them any more
    if (result != Result::ok) done->host->simulation->fail("a message was not sent");
  };
  ++host.posted;
  ni.post(peer, *posted);
}

void Simulation::deliver(void* context, const Delivery& delivery) {
  Host& host = *static_cast<Host*>(context);
  Simulation& simulation = *host.simulation;
  const Node from = simulation.world_.node_of(host.node, delivery.peer);
  const std::uint32_t number = host.received[from]++;
  const std::uint64_t pattern = mix(from, host.node, number);
  const std::size_t size =
      message_size(pattern, simulation.world_.ni(host.node).peers().max_payload());
  const std::string which = "message " + std::to_string(number) + " of pair " +
                            std::to_string(from) + "->" + std::to_string(host.node);
  if (delivery.bytes.size() != size || delivery.tag != static_cast<std::uint8_t>(pattern))
    return simulation.fail(which + " is lost, doubled or out of order");
  simulation.scratch_.resize(size);
  fill(simulation.scratch_.data(), size, pattern);
  if (!std::equal(delivery.bytes.begin(), delivery.bytes.end(), simulation.scratch_.begin()))
    return simulation.fail(which + " is damaged");
  if (!host.inside && simulation.random_.chance(50)) {
    host.inside = true;
    simulation.act(host);
    host.inside = false;
  }
}

// --- Remote memory ---

void Simulation::start_transfer(Host& host, Node to) {
  auto* transfer = new Transfer;
  transfer->host = &host;
  transfer->target = to;
  const std::size_t size = random_.below(kSlice + 1);
  transfer->address = hosts_[to]->slice_address(host.node) + random_.below(kSlice - size + 1);
  transfer->out.resize(size);
  transfer->back.resize(size);
  fill(transfer->out.data(), size, random_.next());
  transfer->done = [](Operation* self, Result result) {
    auto& done = static_cast<Transfer&>(*self);
    done.host->simulation->advance_transfer(done, result);
  };
  host.transferring[to] = true;
  ++host.operations;
  {
    const ServicePort::Visit visit(world_.ni(host.node).services());
    world_.ni(host.node).remote().put(world_.peer(host.node, to), transfer->out.data(), nullptr,
                                      transfer->address, hosts_[to]->region, size, transfer);
  }
}

void Simulation::advance_transfer(Transfer& transfer, Result result) {
  Host& host = *transfer.host;
  Host& target = *hosts_[transfer.target];
  const std::size_t size = transfer.out.size();
  if (result != Result::ok) fail("a transfer ended with " + std::string(to_string(result)));
  if (!transfer.getting) {
    const auto* there = reinterpret_cast<const std::byte*>(transfer.address);
    if (size != 0 && std::memcmp(there, transfer.out.data(), size) != 0)
      fail("a put finished before its bytes were in place");
    transfer.getting = true;
    {
      const ServicePort::Visit visit(world_.ni(host.node).services());
      world_.ni(host.node).remote().get(world_.peer(host.node, transfer.target),
                                        transfer.back.data(), nullptr, transfer.address,
                                        target.region, size, &transfer);
    }
    return;
  }
  if (transfer.out != transfer.back) fail("a get brought other bytes than were put");
  host.transferring[transfer.target] = false;
  --host.operations;
  ++host.transfers;
  delete &transfer;
}

void Simulation::start_increment(Host& host, Node to) {
  auto* increment = new Increment;
  increment->host = &host;
  increment->target = to;
  increment->done = [](Operation* self, Result result) {
    const std::unique_ptr<Increment> done(static_cast<Increment*>(self));
    --done->host->operations;
    Simulation& simulation = *done->host->simulation;
    simulation.hosts_[done->target]->fetched_sum += done->old;
    if (result != Result::ok)
      simulation.fail("an atomic ended with " + std::string(to_string(result)));
  };
  ++host.operations;
  ++hosts_[to]->increments;
  {
    const ServicePort::Visit visit(world_.ni(host.node).services());
    world_.ni(host.node).remote().atomic(world_.peer(host.node, to), {AtomicOp::add, 8, 1},
                                         hosts_[to]->counter_address(), hosts_[to]->region,
                                         &increment->old, increment);
  }
}

// --- Checks ---

bool Simulation::finished() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [this](const auto& host) {
    if (host->to_do != 0 || host->posted != 0 || host->operations != 0) return false;
    for (const auto& other : hosts_)
      if (host->sent[other->node] != other->received[host->node]) return false;
    return true;
  });
}

void Simulation::check_pair(Node sender, Node receiver) {
  ++law_checks_;
  const std::uint64_t held =
      world_.fabric().delivered_messages(sender, receiver) - hosts_[receiver]->received[sender];
  const std::string wrong = world_.credit_fault(sender, receiver, held);
  if (!wrong.empty()) fail(wrong);
  const Peer& peer = world_.state(receiver, sender);
  const std::uint32_t window = peer.flow.window().window();
  if (held > window || peer.services.size() > window || peer.control.size() > window)
    fail("queues of node " + std::to_string(receiver) + " for " + std::to_string(sender) +
         " have outgrown the window");
}

void Simulation::check_some() {
  const auto nodes = static_cast<Node>(hosts_.size());
  if (nodes <= kSmall) {
    for (Node a = 0; a < nodes; ++a)
      for (Node b = 0; b < nodes; ++b)
        if (a != b) check_pair(a, b);
  } else {
    const auto a = static_cast<Node>(random_.below(nodes));
    check_pair(a, hosts_[a]->neighbours[random_.below(kNeighbours)]);
  }
}

// Nothing is under way: each credit is at its sender, or owed, and less than half are owed.
void Simulation::check_end() {
  for (const auto& host : hosts_) {
    Ni& ni = world_.ni(host->node);
    for (PeerId id = 0; id < ni.peers().size(); ++id) {
      const Node other = world_.node_of(host->node, id);
      check_pair(host->node, other);
      const Peer& peer = ni.peers().at(id);
      if (peer.flow.window().held() != 0 || peer.outstanding != 0 || !peer.waiting.empty() ||
          !peer.services.empty() || !peer.control.empty())
        fail("something is left over at node " + std::to_string(host->node));
      if (peer.flow.credits().available() == 0 && options_.window > 0)
        fail("a sender was left without a credit");
    }
    if (ni.counters().get(Counter::frames_dropped) != 0) fail("a frame was dropped");
    if (ni.counters().get(Counter::peers_broken) != 0) fail("a peer was broken");
    if (!options_.rma) continue;
    std::uint64_t counter = 0;
    std::memcpy(&counter, host->memory.data(), sizeof counter);
    if (counter != host->increments) fail("increments were lost or doubled");
    if (host->increments > 0 && host->fetched_sum != counter * (counter - 1) / 2)
      fail("two increments fetched the same value");
  }
}

SimulationCounts Simulation::counts() {
  SimulationCounts sum;
  for (const auto& host : hosts_) {
    const Counters& counters = world_.ni(host->node).counters();
    sum.messages += counters.get(Counter::messages_received);
    sum.atomics += counters.get(Counter::atomics);
    sum.credit_stalls += counters.get(Counter::credit_stalls);
    sum.link_stalls += counters.get(Counter::link_stalls);
    sum.explicit_credits += counters.get(Counter::explicit_credits);
    sum.transfers += host->transfers;
  }
  sum.frames = world_.fabric().totals().frames;
  sum.refused = world_.fabric().totals().refused;
  sum.ticks = world_.fabric().now();
  sum.law_checks = law_checks_;
  return sum;
}

}  // namespace lfc
