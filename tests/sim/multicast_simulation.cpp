#include "sim/multicast_simulation.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>

namespace lfc {
namespace {

constexpr std::uint64_t kIdleLimit = 2000;  // ticks without any event, far above any stall
constexpr std::uint64_t kTickLimit = 2'000'000;
constexpr std::uint8_t kAwaited = 2;  // tag of messages that a host waits for

std::uint64_t pattern(std::uint64_t group, std::uint64_t origin, std::uint64_t number) noexcept {
  return Random((group << 44) ^ (origin << 24) ^ number).next();
}

std::vector<std::byte> content(std::uint64_t pattern, std::size_t limit) {
  std::vector<std::byte> bytes((pattern >> 8) % (limit + 1));
  Random random(pattern);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

}  // namespace

// One member of one group.
struct MulticastSimulation::Member final : Multicast::Receiver {
  MulticastSimulation* simulation = nullptr;
  Host* host = nullptr;
  Multicast::Group* group = nullptr;
  std::uint64_t key = 0;
  std::uint32_t self = 0;
  std::vector<std::uint64_t> expected;  // by origin: number of the next packet
  std::vector<std::uint64_t> taken;     // by origin
  std::deque<Multicast::Packet*> kept;
  std::vector<Member*>* others = nullptr;  // of the group, this one among them
  std::uint32_t to_send = 0;
  std::uint64_t sent = 0;
  std::atomic<std::uint32_t> unsent = 0;
  std::vector<std::byte> sending;

  Reception take(const MulticastHeader& header, std::span<const std::byte> bytes) override;
  void keep(Multicast::Packet& packet) override { kept.push_back(&packet); }
  void release_first();
  // No other member lags too far behind.
  bool may_send() const {
    return sent != to_send && unsent.load() == 0 &&
           std::all_of(others->begin(), others->end(), [&](const Member* other) {
             return other == this || sent - other->taken[self] < simulation->lead_;
           });
  }
  bool has_taken_all() const {
    for (std::uint32_t origin = 0; origin < taken.size(); ++origin)
      if (origin != self && taken[origin] != to_send) return false;
    return true;
  }
  void lost(Multicast::Reason) override {
    simulation->fail("a member was told that another is lost");
  }
};

struct MulticastSimulation::Host {
  MulticastSimulation* simulation = nullptr;
  Node node = 0;
  std::deque<Message>
      posted;  // awaited by other hosts now or before; outlive all users of their queue
  std::unique_ptr<Multicast> multicast;
  std::vector<Member*> members;
  std::uint64_t busy_until = 0;
  std::uint32_t unicasts = 0;
  // With --waits:
  std::uint32_t waits = 0;  // waits that are still to come
  bool waiting = false;     // for a message; takes and sends no multicast meanwhile
  bool one_by_one = false;  // takes from a group after all packets of the groups before

  // Whether it takes from this group now.
  bool may_take(const Member& from) const {
    if (waiting || simulation->world_.now() < busy_until) return false;
    return !one_by_one || std::all_of(members.begin(), members.end(), [&](const Member* member) {
      return member->key >= from.key || member->has_taken_all();
    });
  }
  static void deliver(void* context, const Delivery& delivery) {
    if (delivery.tag == kAwaited) static_cast<Host*>(context)->waiting = false;
  }
};

Multicast::Receiver::Reception MulticastSimulation::Member::take(const MulticastHeader& header,
                                                                 std::span<const std::byte> bytes) {
  // The contents are checked on arrival, even if the host is not ready.
  if (header.number != expected[header.origin]++)
    simulation->fail("group " + std::to_string(key) + " member " + std::to_string(self) +
                     ": packet " + std::to_string(header.number) + " of member " +
                     std::to_string(header.origin) + " is out of order");
  const auto right =
      content(pattern(key, header.origin, header.number), host->multicast->max_packet());
  if (!std::equal(bytes.begin(), bytes.end(), right.begin(), right.end()))
    simulation->fail("the contents of a packet are not what was sent");
  ++simulation->counts_.deliveries;
  if (!kept.empty() || !host->may_take(*this)) return Reception::keep;
  ++taken[header.origin];
  return Reception::taken;
}

void MulticastSimulation::Member::release_first() {
  ++taken[kept.front()->header.origin];
  host->multicast->release(*kept.front());
  kept.pop_front();
}

void MulticastCounts::add(const MulticastCounts& other) noexcept {
  multicasts += other.multicasts;
  deliveries += other.deliveries;
  unicasts += other.unicasts;
  forwarded += other.forwarded;
  kept += other.kept;
  blocked += other.blocked;
  deadlocks += other.deadlocks;
  links_used += other.links_used;
  links += other.links;
  packets += other.packets;
  recoveries += other.recoveries;
  recovery_packets += other.recovery_packets;
  waits += other.waits;
  stored = std::max(stored, other.stored);
  ticks += other.ticks;
}

MulticastSimulation::MulticastSimulation(const MulticastSimulationOptions& options)
    : options_(options),
      random_(options.seed),
      world_(options.nodes, random_fabric(options.seed, 200),
             {.initial_window = options.window, .maximum_window = options.window}),
      lead_(options.waits ? random_.between(1, 4) : ~std::uint64_t{0}) {
  for (Node node = 0; node < options.nodes; ++node) {
    Host& host = *hosts_.emplace_back(std::make_unique<Host>());
    host.simulation = this;
    host.node = node;
    host.unicasts = 8;
    if (options.waits) {
      host.waits = static_cast<std::uint32_t>(random_.below(6));
      host.one_by_one = random_.chance(500);
      world_.ni(node).set_message_handler(handler_of<&Host::deliver>(&host));
    }
    host.multicast = std::make_unique<Multicast>(
        world_.ni(node).services(),
        Multicast::Options{
            // No more bytes than the members may send.
            .share = options.waits
                         ? lead_ * (world_.ni(node).peers().max_payload() + MulticastPacket::kCost)
                         : Multicast::Options{}.share,
            .recovery = options.recovery,
            .delay = options.delay,
            .clock = [](const void* world) { return static_cast<const World*>(world)->now(); },
            .clock_context = &world_});
  }
  for (std::uint32_t group = 0; group < (options.whole ? 1 : options.groups); ++group) {
    std::vector<Node> nodes;
    const auto share = static_cast<std::uint32_t>(random_.between(100, 500));
    for (Node node = 0; node < options.nodes; ++node)
      if (options.whole || random_.chance(share)) nodes.push_back(node);
    if (nodes.size() > 1) make_group(group + 1, nodes);
  }
}

MulticastSimulation::~MulticastSimulation() {
  for (auto& member : members_) {
    for (Multicast::Packet* packet : member->kept) member->host->multicast->release(*packet);
    member->host->multicast->leave(member->group);
  }
}

void MulticastSimulation::make_group(std::uint64_t key, const std::vector<Node>& nodes) {
  auto& all = *groups_.emplace_back(std::make_unique<std::vector<Member*>>());
  std::vector<ProcessName> names;
  std::vector<std::uint64_t> places;
  for (const Node node : nodes) {
    names.push_back({1, node});
    places.push_back(node);
  }
  for (std::uint32_t self = 0; self < nodes.size(); ++self) {
    Member& member = *members_.emplace_back(std::make_unique<Member>());
    member.simulation = this;
    member.host = hosts_[nodes[self]].get();
    member.key = key;
    member.self = self;
    member.expected.resize(nodes.size());
    member.taken.resize(nodes.size());
    member.others = &all;
    all.push_back(&member);
    member.to_send = options_.multicasts;
    std::vector<PeerId> peers(nodes.size(), kNoPeer);
    for (std::uint32_t other = 0; other < nodes.size(); ++other)
      if (other != self) peers[other] = world_.peer(nodes[self], nodes[other]);
    member.host->members.push_back(&member);
    member.host->multicast->join(member.group, key, Membership(names, places), self, peers, member);
  }
}

void MulticastSimulation::act(Host& host) {
  const std::uint64_t now = world_.now();
  if (now < host.busy_until) return;
  if (random_.chance(20)) host.busy_until = now + random_.between(1, 300);
  if (host.waits > 0 && !host.waiting && random_.chance(10)) wait_for_message(host);
  for (Member* member : host.members) {
    while (!member->kept.empty() && host.may_take(*member)) member->release_first();
    if (host.waiting || !member->may_send() || !random_.chance(300)) continue;
    member->sending =
        content(pattern(member->key, member->self, member->sent), host.multicast->max_packet());
    MulticastHeader header;
    header.number = member->sent++;
    header.shape = options_.shape;
    // Each origin has its own fan-out, because order holds only within one tree.
    header.fan = static_cast<std::uint8_t>(1 + (member->key + member->self) % 4);
    host.multicast->send(*member->group, header, member->sending, member->unsent);
    ++counts_.multicasts;
  }
  if (host.unicasts > 0 && random_.chance(100)) {
    const auto to = static_cast<Node>(random_.below(options_.nodes));
    const Slice slice{&now, sizeof now};
    if (to != host.node &&
        world_.ni(host.node).try_send(world_.peer(host.node, to), 1, &slice, 1)) {
      --host.unicasts;
      ++counts_.unicasts;
    }
  }
}

// The host takes no packet until a message from another host arrives, which begins to send it now.
void MulticastSimulation::wait_for_message(Host& host) {
  const auto from = static_cast<Node>(random_.below(options_.nodes));
  if (from == host.node) return;
  --host.waits;
  host.waiting = true;
  Message& message = hosts_[from]->posted.emplace_back();
  message.tag = kAwaited;
  message.slices[0] = {&options_.seed, sizeof options_.seed};
  message.slice_count = 1;
  message.done = [](Message*, Result) {};
  world_.ni(from).post(world_.peer(from, host.node), message);
  ++counts_.waits;
}

bool MulticastSimulation::finished() const {
  if (std::any_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->waiting; }))
    return false;
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
    if (member->sent != member->to_send || member->unsent.load() != 0 || !member->kept.empty())
      return false;
    for (std::uint32_t origin = 0; origin < member->expected.size(); ++origin)
      if (origin != member->self && member->expected[origin] != member->to_send) return false;
    return true;
  });
}

std::string MulticastSimulation::run() {
  std::uint64_t last_event = 0;
  while (fault_.empty() && !(finished() && world_.fabric().quiet())) {
    for (auto& host : hosts_) act(*host);
    const std::uint64_t sent = counts_.multicasts;
    const int events = world_.step();
    const std::uint64_t now = world_.now();
    if (events > 0 || !world_.fabric().quiet() || sent != counts_.multicasts) last_event = now;
    if (now - last_event > kIdleLimit + 2 * options_.delay) {
      deadlocked_ = true;
      counts_.deadlocks = 1;
      fail("deadlock: nothing moves, and something is pending");
    }
    if (now > kTickLimit) fail("no end in sight");
  }
  if (fault_.empty()) check_end();
  return fault_;
}

void MulticastSimulation::check_end() {
  world_.settle();
  for (auto& host : hosts_)
    if (host->multicast->packets() != 0) {
      fail("packets are left in an NI's buffers");
    } else if (!host->multicast->recovered()) {
      fail("an escape buffer is still in use");
    }
  const std::string fault = world_.credit_fault();
  if (!fault.empty()) fail(fault);
}

MulticastCounts MulticastSimulation::counts() {
  counts_.forwarded = counts_.kept = counts_.blocked = 0;
  counts_.links_used = counts_.packets = counts_.recoveries = counts_.recovery_packets = 0;
  counts_.links = std::uint64_t{options_.nodes} * (options_.nodes - 1);
  for (auto& host : hosts_) {
    counts_.forwarded += host->multicast->stats().forwarded;
    counts_.kept += host->multicast->stats().kept;
    counts_.blocked += host->multicast->stats().blocked;
    const Counters& counters = world_.ni(host->node).counters();
    counts_.stored = std::max(counts_.stored, host->multicast->stats().most_stored);
    counts_.links_used += counters.get(Counter::multicast_links);
    counts_.packets += counters.get(Counter::multicasts);
    counts_.recoveries += counters.get(Counter::recoveries);
    counts_.recovery_packets += counters.get(Counter::recovery_packets);
  }
  counts_.ticks = world_.now();
  return counts_;
}

}  // namespace lfc
