#include <algorithm>
#include <deque>

#include "engine/ni.hpp"
#include "fuzz/fuzz_link.hpp"
#include "fuzz/fuzzer.hpp"
#include "fuzz/service_frames.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kWindow = 4;
constexpr int kPeersPerSession = 200;
constexpr std::uint64_t kGetPiece = 104;
constexpr std::size_t kMemory = 512;  // of each region; canaries around it
constexpr std::size_t kCanary = 64;
constexpr std::byte kCanaryByte{0xc5};

struct Op : Operation {
  std::vector<std::byte> buffer;
  int* pending = nullptr;
  int calls = 0;
};

struct Post : Message {
  std::vector<std::byte> bytes;
  int* pending = nullptr;
  int calls = 0;
};

// An operation of the NI, as read from its frame.
struct Asked {
  OperationRef operation;
  FrameType kind;
  std::uint64_t size;
  std::uint64_t answered;
};

// One NI with its peers; replaced when enough of them are broken.
class Session {
 public:
  explicit Session(Random& random) : ni(config(random)) {
    auto made = std::make_unique<FuzzLink>(ni.sink(), random);
    link = made.get();
    ni.add_link(std::move(made));
    ni.open();
    ni.set_message_handler(handler_of<receive>(this));
    memory.assign(kMemory + 2 * kCanary, kCanaryByte);
    ni.remote().register_memory(base(), kMemory, kRemoteRead | kRemoteWrite | kRemoteAtomic,
                                region);
    RegionHandle stale;
    ni.remote().register_memory(base(), kMemory, kRemoteRead, stale);
    stale_region = stale;
    ni.remote().deregister_memory(stale);
    services = std::make_unique<ServiceFrames>(ni);
  }
  ~Session() {
    services->leave();
    for (PeerId id = 0; id < ni.peers().size(); ++id) ni.remove_peer(id);
  }

  static void receive(void* context, const Delivery& delivery) {
    auto& sum = static_cast<Session*>(context)->checksum;
    for (std::byte byte : delivery.bytes) sum += std::to_integer<unsigned>(byte);
  }
  std::byte* base() { return memory.data() + kCanary; }
  bool canaries() const {
    const auto intact = [](std::byte byte) { return byte == kCanaryByte; };
    return std::all_of(memory.begin(), memory.begin() + kCanary, intact) &&
           std::all_of(memory.end() - kCanary, memory.end(), intact);
  }
  bool lost(PeerId id) const {
    const Peer::State state = ni.peers().at(id).state;
    return state == Peer::State::broken || state == Peer::State::removed;
  }

  std::vector<std::byte> memory;  // these outlive the NI, which may call back until its end
  std::deque<std::unique_ptr<Op>> ops;
  std::deque<std::unique_ptr<Post>> posts;
  int pending = 0;
  unsigned checksum = 0;  // of the bytes delivered to the host, so that all are read
  RegionHandle region;
  RegionHandle stale_region;
  Ni ni;
  std::unique_ptr<ServiceFrames> services;
  FuzzLink* link = nullptr;
  std::uint32_t next_rank = 1;
  PeerId peer = kNoPeer;
  std::uint32_t credits = 0;  // that the hostile peer holds
  std::vector<Asked> asked;
  std::uint32_t next_put = 0;

 private:
  static Config config(Random& random) {
    Config made;
    made.name = {1, 0};
    made.key = 1;
    made.initial_window = kWindow;
    made.maximum_window = 8;
    made.window_cap = 64;
    made.delivery = random.chance(500) ? HostQueue::Mode::queued : HostQueue::Mode::direct;
    return made;
  }
};

class NiFuzzer final : public Fuzzer {
 public:
  using Fuzzer::Fuzzer;

  void round() override {
    if (!session_) session_ = std::make_unique<Session>(random_);
    Session& now = *session_;
    if (now.peer == kNoPeer || now.lost(now.peer)) {
      if (now.next_rank > kPeersPerSession) return finish();
      make_peer(now);
    }
    if (random_.chance(200)) host_action(now);
    if (random_.chance(2)) now.link->connect_from = peer_address(now, random_.chance(500) ? 7 : 8);
    if (random_.chance(1)) now.link->break_peer = now.peer;
    hostile_frame(now);
    listen(now);
    if (!now.canaries()) fail("memory beside a region was written");
    if (!now.services->fault().empty()) fail(now.services->fault());
    if (now.ni.peers().at(now.peer).flow.window().window() > 8)
      fail("a window outgrew its maximum");
  }

 private:
  std::optional<Address> peer_address(Session& now, std::uint32_t key) {
    AddressWriter writer({{2, now.next_rank}, key, kWindow});
    writer.add("fuzz", {});
    return Address::parse(std::move(writer).finish());
  }

  void make_peer(Session& now) {
    ++now.next_rank;
    std::string why_not;
    now.peer = now.ni.add_peer(*peer_address(now, 7), why_not);
    now.credits = kWindow;
    now.asked.clear();
    now.ni.progress();  // reports open operations of the previous peer as lost
    now.services->join(now.peer);
  }

  // Starts operations of the NI, so that their replies can be forged.
  void host_action(Session& now) {
    if (random_.chance(500)) return now.services->act(random_);
    if (now.pending > 50) return;
    if (random_.chance(400)) {
      Post& post = *now.posts.emplace_back(std::make_unique<Post>());
      post.bytes = junk(random_.below(129));
      post.slices[0] = {post.bytes.data(), post.bytes.size()};
      post.slice_count = 1;
      post.pending = &now.pending;
      post.done = [](Message* self, Result) {
        auto& done = static_cast<Post&>(*self);
        ++done.calls;
        --*done.pending;
        done.bytes = {};
      };
      ++now.pending;
      now.ni.post(now.peer, post);
      return;
    }
    Op& op = *now.ops.emplace_back(std::make_unique<Op>());
    op.pending = &now.pending;
    op.done = [](Operation* self, Result) {
      auto& done = static_cast<Op&>(*self);
      ++done.calls;
      --*done.pending;
      done.buffer = {};  // a write after this is a use after free
    };
    ++now.pending;
    RegionHandle theirs;
    theirs.address = 0x10000;
    theirs.size = 4096;
    op.buffer = junk(random_.below(600) + 8);
    const std::size_t size = op.buffer.size();
    switch (random_.below(3)) {
      case 0: {
        const ServicePort::Visit visit(now.ni.services());
        now.ni.remote().put(now.peer, op.buffer.data(), nullptr, 0x10000, theirs, size, &op);
      } break;
      case 1: {
        const ServicePort::Visit visit(now.ni.services());
        now.ni.remote().get(now.peer, op.buffer.data(), nullptr, 0x10000, theirs, size, &op);
      } break;
      default: {
        const ServicePort::Visit visit(now.ni.services());
        now.ni.remote().atomic(now.peer, {AtomicOp::add, 8, 1}, 0x10000, theirs, op.buffer.data(),
                               &op);
      } break;
    }
  }

  // Reads the NI's frames: credits for the peer, and references worth forging.
  void listen(Session& now) {
    while (!now.link->outbound.empty()) {
      const FuzzLink::Outbound frame = std::move(now.link->outbound.front());
      now.link->outbound.pop_front();
      if (frame.peer != now.peer) continue;
      now.credits += frame.meta.credits;
      if (frame.meta.type == FrameType::service) now.services->heard(frame.meta.tag, frame.payload);
      if (frame.meta.type == FrameType::credit) {
        CreditPayload payload;
        std::memcpy(&payload, frame.payload.data(), sizeof payload);
        now.credits += payload.credits;
      }
      if (frame.meta.type == FrameType::put || frame.meta.type == FrameType::get ||
          frame.meta.type == FrameType::atomic) {
        GetPayload head;  // the other requests begin alike
        std::memcpy(&head, frame.payload.data(), sizeof head);
        const bool first =
            std::none_of(now.asked.begin(), now.asked.end(), [&](const Asked& known) {
              return known.operation.index == head.operation.index &&
                     known.operation.generation == head.operation.generation;
            });
        if (first) now.asked.push_back({head.operation, frame.meta.type, head.size, 0});
      }
    }
  }

  // An operation of the NI to which this kind of frame may reply. It is mostly a real one, and returned once.
  Asked reference(Session& now, FrameType kind, bool last) {
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < now.asked.size(); ++i)
      if (now.asked[i].kind == kind) fitting.push_back(i);
    if (fitting.empty() || random_.chance(10))
      return {{static_cast<std::uint32_t>(odd_number()), static_cast<std::uint32_t>(odd_number())},
              kind,
              random_.below(200),
              0};
    const std::size_t chosen = fitting[random_.below(fitting.size())];
    const Asked found = now.asked[chosen];
    now.asked[chosen].answered += kGetPiece;
    const bool finished = last || now.asked[chosen].answered >= found.size;
    if (finished && !random_.chance(10))
      now.asked.erase(now.asked.begin() + static_cast<std::ptrdiff_t>(chosen));
    return found;
  }
  bool may_answer(const Session& now, FrameType type) {
    FrameType kind = FrameType::put;
    switch (type) {
      case FrameType::put_ack: break;
      case FrameType::get_data: kind = FrameType::get; break;
      case FrameType::atomic_reply: kind = FrameType::atomic; break;
      default: return true;
    }
    return random_.chance(5) || std::any_of(now.asked.begin(), now.asked.end(),
                                            [=](const Asked& asked) { return asked.kind == kind; });
  }

  std::uint64_t target_address(Session& now) {
    const std::uint64_t base = now.region.address;
    if (random_.chance(700)) return base + random_.below(kMemory) / 8 * 8;
    return random_.chance(500) ? base + kMemory - random_.below(20) : odd_number();
  }
  RegionRef target_region(Session& now) {
    if (random_.chance(800)) return {now.region.id, now.region.generation};
    if (random_.chance(500)) return {now.stale_region.id, now.stale_region.generation};
    return {static_cast<std::uint32_t>(odd_number()), static_cast<std::uint32_t>(odd_number())};
  }

  // A frame that is valid, except for random changes.
  std::vector<std::byte> sensible(Session& now, FrameType type) {
    std::vector<std::byte> payload;
    const auto append = [&](const auto& head) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&head);
      payload.insert(payload.end(), bytes, bytes + sizeof head);
    };
    OperationRef theirs{static_cast<std::uint32_t>(random_.below(4)), 1};
    switch (type) {
      case FrameType::message: return junk(random_.below(129));
      case FrameType::credit:
        append(CreditPayload{static_cast<std::uint32_t>(random_.below(4))});
        break;
      case FrameType::put: {
        const std::size_t bytes = random_.between(1, 96);
        const bool whole = random_.chance(900);
        const std::uint64_t total = whole ? bytes : bytes + random_.below(100);
        if (whole) theirs.index = 100 + now.next_put++;
        append(PutPayload{theirs, target_region(now), target_address(now), total});
        const auto body = junk(bytes);
        payload.insert(payload.end(), body.begin(), body.end());
        break;
      }
      case FrameType::get:
        append(GetPayload{theirs, target_region(now), target_address(now), random_.below(kMemory)});
        break;
      case FrameType::atomic: {
        AtomicPayload head{theirs, target_region(now), target_address(now), random_.next(), 0, 0, 8,
                           {}};
        head.op = static_cast<std::uint8_t>(random_.below(9));
        head.width = random_.chance(500) ? 8 : 4;
        append(head);
        break;
      }
      case FrameType::put_ack:
        append(AckPayload{reference(now, FrameType::put, true).operation, 0, 0, 0});
        break;
      case FrameType::atomic_reply:
        append(AckPayload{reference(now, FrameType::atomic, true).operation, 0, 0, random_.next()});
        break;
      case FrameType::get_data: {
        const Asked ours = reference(now, FrameType::get, false);
        const std::uint64_t offset = random_.chance(980) ? ours.answered : odd_number();
        append(AckPayload{ours.operation, random_.chance(10) ? 2u : 0u, 0, offset});
        const std::uint64_t left = ours.size - std::min(ours.size, ours.answered);
        const auto body = junk(std::min(kGetPiece, left + (random_.chance(10) ? 1 : 0)));
        payload.insert(payload.end(), body.begin(), body.end());
        break;
      }
      default: return junk(random_.below(60));
    }
    return payload;
  }

  void hostile_frame(Session& now) {
    static constexpr FrameType kTypes[] = {
        FrameType::message, FrameType::put,       FrameType::get,          FrameType::get_data,
        FrameType::atomic,  FrameType::put_ack,   FrameType::atomic_reply, FrameType::credit,
        FrameType::service, FrameType::service,   FrameType::service_ack,  FrameType::service_data,
        FrameType::hello,   FrameType::hello_ack, FrameType::goodbye};
    // The last three belong to links, and are invalid here.
    FrameType type = kTypes[random_.below(random_.chance(10) ? 15 : 12)];
    if (!may_answer(now, type)) type = FrameType::message;
    if (random_.chance(2)) type = static_cast<FrameType>(odd_number());
    if (needs_credit(type)) {
      if (now.credits > 0) {
        --now.credits;
      } else if (!random_.chance(5)) {
        now.ni.progress();  // a correct peer waits
        return;
      }
    }
    auto tag = static_cast<std::uint8_t>(random_.next());
    std::vector<std::byte> payload =
        is_service(type) ? now.services->make(random_, type, tag) : sensible(now, type);
    if (is_service(type) && random_.chance(5)) tag = static_cast<std::uint8_t>(random_.next());
    const Meta meta{type, tag, static_cast<std::uint8_t>(random_.chance(100) ? random_.next() : 0)};
    mutate(payload);
    PeerId from = now.peer;
    if (random_.chance(2)) from = static_cast<PeerId>(odd_number());

    const bool surely_wrong = is_wrong(type, payload.size()) || from >= now.ni.peers().size();
    const std::uint64_t dropped = now.ni.counters().get(Counter::frames_dropped);
    const std::uint64_t broken = now.ni.counters().get(Counter::peers_broken);
    payload.shrink_to_fit();
    now.link->inbound.push_back({from, meta, std::move(payload)});
    while (!now.link->inbound.empty()) now.ni.progress();  // an idle link is not polled each time
    ++counts_.executions;
    const std::uint64_t dropped_now = now.ni.counters().get(Counter::frames_dropped) - dropped;
    const std::uint64_t broken_now = now.ni.counters().get(Counter::peers_broken) - broken;
    counts_.dropped += dropped_now;
    counts_.broken += broken_now;
    if (dropped_now + broken_now == 0) ++counts_.accepted;
    if (surely_wrong && dropped_now + broken_now == 0)
      fail(std::string("a wrong frame was not counted: ") + to_string(type));
  }

  // Frames that are invalid in every state of the NI.
  static bool is_wrong(FrameType type, std::size_t size) {
    switch (type) {
      case FrameType::message: return false;
      case FrameType::credit: return size != sizeof(CreditPayload);
      case FrameType::put: return size <= sizeof(PutPayload);
      case FrameType::get: return size != sizeof(GetPayload);
      case FrameType::atomic: return size != sizeof(AtomicPayload);
      case FrameType::put_ack:
      case FrameType::atomic_reply: return size != sizeof(AckPayload);
      case FrameType::get_data: return size < sizeof(AckPayload);
      case FrameType::service:
      case FrameType::service_ack:
      case FrameType::service_data: return size < 8;  // the smallest: one word of a pushed message
      default: return true;
    }
  }
  static bool is_service(FrameType type) {
    return type == FrameType::service || type == FrameType::service_ack ||
           type == FrameType::service_data;
  }

  void mutate(std::vector<std::byte>& payload) {
    if (!random_.chance(50)) return;
    for (auto changes = random_.between(1, 3); changes > 0; --changes) {
      switch (random_.below(4)) {
        case 0:  // any field, aligned as the fields are
          if (payload.size() >= 4) {
            const std::uint64_t value = odd_number();
            const std::size_t width = payload.size() >= 8 && random_.chance(500) ? 8 : 4;
            const std::size_t at = random_.below(payload.size() / width) * width;
            std::memcpy(payload.data() + at, &value, width);
          }
          break;
        case 1:
          if (!payload.empty())
            payload[random_.below(payload.size())] = static_cast<std::byte>(random_.next());
          break;
        case 2: payload.resize(random_.below(payload.size() + 1)); break;
        default: payload.resize(payload.size() + random_.below(20)); break;
      }
    }
  }

  // When all peers are lost, each operation has completed once.
  void finish() {
    Session& now = *session_;
    for (PeerId peer = 0; peer < now.ni.peers().size(); ++peer) now.ni.remove_peer(peer);
    now.ni.progress();
    if (now.pending != 0) fail("something is pending after all peers are gone");
    for (const auto& op : now.ops)
      if (op->calls != 1)
        fail("an operation was completed " + std::to_string(op->calls) + " times");
    for (const auto& post : now.posts)
      if (post->calls != 1)
        fail("a message was completed " + std::to_string(post->calls) + " times");
    const std::uint64_t cap = std::max<std::uint64_t>(64, kPeersPerSession * kWindow);
    if (now.ni.peers().budget().granted() > cap) fail("the budget leaks windows of lost peers");
    session_.reset();
  }

  std::unique_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<Fuzzer> make_ni_fuzzer(std::uint64_t seed) {
  return std::make_unique<NiFuzzer>(seed);
}

}  // namespace lfc
