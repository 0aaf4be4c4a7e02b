#include "fuzz/service_frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "services/windows/protocol/bundle.hpp"

namespace lfc {
namespace {

constexpr std::size_t kBytes = 256;  // of each memory and result; between canaries
constexpr std::size_t kCanary = 64;
constexpr std::byte kCanaryByte{0xc5};
constexpr std::uint32_t kSlots = 4;
constexpr std::uint32_t kTags = 3;
constexpr std::size_t kMostOperations = 24;

// Exposed memory between canaries.
struct Guarded {
  std::vector<std::byte> bytes = std::vector<std::byte>(kBytes + 2 * kCanary, kCanaryByte);
  std::byte* data() { return bytes.data() + kCanary; }
  bool intact() const {
    const auto own = [](std::byte byte) { return byte == kCanaryByte; };
    return std::all_of(bytes.begin(), bytes.begin() + kCanary, own) &&
           std::all_of(bytes.end() - kCanary, bytes.end(), own);
  }
};

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// A value at or around limits, or any.
std::uint64_t odd(Random& random) {
  static constexpr std::uint64_t kBases[] = {
      0, 1, kBytes, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull - 1};
  return random.chance(200) ? random.next()
                            : kBases[random.below(std::size(kBases))] + random.below(3) - 1;
}
std::uint64_t usually(Random& random, std::uint64_t right) {
  return random.chance(985) ? right : odd(random);
}
std::uint32_t usually32(Random& random, std::uint64_t right) {
  return static_cast<std::uint32_t>(usually(random, right));
}

}  // namespace

struct ServiceFrames::Put : neon::Operation {
  int calls = 0;
  Guarded memory;
};

struct ServiceFrames::Member {
  struct Announced : neon::Announcement {
    Guarded memory;
  };
  PeerId peer = kNoPeer;
  Guarded exposed;
  std::unique_ptr<Window> window;
  neon::Exposure exposure;
  std::array<neon::Slot, kSlots> slots;
  std::unique_ptr<NeonWindow> neon;
  std::array<Announced, kTags> announced;
  std::deque<Put> puts;
  std::deque<Guarded> results;
  std::deque<std::uint64_t> replies;               // names of our operations on the window
  std::deque<std::uint64_t> awaited;               // and of NEON's
  std::array<std::uint32_t, kTags> generations{};  // NEON's announcements of each tag
  neon::Header wanted;                             // the announcement that our NEON puts await
};

ServiceFrames::ServiceFrames(Ni& ni)
    : ni_(ni),
      windows_(std::make_unique<WindowService>(ni.services(), ni.remote(), ni.host(),
                                               WindowHost{[] {}, [](void*, WindowStatus) {}})),
      neon_(std::make_shared<NeonService>(ni.services(), &ni.remote())),
      pushes_(ni) {}

ServiceFrames::~ServiceFrames() { leave(); }

void ServiceFrames::join(PeerId peer) {
  leave();
  pushes_.join(peer);
  member_ = std::make_unique<Member>();
  Member& now = *member_;
  now.peer = peer;
  Window::Shape shape;
  shape.base = now.exposed.data();
  shape.size = kBytes;
  shape.ranks = 2;
  now.window = windows_->create(std::move(shape));
  std::array<WindowFacts, 2> facts{now.window->facts(), now.window->facts()};
  facts[1].id = 77;
  const std::array<PeerId, 2> peers{kNoPeer, peer};
  const std::array<bool, 2> none{};
  now.window->connect(facts, peers, none);
  now.window->lock_all(true);
  now.exposure = {now.exposed.data(), kBytes, now.slots.data(), kSlots};
  const neon::Limits limits{.frame = neon_->frame_bytes(), .eager = 128, .budget = 2048};
  now.neon = std::make_unique<NeonWindow>(neon_, 0, limits, now.exposure, 2);
  now.neon->connect(peers, std::array<std::uint32_t, 2>{now.neon->id(), 99});
}

void ServiceFrames::leave() {
  if (member_ == nullptr) return;
  pushes_.leave();
  {
    const Ni::Access access(ni_);
    for (Member::Announced& each : member_->announced)
      (void)member_->neon->neon().target().withdraw(each);
    member_->neon->neon().on_lost(1);
    for (const Member::Announced& each : member_->announced)
      if (each.unheard != 0) fault_ = "what is withdrawn waits for a lost member";
  }
  for (const Put& put : member_->puts)
    if (put.calls != 1)
      fault_ = "an operation of NEON was completed " + std::to_string(put.calls) + " times";
  (void)fault();
  member_.reset();
}

void ServiceFrames::act(Random& random) {
  Member& now = *member_;
  if (random.chance(300)) return pushes_.act(random);
  if (random.chance(400)) {
    const Ni::Access access(ni_);
    Member::Announced& each = now.announced[random.below(kTags)];
    if (each.live) {
      if (random.chance(100)) (void)now.neon->neon().target().withdraw(each);
      return;
    }
    each.address = each.memory.data();
    each.size = kBytes;
    each.origins = {1};
    each.tag = static_cast<std::uint32_t>(&each - now.announced.data());
    each.done = [](neon::Announcement*, neon::Status) {};
    if (now.neon->neon().target().announce(each) == neon::Status::ok) ++now.generations[each.tag];
    return;
  }
  if (now.puts.size() < kMostOperations && random.chance(500)) {
    const Ni::Access access(ni_);
    Put& put = now.puts.emplace_back();
    put.done = [](neon::Operation* self, neon::Status) { ++static_cast<Put*>(self)->calls; };
    const auto tag = static_cast<std::uint32_t>(random.below(kTags));
    neon::Origin& origin = now.neon->neon().origin();
    const neon::Status begun =
        random.chance(500) ? origin.put(put, 1, tag, 0, put.memory.data(), random.below(kBytes),
                                        random.chance(500), random.chance(300))
                           : origin.get(put, 1, tag, 0, put.memory.data(),
                                        random.between(1, kBytes), random.chance(500));
    if (begun != neon::Status::ok) now.puts.pop_back();
    return;
  }
  // Without room the call would wait for a peer that may never reply.
  const auto has_room = [&] {
    const Ni::Access access(ni_);
    rma::Origin& origin = now.window->protocol().origin;
    return origin.make_room(origin.use(1));
  };
  if (now.results.size() >= kMostOperations || !has_room()) return;
  Guarded& memory = now.results.emplace_back();
  const Run run{0, 8 * random.between(1, kBytes / 8), 0, 1};
  const View own{memory.data(), 0, {&run, 1}, static_cast<std::int64_t>(run.length), 1, run.length};
  const View there{nullptr, 0, {&run, 1}, static_cast<std::int64_t>(run.length), 1, run.length};
  switch (random.below(4)) {
    case 0: (void)now.window->put(1, own, there, nullptr); break;
    case 1:
      (void)now.window->fetch(1, {Accumulate::no_op, Element::u64}, own, own, there, nullptr);
      break;
    case 2:
      (void)now.window->accumulate(1, {Accumulate::sum, Element::u64}, own, there, nullptr);
      break;
    default:
      (void)now.window->compare_and_swap(1, memory.data(), memory.data() + 8, memory.data() + 16, 8,
                                         0);
      break;
  }
}

void ServiceFrames::heard(std::uint8_t tag, const std::vector<std::byte>& payload) {
  const auto remember = [](std::deque<std::uint64_t>& names, std::uint64_t name) {
    names.push_back(name);
    if (names.size() > 16) names.pop_front();
  };
  if (tag == static_cast<std::uint8_t>(ServiceId::windows) &&
      payload.size() >= sizeof(WindowHead)) {
    WindowHead head;
    std::memcpy(&head, payload.data(), sizeof head);
    if (head.reply != 0) remember(member_->replies, head.reply);
  } else if (tag == static_cast<std::uint8_t>(ServiceId::neon) &&
             payload.size() >= sizeof(neon::Header)) {
    neon::Header header;
    std::memcpy(&header, payload.data(), sizeof header);
    if (header.id != 0) remember(member_->awaited, header.id);
    if (header.kind == neon::Kind::want) member_->wanted = header;
  }
}

std::vector<std::byte> ServiceFrames::make(Random& random, FrameType type, std::uint8_t& tag) {
  if (type != FrameType::service_data && random.chance(300)) {
    tag = static_cast<std::uint8_t>(ServiceId::push);
    return pushes_.make(random, type);
  }
  const bool neon = type == FrameType::service && random.chance(600);
  tag = static_cast<std::uint8_t>(neon ? ServiceId::neon : ServiceId::windows);
  return neon ? neon_frame(random) : window_frame(random, type);
}

std::vector<std::byte> ServiceFrames::window_frame(Random& random, FrameType type) {
  const Member& now = *member_;
  const auto reply = [&] {
    return now.replies.empty() ? odd(random)
                               : usually(random, now.replies[random.below(now.replies.size())]);
  };
  std::vector<std::byte> payload;
  if (type == FrameType::service_ack) {
    WindowAck ack{};
    ack.kind = static_cast<std::uint8_t>(usually(random, random.between(1, 3)));
    ack.status = static_cast<std::uint8_t>(random.chance(900) ? 0 : random.next());
    const bool result = ack.kind == static_cast<std::uint8_t>(AckKind::result);
    ack.size = static_cast<std::uint16_t>(usually(random, 8));
    ack.window = usually32(random, now.window->facts().id);
    if (result) {
      ack.reply = reply();
    } else {
      ack.rank = usually32(random, 1);
      ack.count = usually(random, random.below(40));
    }
    append(payload, ack);
    return payload;
  }
  if (type == FrameType::service_data) {
    const std::size_t size = random.below(80);
    append(payload,
           WindowReply{reply(), random.chance(900) ? 0 : usually32(random, 2), usually(random, 0)});
    payload.resize(payload.size() + size, std::byte{0xee});
    return payload;
  }
  WindowHead head{};
  head.window = usually32(random, now.window->facts().id);
  head.rank = usually32(random, 1);
  head.kind = static_cast<std::uint8_t>(usually(random, random.between(1, 11)));
  head.flags = static_cast<std::uint8_t>(random.below(128));
  head.operation = static_cast<std::uint8_t>(random.below(14));
  head.element = static_cast<std::uint8_t>(random.below(24));
  if (random.chance(500)) {
    head.reply = random.next();
  } else {
    head.count = usually(random, random.below(40));
  }
  head.offset = usually(random, 0);
  if (head.kind == static_cast<std::uint8_t>(WindowKind::bundle)) return bundle_frame(random, head);
  std::vector<Run> runs(random.between(0, 3));
  for (Run& run : runs) {
    run = {static_cast<std::int64_t>(usually(random, 8 * random.below(kBytes / 8))),
           usually(random, 8 * random.below(5)),
           static_cast<std::int64_t>(usually(random, random.below(32))), usually(random, 1)};
    head.bytes += run.length * run.repeat;
  }
  if (runs.empty()) {
    head.offset = usually(random, 8 * random.below(kBytes / 8));
    head.bytes = 8 * random.below(5);
  }
  head.runs = usually32(random, runs.size());
  head.bytes = usually(random, head.bytes);
  append(payload, head);
  for (const Run& run : runs) append(payload, run);
  const bool bare = head.kind == static_cast<std::uint8_t>(WindowKind::get) || random.chance(50);
  if (!bare && head.bytes < 400) payload.resize(payload.size() + head.bytes, std::byte{0xee});
  return payload;
}

std::vector<std::byte> ServiceFrames::bundle_frame(Random& random, WindowHead head) {
  rma::Bundle bundle;
  const std::array<std::byte, 64> operands{};
  for (std::size_t i = random.between(1, 5); i != 0; --i) {
    BundleEntry entry{usually(random, 8 * random.below(kBytes / 8)),
                      static_cast<std::uint32_t>(8 * random.between(1, 4)),
                      static_cast<std::uint8_t>(usually(random, random.between(1, 2))),
                      static_cast<std::uint8_t>(random.below(14)),
                      static_cast<std::uint8_t>(random.below(24)),
                      0};
    bundle.reserve(rma::Bundle::room_for(entry.bytes));
    bundle.add(entry, operands.data());
  }
  std::vector<std::byte> entries(bundle.bytes().begin(), bundle.bytes().end());
  if (random.chance(200)) entries[random.below(entries.size())] ^= std::byte{0x41};
  if (random.chance(50)) entries.resize(random.below(entries.size()));
  head.bytes = usually(random, entries.size());
  std::vector<std::byte> payload;
  append(payload, head);
  payload.insert(payload.end(), entries.begin(), entries.end());
  return payload;
}

std::vector<std::byte> ServiceFrames::neon_frame(Random& random) {
  Member& now = *member_;
  neon::Header header;
  header.kind = static_cast<neon::Kind>(usually(random, random.between(1, 11)));
  header.flags = static_cast<std::uint8_t>(random.below(128));
  header.window = usually32(random, now.neon->id());
  // NEON's present announcement or the next one. Replies of a target name the NEON announcement that we requested.
  const std::size_t tag = random.below(kTags);
  const Member::Announced& announced = now.announced[tag];
  const bool early = !announced.live || random.chance(300);
  header.tag = usually32(random, tag);
  header.generation = usually32(random, now.generations[tag] + (early ? 1 : 0));
  if (header.kind == neon::Kind::grant) {
    header.tag = usually32(random, now.wanted.tag);
    header.generation = usually32(random, now.wanted.generation);
  } else if (header.kind == neon::Kind::recalled || announced.unheard != 0) {
    header.kind = neon::Kind::recalled;
    header.generation = usually32(random, now.generations[tag]);
    if (announced.unheard == 0 && random.chance(900)) header.kind = neon::Kind::want;
  }
  header.flags = static_cast<std::uint8_t>(early ? header.flags | neon::kCharged
                                                 : header.flags & ~neon::kCharged);
  header.count = usually32(random, random.below(4));
  header.id = now.awaited.empty() ? random.below(8)
                                  : usually(random, now.awaited[random.below(now.awaited.size())]);
  header.refund = random.chance(970) ? 0 : usually32(random, random.below(64));
  header.offset = usually(random, random.below(kBytes));
  header.extra = usually(random, random.below(kBytes));
  std::vector<neon::FrameRun> runs(header.kind == neon::Kind::put_runs ? random.between(1, 4) : 0);
  std::size_t bytes = 0;  // of the runs
  for (neon::FrameRun& run : runs) {
    run = {static_cast<std::int32_t>(usually(random, random.below(kBytes / 4))),
           usually32(random, random.between(1, 40))};
    bytes += run.size < 64 ? run.size : 0;
  }
  header.runs = static_cast<std::uint16_t>(usually(random, runs.size()));
  std::vector<std::byte> payload;
  append(payload, header);
  for (const neon::FrameRun& run : runs) append(payload, run);
  if (!runs.empty()) {
    payload.resize(payload.size() + usually(random, bytes) % 512, std::byte{0xee});
  } else if (header.kind == neon::Kind::data || header.kind == neon::Kind::reply ||
             header.kind == neon::Kind::put_notify || random.chance(20))
    payload.resize(payload.size() + random.below(random.chance(900) ? 64 : 400), std::byte{0xee});
  return payload;
}

const std::string& ServiceFrames::fault() {
  if (fault_.empty()) fault_ = pushes_.fault();
  if (member_ != nullptr) {
    bool intact = member_->exposed.intact();
    for (const auto& each : member_->announced) intact = intact && each.memory.intact();
    for (const Put& each : member_->puts) {
      intact = intact && each.memory.intact();
      if (each.calls > 1) fault_ = "an operation of NEON was completed twice";
    }
    for (const Guarded& each : member_->results) intact = intact && each.intact();
    if (!intact) fault_ = "memory beside what a service exposes was written";
  }
  return fault_;
}

}  // namespace lfc
