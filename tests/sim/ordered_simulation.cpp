#include "sim/ordered_simulation.hpp"

#include <algorithm>

namespace lfc {
namespace {

constexpr std::uint64_t kIdleLimit = 3000;  // ticks without any event, far above any stall

std::vector<std::byte> content(std::uint64_t member, std::uint64_t count, std::size_t limit) {
  Random random((member << 32) ^ count ^ 0x0bca);
  // Most messages fit into a packet; all fit into the limit of a request.
  const std::size_t most = random.chance(700) ? std::min<std::size_t>(39, limit) : limit;
  std::vector<std::byte> bytes(random.below(most + 1));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

}  // namespace

struct OrderedSimulation::Host {
  World::Node node = 0;
  std::unique_ptr<Multicast> multicast;
  std::unique_ptr<OrderedBroadcast> all;
  std::vector<std::byte> sending;
  std::uint32_t sent = 0;
  std::size_t delivered = 0;
  std::vector<std::uint32_t> count;  // by sender
  std::uint64_t busy_until = 0;
};

void OrderedCounts::add(const OrderedCounts& other) noexcept {
  messages += other.messages;
  deliveries += other.deliveries;
  early += other.early;
  ticks += other.ticks;
}

OrderedSimulation::OrderedSimulation(const OrderedSimulationOptions& options)
    : options_(options),
      random_(options.seed),
      world_(options.nodes, random_fabric(options.seed, 200),
             {.initial_window = options.window, .maximum_window = options.window}) {
  OrderedBroadcast::Options made;
  made.window = static_cast<std::uint32_t>(random_.between(4, 64));
  made.packet = random_.between(1, 100);
  made.sequencer = static_cast<std::uint32_t>(random_.below(options.nodes));
  made.fan = static_cast<std::uint32_t>(random_.between(1, 4));
  std::vector<ProcessName> names;
  for (World::Node node = 0; node < options.nodes; ++node) names.push_back({1, node});
  for (World::Node node = 0; node < options.nodes; ++node) {
    Host& host = *hosts_.emplace_back(std::make_unique<Host>());
    host.node = node;
    host.count.resize(options.nodes);
    host.multicast = std::make_unique<Multicast>(world_.ni(node).services(), Multicast::Options{},
                                                 ServiceId::ordered);
    host.all = std::make_unique<OrderedBroadcast>(*host.multicast, made);
    std::vector<PeerId> peers(options.nodes, kNoPeer);
    for (World::Node other = 0; other < options.nodes; ++other)
      if (other != node) peers[other] = world_.peer(node, other);
    host.all->join(17, names, node, peers);
  }
}

OrderedSimulation::~OrderedSimulation() {
  for (auto& host : hosts_) host->all->leave();
}

void OrderedSimulation::check(Host& host, std::uint32_t member, std::uint64_t number,
                              std::span<const std::byte> bytes) {
  const auto right = content(member, host.count[member]++, host.all->max_message());
  if (!std::equal(bytes.begin(), bytes.end(), right.begin(), right.end()))
    fail("member " + std::to_string(host.node) + ": message of " + std::to_string(member) +
         " is not the next that it sent");
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (host.delivered == order_.size()) order_.push_back({member, size, number});
  const Delivered& first = order_[host.delivered++];
  if (first.member != member || first.size != size || first.number != number)
    fail("member " + std::to_string(host.node) + " delivers in another order");
  ++counts_.deliveries;
}

void OrderedSimulation::act(Host& host) {
  const std::uint64_t now = world_.now();
  if (now < host.busy_until) return;
  if (random_.chance(20)) host.busy_until = now + random_.between(1, 300);
  while (host.all->deliver(
      [&](std::uint32_t member, std::uint64_t number, std::span<const std::byte> bytes) {
        check(host, member, number, bytes);
      })) {
  }
  if (host.all->fault() != OrderedBroadcast::Fault::none) fail("a member has failed");
  if (host.sent < options_.messages && !host.all->busy() && random_.chance(300)) {
    host.sending = content(host.node, host.sent++, host.all->max_message());
    host.all->start(host.sending);
    ++counts_.messages;
  }
}

bool OrderedSimulation::finished() const {
  const std::size_t whole = std::size_t{options_.nodes} * options_.messages;
  return std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) {
    return host->delivered == whole && !host->all->busy();
  });
}

std::string OrderedSimulation::run() {
  std::uint64_t last_event = 0;
  while (fault_.empty() && !(finished() && world_.fabric().quiet())) {
    const std::uint64_t before = counts_.deliveries + counts_.messages;
    for (auto& host : hosts_) act(*host);
    const int events = world_.step();
    if (events > 0 || !world_.fabric().quiet() || before != counts_.deliveries + counts_.messages)
      last_event = world_.now();
    if (world_.now() - last_event > kIdleLimit)
      fail("deadlock: nothing moves, and something is pending");
    for (const auto& host : hosts_)
      if (host->all->holds_back()) ++counts_.early;
  }
  if (fault_.empty()) {
    world_.settle();
    const std::string fault = world_.credit_fault();
    if (!fault.empty()) fail(fault);
  }
  counts_.ticks = world_.now();
  return fault_;
}

}  // namespace lfc
