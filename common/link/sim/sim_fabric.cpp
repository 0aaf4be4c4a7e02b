#include "link/sim/sim_fabric.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "link/sim/sim_link.hpp"
#include "wire/frame.hpp"

namespace lfc {

namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

}  // namespace

SimFabric::SimFabric(const SimOptions& options) : options_(options), random_(options.seed) {}
SimFabric::~SimFabric() = default;

std::unique_ptr<Link> SimFabric::make_link(FrameSink& sink, Counters& counters) {
  nodes_.emplace_back();
  const auto node = static_cast<Node>(nodes_.size() - 1);
  return std::make_unique<SimLink>(*this, node, sink, counters);
}

std::optional<std::uint64_t> SimFabric::next_arrival() const noexcept {
  std::optional<std::uint64_t> first;
  for (const NodeState& node : nodes_)
    if (!node.inbox.empty() && (!first || node.inbox.begin()->first < *first))
      first = node.inbox.begin()->first;
  return first;
}

void SimFabric::kill(Node node) {
  NodeState& dead = nodes_[node];
  if (!dead.alive) return;
  dead.alive = false;
  under_way_ -= dead.inbox.size();
  dead.inbox.clear();
  for (Node other = 0; other < nodes_.size(); ++other)
    if (other != node && nodes_[other].alive) send_news(node, other);
}

void SimFabric::cut(Node a, Node b) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    if (pair(from, to).cut) continue;
    pair(from, to).cut = true;
    if (nodes_[to].alive) send_news(from, to);
  }
}

void SimFabric::silence(Node a, Node b) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    pair(from, to).silent = true;
    // Frames are gone, though they still take room; copies of `to` that concern `from` never arrive.
    auto& inbox = nodes_[to].inbox;
    std::vector<Event> copies;
    for (auto it = inbox.begin(); it != inbox.end();) {
      const bool copy = it->second.kind == Event::Kind::copy && it->second.copy.target == from;
      if (copy) copies.push_back(std::move(it->second));
      const bool frame = it->second.kind == Event::Kind::frame && it->second.from == from;
      if (frame) --under_way_;
      if (frame) lose(from, to, it->second);
      it = copy || frame ? inbox.erase(it) : std::next(it);
    }
    for (Event& copy : copies) inbox.emplace(kNever, std::move(copy));
  }
}

void SimFabric::mend(Node a, Node b) {
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    Pair& wire = pair(from, to);
    wire.cut = wire.silent = false;
    for (const std::uint32_t connection : wire.harmed) {
      reset(from, to, connection, now_);
      reset(to, from, connection, now_);
    }
    wire.harmed.clear();
    const auto& inbox = nodes_[to].inbox;
    wire.frames = static_cast<std::uint32_t>(
        std::count_if(inbox.begin(), inbox.end(), [from = from](const auto& each) {
          return each.second.kind == Event::Kind::frame && each.second.from == from;
        }));
  }
}

void SimFabric::reset(Node from, Node to, std::uint32_t connection, std::uint64_t arrival) {
  if (!nodes_[to].alive) return;
  Event event;
  event.kind = Event::Kind::reset;
  event.from = from;
  event.connection = connection;
  enqueue(to, arrival, std::move(event));
}

void SimFabric::give_up(Node from, Node to, std::uint32_t connection) {
  Pair& wire = pair(from, to);
  if (!wire.silent && usable(from, to)) reset(from, to, connection, frame_arrival(wire));
}

// The network carries nothing. A connection that is being set up ends after some time, another one when the silence
// ends.
void SimFabric::lose(Node from, Node to, const Event& frame) {
  constexpr std::uint64_t kTimeout = 500;
  const auto type = static_cast<FrameType>(load_pod<Header>(frame.bytes.data()).type);
  if (type == FrameType::hello || type == FrameType::hello_ack) {
    reset(from, to, frame.connection, now_ + kTimeout);
    reset(to, from, frame.connection, now_ + kTimeout);
  } else {
    pair(from, to).harmed.insert(frame.connection);
  }
}

void SimFabric::drop_frames(Node node, std::uint32_t connection) {
  auto& inbox = nodes_[node].inbox;
  for (auto it = inbox.begin(); it != inbox.end();) {
    const Event& event = it->second;
    const bool drops = event.kind == Event::Kind::frame && event.connection == connection;
    if (drops) {
      --pair(event.from, node).frames;
      --under_way_;
    }
    it = drops ? inbox.erase(it) : std::next(it);
  }
}

std::uint64_t SimFabric::copy_arrival(Node origin, Node target) noexcept {
  const std::uint64_t delay = random_.between(options_.minimum_delay, options_.maximum_delay);
  return pair(origin, target).silent ? kNever : now_ + delay;
}

void SimFabric::send_notification(Node from, const Copy& copy) {
  Event event;
  event.kind = Event::Kind::notification;
  event.from = from;
  event.value = *copy.notification;
  enqueue(copy.target, now_, std::move(event));
}

// Notifies the receiver of the end of `from`, behind the frames that are still under way.
void SimFabric::send_news(Node from, Node to) {
  Event event;
  event.kind = Event::Kind::broken;
  event.from = from;
  enqueue(to, frame_arrival(pair(from, to)), std::move(event));
}

SimFabric::UnderWay SimFabric::under_way(Node from, Node to) const {
  UnderWay sum;
  for (const auto& [arrival, event] : nodes_[to].inbox) {
    if (event.kind != Event::Kind::frame || event.from != from) continue;
    const auto header = load_pod<Header>(event.bytes.data());
    const auto type = static_cast<FrameType>(header.type);
    if (needs_credit(type)) ++sum.credited;
    sum.credits += header.credits;
    if (type == FrameType::credit)
      sum.credits += load_pod<CreditPayload>(event.bytes.data() + sizeof header).credits;
  }
  return sum;
}

std::uint64_t SimFabric::delivered_messages(Node from, Node to) const {
  const std::vector<Pair>& pairs = nodes_[from].to;
  return to < pairs.size() ? pairs[to].delivered_messages : 0;
}

bool SimFabric::usable(Node from, Node to) const noexcept {
  return nodes_[from].alive && !(to < nodes_[from].to.size() && nodes_[from].to[to].cut);
}

SimFabric::Pair& SimFabric::pair(Node from, Node to) {
  std::vector<Pair>& pairs = nodes_[from].to;
  if (pairs.size() <= to) pairs.resize(std::max<std::size_t>(to + 1, nodes_.size()));
  return pairs[to];
}

bool SimFabric::refuse() noexcept {
  const bool refused = random_.chance(options_.refuse_permille);
  totals_.refused += refused ? 1 : 0;
  return refused;
}

bool SimFabric::has_room(Node from, Node to, bool control) noexcept {
  const std::uint32_t limit = options_.capacity + (control ? options_.control_reserve : 0);
  if (pair(from, to).frames >= limit) {
    ++totals_.refused;
    return false;
  }
  return control || !refuse();
}

std::uint64_t SimFabric::frame_arrival(Pair& pair) noexcept {
  std::uint64_t arrival = now_ + random_.between(options_.minimum_delay, options_.maximum_delay);
  if (random_.chance(options_.stall_permille)) arrival += random_.below(options_.stall_ticks);
  pair.last_arrival = std::max(pair.last_arrival, arrival);
  return pair.last_arrival;
}

void SimFabric::transmit(Node from, Node to, std::uint32_t connection,
                         std::vector<std::byte> frame) {
  if (!nodes_[to].alive) return send_news(to, from);  // the process has ended
  if (random_.chance(options_.lose_permille)) {
    ++totals_.lost;
    return;
  }
  if (random_.chance(options_.corrupt_permille)) {
    ++totals_.corrupted;
    const std::uint64_t bit = random_.below(frame.size() * 8);
    frame[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  const bool twice = random_.chance(options_.duplicate_permille);
  totals_.duplicated += twice ? 1 : 0;
  Pair& wire = pair(from, to);
  for (int copies = twice ? 2 : 1; copies > 0; --copies) {
    ++wire.frames;
    ++totals_.frames;
    Event event;
    event.from = from;
    event.connection = connection;
    event.bytes = frame;
    if (wire.silent) {
      lose(from, to, event);
      continue;
    }
    enqueue(to, frame_arrival(wire), std::move(event));
  }
}

void SimFabric::enqueue(Node to, std::uint64_t arrival, Event event) {
  nodes_[to].inbox.emplace(arrival, std::move(event));
  ++under_way_;
}

bool SimFabric::take(Node node, Event& out) {
  auto& inbox = nodes_[node].inbox;
  if (inbox.empty() || inbox.begin()->first > now_) return false;
  out = std::move(inbox.begin()->second);
  inbox.erase(inbox.begin());
  --under_way_;
  if (out.kind == Event::Kind::frame) --pair(out.from, node).frames;
  return true;
}

// Removes the copies between the two nodes that have not arrived.
std::vector<Operation*> SimFabric::take_copies(Node origin, Node target, std::uint32_t connection) {
  std::vector<Operation*> taken;
  auto& inbox = nodes_[origin].inbox;
  for (auto it = inbox.begin(); it != inbox.end();) {
    const Event& event = it->second;
    if (event.kind == Event::Kind::copy && event.copy.target == target) {
      taken.push_back(event.copy.operation);
      if (options_.late_puts && event.copy.is_put) delay_put(origin, connection, event.copy);
      it = inbox.erase(it);
      --under_way_;
    } else {
      ++it;
    }
  }
  return taken;
}

// The bytes of a put that has left arrive unless the target closes the connection first.
void SimFabric::delay_put(Node origin, std::uint32_t connection, const Copy& copy) {
  constexpr std::uint64_t kLatest = 3000;
  Event event;
  event.kind = Event::Kind::late_put;
  event.from = origin;
  event.connection = connection;
  event.copy = copy;
  const auto* bytes = static_cast<const std::byte*>(copy.source);
  event.bytes.assign(bytes, bytes + copy.size);
  enqueue(copy.target, now_ + random_.below(kLatest), std::move(event));
}

// The result of a copy, decided when it arrives: the region may have been deregistered meanwhile.
Result SimFabric::copy_result(Node origin, const Copy& copy) const noexcept {
  if (!nodes_[copy.target].alive || !usable(origin, copy.target)) return Result::unreachable;
  if (copy.key >= regions_.size()) return Result::bad_address;
  const Region& region = regions_[copy.key];
  const bool inside = region.live && region.owner == copy.target &&
                      copy.remote_address >= region.base &&
                      copy.remote_address - region.base <= region.size &&
                      copy.size <= region.size - (copy.remote_address - region.base);
  return inside ? Result::ok : Result::bad_address;
}

}  // namespace lfc
