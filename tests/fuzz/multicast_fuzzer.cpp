// One NI that takes part in a multicast group with recovery and in an ordered broadcast, with hostile peers only.
// Held: no buffer exceeds its bound, deliveries to the host are in order, and everything ends when the peers are lost.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "engine/ni.hpp"
#include "fuzz/fuzz_link.hpp"
#include "fuzz/fuzzer.hpp"
#include "services/multicast/multicast.hpp"
#include "services/ordered/ordered_broadcast.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kMembers = 12;
constexpr std::uint32_t kWindow = 4;
constexpr std::uint64_t kGroup = 7;
constexpr std::uint64_t kOrder = 9;
constexpr std::size_t kShare = 2 * MulticastPacket::kCost;
constexpr std::size_t kEarly = 16 * MulticastPacket::kCost;
// Stored packets of this group and of others (and one more each), packets in windows, and members' escape buffers.
constexpr std::size_t kMostPackets =
    kMembers * 2 + 1 + 16 + 1 + kMembers * kWindow + kMembers * Recovery::kEscapesOfOne;

struct Receiver final : Multicast::Receiver {
  explicit Receiver(Random& random) : random_(random) {}
  Reception take(const MulticastHeader&, std::span<const std::byte> bytes) override {
    for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
    return random_.chance(300) ? Reception::keep : Reception::taken;
  }
  void keep(Multicast::Packet& packet) override { kept.push_back(&packet); }
  void lost(Multicast::Reason) override { ++losses; }

  std::deque<Multicast::Packet*> kept;
  unsigned sum = 0;
  int losses = 0;

 private:
  Random& random_;
};

class Session {
 public:
  explicit Session(Random& random)
      : self(static_cast<std::uint32_t>(random.below(kMembers))),
        receiver(random),
        ni(config(self)),
        link(open(ni, random)),
        multicast(ni.services(),
                  {.share = kShare,
                   .early = kEarly,
                   .forward_in_host = random.chance(100),
                   .recovery = random.chance(500) ? Suspicion::immediate : Suspicion::timer,
                   .delay = 1000}),
        ordering(ni.services(), {}, ServiceId::ordered),
        order(ordering, {.window = 8, .packet = 32, .sequencer = choose(random)}) {
    std::vector<ProcessName> names;
    for (std::uint32_t member = 0; member < kMembers; ++member) {
      names.push_back({2, member});
      AddressWriter writer({{2, member}, 7, kWindow});
      writer.add("fuzz", {});
      std::string why_not;
      peers.push_back(member == self
                          ? kNoPeer
                          : ni.add_peer(*Address::parse(std::move(writer).finish()), why_not));
    }
    std::vector<std::uint64_t> nodes;
    for (std::uint32_t member = 0; member < kMembers; ++member) nodes.push_back(member);
    multicast.join(group, kGroup, Membership(names, nodes), self, peers, receiver);
    order.join(kOrder, names, self, peers);
    credits.fill(kWindow);
  }
  ~Session() {
    for (const PeerId peer : peers)
      if (peer != kNoPeer) ni.remove_peer(peer);
    for (Multicast::Packet* packet : receiver.kept) multicast.release(*packet);
    order.leave();
    multicast.leave(group);
  }
  bool lost(PeerId peer) const { return ni.peers().at(peer).state == Peer::State::broken; }

  std::uint32_t self;
  std::vector<std::byte> bytes = std::vector<std::byte>(64);  // these outlive their senders
  std::vector<std::byte> message = std::vector<std::byte>(100);
  std::atomic<std::uint32_t> unsent = 0;
  Receiver receiver;
  Ni ni;
  FuzzLink* link;
  Multicast multicast;
  Multicast ordering;
  OrderedBroadcast order;
  Multicast::Group* group = nullptr;
  std::vector<PeerId> peers;
  std::array<std::uint32_t, kMembers> credits{};  // that the hostile members hold
  std::uint64_t next = 0;                         // delivered in order
  std::uint32_t sequencer = 0;
  std::array<bool, kMembers> asked{};  // a number of this member
  std::vector<std::pair<std::uint32_t, Recovery::EscapePath>>
      on_escapes;  // members with a packet of this member

 private:
  std::uint32_t choose(Random& random) {
    sequencer = random.chance(500) ? self : static_cast<std::uint32_t>(random.below(kMembers));
    return sequencer;
  }
  // Runs before the services are constructed, because they query the link's frame size.
  static FuzzLink* open(Ni& ni, Random& random) {
    auto made = std::make_unique<FuzzLink>(ni.sink(), random);
    FuzzLink* const link = made.get();
    ni.add_link(std::move(made));
    ni.open();
    return link;
  }
  static Config config(std::uint32_t self) {
    Config made;
    made.name = {2, self};
    made.key = 1;
    made.initial_window = kWindow;
    made.maximum_window = kWindow;
    return made;
  }
};

class MulticastFuzzer final : public Fuzzer {
 public:
  using Fuzzer::Fuzzer;

  void round() override {
    if (!session_) session_ = std::make_unique<Session>(random_);
    Session& now = *session_;
    std::vector<std::uint32_t> alive;
    for (std::uint32_t member = 0; member < kMembers; ++member)
      if (member != now.self && !now.lost(now.peers[member])) alive.push_back(member);
    if (alive.size() < 3 || random_.chance(1)) return finish();
    host_action(now);
    hostile_frame(now, alive[random_.below(alive.size())]);
    listen(now);
    if (now.multicast.packets() > kMostPackets) fail("more packets are kept than may be");
    if (now.ordering.packets() > kMostPackets) fail("an ordered broadcast keeps packets");
  }

 private:
  void host_action(Session& now) {
    if (random_.chance(200) && !now.receiver.kept.empty()) {
      now.multicast.release(*now.receiver.kept.front());
      now.receiver.kept.pop_front();
    }
    if (random_.chance(100)) now.multicast.serve(*now.group);
    if (random_.chance(50) && now.unsent.load() == 0) {
      MulticastHeader header;
      header.shape = shape();
      now.multicast.send(*now.group, header, now.bytes, now.unsent);
    }
    if (random_.chance(50) && !now.order.busy() &&
        now.order.fault() == OrderedBroadcast::Fault::none)
      now.order.start(std::span(now.message).first(random_.below(101)));
    if (!random_.chance(300)) return;
    while (now.order.deliver(
        [&](std::uint32_t, std::uint64_t number, std::span<const std::byte> bytes) {
          if (number < now.next) fail("a number was delivered twice, or late");
          now.next = number + 1;
          for (const std::byte byte : bytes) sum_ += std::to_integer<unsigned>(byte);
        })) {
    }
  }

  // Collects the credits that return to the members.
  void listen(Session& now) {
    while (!now.link->outbound.empty()) {
      const FuzzLink::Outbound frame = std::move(now.link->outbound.front());
      now.link->outbound.pop_front();
      const auto at = std::find(now.peers.begin(), now.peers.end(), frame.peer);
      if (at == now.peers.end()) continue;
      const auto to = static_cast<std::uint32_t>(at - now.peers.begin());
      std::uint32_t& credits = now.credits[to];
      credits += frame.meta.credits;
      if (frame.meta.type == FrameType::service_data) {
        Recovery::EscapePath escape;
        std::memcpy(&escape, frame.payload.data(), sizeof escape);
        now.on_escapes.push_back({to, escape});
      }
      if (frame.meta.type == FrameType::service) {
        MulticastHeader header;
        std::memcpy(&header, frame.payload.data(), sizeof header);
        if (header.group == kOrder && header.kind == MulticastHeader::Kind::direct)
          now.asked[to] = false;  // a number
      }
      if (frame.meta.type != FrameType::credit) continue;
      CreditPayload payload;
      std::memcpy(&payload, frame.payload.data(), sizeof payload);
      credits += payload.credits;
    }
  }

  TreeShape shape() { return static_cast<TreeShape>(random_.below(kTreeNames.size())); }
  std::uint32_t member() { return static_cast<std::uint32_t>(random_.below(kMembers)); }
  std::uint64_t maybe_odd(std::uint64_t right) { return random_.chance(5) ? odd_number() : right; }

  // A frame that is valid, except for random changes.
  void hostile_frame(Session& now, std::uint32_t from) {
    const bool ordered = random_.chance(400);
    FrameType type = FrameType::service;
    if (!ordered && random_.chance(400))
      type = random_.chance(700) ? FrameType::service_data : FrameType::service_ack;
    if (random_.chance(2))
      type = random_.chance(500) ? FrameType::service_data : FrameType::service_ack;
    std::vector<std::byte> payload;
    const auto append = [&](const auto& part) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&part);
      payload.insert(payload.end(), bytes, bytes + sizeof part);
    };
    // Sometimes the NI's own escape buffer, which must not return.
    Recovery::EscapePath escape{
        random_.chance(500) ? ProcessName{2, member()}.packed() : odd_number(),
        maybe_odd(random_.below(4))};
    MulticastHeader header;
    header.group = maybe_odd(ordered ? kOrder : kGroup);
    if (random_.chance(10)) header.group = random_.below(3);  // not joined
    header.number = maybe_odd(ordered ? now.next + random_.below(8) : random_.below(100));
    header.word = maybe_odd(ordered ? random_.below(4) : 0);
    header.shape = ordered ? TreeShape::monotone : shape();
    header.fan = static_cast<std::uint8_t>(maybe_odd(1 + random_.below(2)));
    header.tag = static_cast<std::uint8_t>(maybe_odd(ordered ? order_tag(now, from) : 0));
    if (ordered && header.tag == 1) header.word = maybe_odd(1 + random_.below(4));
    if (ordered && header.tag == 3) header.number = maybe_odd(now.order.delivered());
    header.kind = MulticastHeader::Kind::tree;
    header.origin = static_cast<std::uint32_t>(maybe_odd(member()));
    if (ordered ? header.tag != 0 : random_.chance(50)) {
      header.kind = MulticastHeader::Kind::direct;
      header.origin = static_cast<std::uint32_t>(maybe_odd(from));
      if (random_.chance(5)) header.kind = MulticastHeader::Kind::lost;
    } else if (!ordered && random_.chance(950)) {
      // Mostly from the tree parent.
      const Tree tree{header.shape, header.fan, kMembers, header.origin};
      if (tree.valid()) from = tree.parent(now.self);
      if (from == now.self || now.lost(now.peers[from])) return;
      if (tree.valid() && random_.chance(990)) {  // the buffer of a member above
        std::uint32_t owner = from;
        while (owner != header.origin && random_.chance(500)) owner = tree.parent(owner);
        escape.owner = ProcessName{2, owner}.packed();
      }
    }
    if (type == FrameType::service_data && header.shape == TreeShape::monotone &&
        random_.chance(990))
      return;
    if (type == FrameType::service_ack && random_.chance(990)) {
      if (now.on_escapes.empty()) return;
      const std::size_t which = random_.below(now.on_escapes.size());
      from = now.on_escapes[which].first;
      escape = now.on_escapes[which].second;
      now.on_escapes.erase(now.on_escapes.begin() + static_cast<std::ptrdiff_t>(which));
      if (now.lost(now.peers[from])) return;
    }
    if (type != FrameType::service) append(escape);
    if (type != FrameType::service_ack || random_.chance(2)) {
      append(header);
      const auto body = junk(random_.below(header.kind == MulticastHeader::Kind::tree ? 33 : 1));
      payload.insert(payload.end(), body.begin(), body.end());
    }
    mutate(payload);
    if (needs_credit(type)) {
      if (now.credits[from] > 0) {
        --now.credits[from];
      } else if (!random_.chance(2)) {
        now.ni.progress();  // a correct peer waits
        return;
      }
    }
    const std::uint64_t broken = now.ni.counters().get(Counter::peers_broken);
    const auto tag = static_cast<std::uint8_t>(ordered ? ServiceId::ordered : ServiceId::multicast);
    const auto credits = static_cast<std::uint8_t>(random_.chance(300) ? random_.below(3) : 0);
    payload.shrink_to_fit();
    const bool surely_wrong = type == FrameType::service ? payload.size() < sizeof header
                                                         : payload.size() < sizeof escape;
    now.link->inbound.push_back({now.peers[from], {type, tag, credits}, std::move(payload)});
    while (!now.link->inbound.empty()) now.ni.progress();
    ++counts_.executions;
    if (now.ni.counters().get(Counter::peers_broken) == broken) {
      ++counts_.accepted;
      if (surely_wrong) fail(std::string("a wrong frame was not refused: ") + to_string(type));
    } else {
      ++counts_.broken;
    }
  }

  // MulticastHeader::tag of a valid ordered broadcast: data, request, grant or report.
  std::uint64_t order_tag(Session& now, std::uint32_t from) {
    if (random_.chance(5)) return random_.below(4);
    if (now.sequencer == from && now.order.busy()) return random_.below(2) * 2;
    if (now.sequencer != now.self || random_.chance(600)) return 0;
    if (now.asked[from]) return 3;
    now.asked[from] = true;
    return 1;
  }

  void mutate(std::vector<std::byte>& payload) {
    if (!random_.chance(10) || payload.empty()) return;
    if (random_.chance(500)) {
      payload[random_.below(payload.size())] = static_cast<std::byte>(random_.next());
    } else {
      payload.resize(random_.below(payload.size() + 1));
    }
  }

  void finish() {
    Session& now = *session_;
    for (const PeerId peer : now.peers)
      if (peer != kNoPeer) now.ni.remove_peer(peer);
    now.ni.progress();
    now.order.give_up();
    if (now.unsent.load() != 0 || now.order.busy())
      fail("something is to be sent after all peers are gone");
    session_.reset();
  }

  std::unique_ptr<Session> session_;
  unsigned sum_ = 0;
};

}  // namespace

std::unique_ptr<Fuzzer> make_multicast_fuzzer(std::uint64_t seed) {
  return std::make_unique<MulticastFuzzer>(seed);
}

}  // namespace lfc
