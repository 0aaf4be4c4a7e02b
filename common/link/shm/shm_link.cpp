#include "link/shm/shm_link.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/shm/segment.hpp"
#include "machine/cma.hpp"
#include "machine/hand_over.hpp"
#include "machine/process_watch.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;

// Reading the clock costs about as much as ten idle polls; yet on a crowded machine, where a poll
// is followed by other processes' time slices, the count must not be large either.
constexpr std::uint32_t kPollsPerClock = 128;
constexpr std::uint64_t kAttention = std::uint64_t{1} << 32;  // no number of changes
constexpr auto kCheckInterval = std::chrono::milliseconds(200);

std::optional<SegmentName> segment_name(const Address& address) {
  const std::span<const std::byte> section = address.section("shm");
  if (section.size() != sizeof(SegmentName)) return std::nullopt;
  return read_pod<SegmentName>(section);
}

// Whether the pids of one mean the same to the other.
bool counts_alike(const SegmentName& own, const SegmentName& peer) noexcept {
  return peer.space.pid_namespace == own.space.pid_namespace;
}

ProcessWatch watch_of(Claim claim, const std::optional<Address>& from) {
  std::string why_not;
  if (claim.pid != 0 || !from) return ProcessWatch(claim.pid);
  return ProcessWatch(hand_over::ask(segment_name(*from)->memory.cookie, why_not).process);
}

// A place in our segment that somebody has claimed.
struct Incoming {
  Incoming(std::uint32_t place_, std::byte* ring, const RingShape& shape, ProcessWatch&& watch_)
      : reader(ring, shape), place(place_), watch(std::move(watch_)) {}

  RingReader reader;
  PeerId peer = kNoPeer;  // kNoPeer: refused or closed, no longer read
  bool ending = false;    // the sender has said goodbye or died
  bool died = false;      // which of the two
  bool drained = false;   // ending, and nothing is left
  bool corrupt = false;
  std::uint32_t place;
  ProcessWatch watch;
};

// A place of ours in a peer's segment.
struct Outgoing {
  enum class State : std::uint8_t {
    open,
    gone,     // the peer has said goodbye; nobody needs to know before there is something to send
    failing,  // to be reported
    broken,   // reported
  };

  Outgoing(RemotePlace&& place_, ProcessWatch&& watch_, const SegmentName& name)
      : writer(place_.ring(), place_.shape()),
        owner(name),
        place(std::move(place_)),
        watch(std::move(watch_)) {
    writer.set_cord(place.cord());
  }

  // Nothing more goes into the ring, also not from those who write it directly.
  void end(State how) noexcept {
    state = how;
    writer.shut();
  }

  RingWriter writer;
  State state = State::open;
  bool cma = false;
  SegmentName owner;
  const char* why = "";
  RemotePlace place;
  ProcessWatch watch;
};

class ShmLink final : public Link {
 public:
  ShmLink(const ShmOptions& options, OwnSegment&& segment, FrameSink& sink)
      : Link({.name = "shm",
              .wakes = segment.bell() != nullptr,
              .remote_memory = options.cma,
              .copies_at_once = options.cma,
              .one_sided = options.cma,  // one copy by the kernel
              .remote_memory_from = std::max<std::size_t>(options.single_copy_from, 1),
              .either_way = options.cma && options.single_copy_from == 0}),
        options_(options),
        segment_(std::move(segment)),
        sink_(sink),
        known_(segment_.places(), false),
        next_check_(Clock::now() + kCheckInterval) {}

  std::size_t max_payload() const noexcept override { return options_.ring.max_payload; }
  void publish(AddressWriter& writer) const override {
    writer.add(name(), std::as_bytes(std::span(&segment_.name(), 1)));
  }
  void set_own_address(std::span<const std::byte> address) override {
    own_address_.assign(address.begin(), address.end());
  }

  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  RingWriter* ring(PeerId peer) noexcept override { return &outgoing(peer)->writer; }
  int poll() noexcept override;

  void wait_fds(std::vector<int>& out) const override {
    if (segment_.bell() != nullptr) out.push_back(segment_.bell()->fd());
  }
  Armed arm() noexcept override;
  void disarm() noexcept override {
    if (segment_.bell() != nullptr) segment_.bell()->withdraw();
  }
  std::size_t memory() const noexcept override { return segment_.memory(); }

  bool remote_memory(PeerId peer) const noexcept override {
    const Outgoing* out = outgoing(peer);
    return out != nullptr && out->cma && out->state == Outgoing::State::open;
  }
  bool register_memory(void* data, std::size_t, LinkRegion& out) override {
    out.base = reinterpret_cast<std::uintptr_t>(data);
    return true;
  }
  Start put(PeerId peer, const void* source, const LinkRegion&, std::uint64_t remote_address,
            const LinkRegion&, std::size_t size, Operation*) noexcept override {
    const bool done = remote_memory(peer) &&
                      cma_write(outgoing(peer)->owner.memory.pid, source, remote_address, size);
    return done ? Start::done : Start::failed;
  }
  Start get(PeerId peer, void* destination, const LinkRegion&, std::uint64_t remote_address,
            const LinkRegion&, std::size_t size, Operation*) noexcept override {
    const bool done = remote_memory(peer) &&
                      cma_read(outgoing(peer)->owner.memory.pid, destination, remote_address, size);
    return done ? Start::done : Start::failed;
  }

 private:
  Outgoing* outgoing(PeerId peer) const noexcept {
    return peer < outgoing_.size() ? outgoing_[peer].get() : nullptr;
  }
  Incoming* incoming(PeerId peer) const noexcept {
    for (const auto& in : active_)
      if (in->peer == peer) return in.get();
    return nullptr;
  }
  int drain(Incoming& in, int limit) noexcept;
  void fail(Outgoing& out, const char* why) noexcept;
  void lose(PeerId peer, const char* why);
  void let_go(Incoming& in) noexcept;
  void try_cma(Outgoing& out);
  // The slow paths of poll(), kept out of its way.
  [[gnu::noinline]] void look_after(Incoming& in, RingReader::Peek found) noexcept;
  // For what no claim tells.
  void call_attention() noexcept { seen_changes_ = kAttention; }
  [[gnu::noinline]] void attend();
  void look_at_claims();
  template <class Visit>
  void for_each_new_claim(Visit visit);
  std::optional<Address> claimant(std::uint32_t place, Claim claim) const;
  void attach(std::uint32_t place, Claim claim, const std::optional<Address>& from);
  bool admit(Incoming& in, const Address& from);
  void sort_out_incoming();
  void report_failures();
  [[gnu::noinline]] void check_lives();

  const ShmOptions options_;
  OwnSegment segment_;
  FrameSink& sink_;
  // Read by every poll().
  std::vector<std::unique_ptr<Incoming>> active_;
  std::size_t turn_ = 0;
  std::uint64_t seen_changes_ = 0;  // of claims, which attend() looks at; or kAttention
  std::uint32_t polls_ = 0;

  std::vector<std::unique_ptr<Outgoing>> outgoing_;   // by PeerId
  std::vector<std::unique_ptr<Incoming>> abandoned_;  // until their sender lets go of them
  std::vector<bool> known_;                           // places that are in one of the two lists
  Clock::time_point next_check_;
  std::vector<std::byte> own_address_;
  bool notice_given_ = false;
};

bool ShmLink::reach(const Address& peer, std::string& why_not) {
  const std::optional<SegmentName> name = segment_name(peer);
  if (!name) {
    why_not = "peer has no shared-memory segment";
    return false;
  }
  if (!is_neighbour(segment_.name(), *name, why_not)) return false;
  if (!may_open(segment_.name().space, name->space))
    (void)hand_over::serve();  // it will say what is missing
  return true;
}

bool ShmLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (const Outgoing* out = outgoing(peer)) {
    if (out->state == Outgoing::State::open) return true;
    why_not = "the connection was lost";
    return false;
  }
  if (!reach(address, why_not)) return false;
  const SegmentName name = *segment_name(address);
  // Watched first, identified by claim() afterwards: the watch cannot be on a later process.
  ProcessWatch watch(name.memory.pid);
  FileDescriptor process;
  std::optional<RemotePlace> place =
      RemotePlace::claim(name, max_payload(), own_address_, why_not,
                         counts_alike(segment_.name(), name) ? nullptr : &process);
  if (!place) return false;
  if (!counts_alike(segment_.name(), name)) watch = ProcessWatch(std::move(process));
  if (peer >= outgoing_.size()) outgoing_.resize(peer + std::size_t{1});
  outgoing_[peer] = std::make_unique<Outgoing>(std::move(*place), std::move(watch), name);
  if (options_.cma) try_cma(*outgoing_[peer]);
  return true;
}

void ShmLink::try_cma(Outgoing& out) {
  std::string why = "in another pid namespace";
  out.cma = counts_alike(segment_.name(), out.owner) &&
            cma_permitted(out.owner.memory.pid, out.owner.probe, out.owner.memory.cookie[0], why);
  if (out.cma || notice_given_ || options_.notice == nullptr) return;
  notice_given_ = true;
  options_.notice("shm: no single copy between processes (" + why +
                  "); large transfers go through shared buffers");
}

void ShmLink::close(PeerId peer) noexcept {
  if (Incoming* in = incoming(peer)) let_go(*in);
  const Outgoing* out = outgoing(peer);
  if (out == nullptr) return;
  // The peer may have claimed a place that poll() has not seen yet: it is closed, too.
  for_each_new_claim([&](std::uint32_t place, Claim claim) {
    const std::optional<Address> address = claimant(place, claim);
    if (address && segment_name(*address)->memory.cookie == out->owner.memory.cookie)
      attach(place, claim, {});
  });
  outgoing_[peer].reset();
}

SendStatus ShmLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Outgoing* out = outgoing(peer);
  if (out == nullptr) [[unlikely]]
    return SendStatus::broken;
  if (out->state != Outgoing::State::open) [[unlikely]] {
    if (out->state == Outgoing::State::gone) fail(*out, "the peer has closed the connection");
    return SendStatus::broken;
  }
  const SendStatus status = out->writer.send(meta, slices, count);
  if (status == SendStatus::broken) [[unlikely]]
    fail(*out, "the peer's ring is corrupt");
  return status;
}

// Deaths are found by the clock, and only when somebody polls: nobody sleeps less for them.
ShmLink::Armed ShmLink::arm() noexcept {
  if (segment_.bell() == nullptr) return Armed::partly;
  segment_.bell()->announce();
  RingFrame frame;
  const bool busy = segment_.changes() != seen_changes_ ||
                    std::any_of(active_.begin(), active_.end(), [&](const auto& in) {
                      return in->ending || in->reader.peek(frame) != RingReader::Peek::empty;
                    });
  if (!busy) return Armed::fully;
  disarm();
  return Armed::busy;
}

[[gnu::flatten]] int ShmLink::poll() noexcept {
  if (segment_.changes() != seen_changes_) [[unlikely]]
    attend();
  if (++polls_ % kPollsPerClock == 0) [[unlikely]]
    check_lives();
  int events = 0;
  const std::size_t count = active_.size();
  std::size_t at = turn_ < count ? turn_ : 0;
  for (std::size_t n = count; n != 0; --n) {
    Incoming& in = *active_[at];
    if (++at == count) at = 0;
    if (in.reader.still_empty() && !in.ending) [[likely]]
      continue;
    events += drain(in, std::min(limits::kShmFramesPerPlace, limits::kShmFramesPerPoll - events));
    if (events >= limits::kShmFramesPerPoll) break;
  }
  turn_ = at;
  return events;
}

// Delivers up to `limit` frames.
int ShmLink::drain(Incoming& in, int limit) noexcept {
  int events = in.peer == kNoPeer ? 0 : sink_.on_ring(in.peer, in.reader, limit);
  if (events != 0 && (events == limit || !in.reader.has_next())) [[likely]]
    return events;
  RingFrame frame;
  do {
    const RingReader::Peek found = in.reader.peek(frame);
    if (found != RingReader::Peek::frame) [[unlikely]] {
      look_after(in, found);
      break;
    }
    if (in.peer == kNoPeer) [[unlikely]]
      break;  // closed by the sink with the last frame, or refused
    sink_.on_frame(in.peer, frame.meta(), frame.payload);
    in.reader.pop();
  } while (++events < limit && in.reader.has_next());
  return events;
}

// A place without a frame: it may have come to its end.
void ShmLink::look_after(Incoming& in, RingReader::Peek found) noexcept {
  in.corrupt = found == RingReader::Peek::corrupt;
  in.drained = in.ending;
  if (in.corrupt || in.ending) call_attention();
}

// Called where the sink must not be: poll() will report it.
void ShmLink::fail(Outgoing& out, const char* why) noexcept {
  out.end(Outgoing::State::failing);
  out.why = why;
  call_attention();
}

void ShmLink::lose(PeerId peer, const char* why) {
  if (Outgoing* out = outgoing(peer)) out->end(Outgoing::State::broken);
  if (Incoming* in = incoming(peer)) let_go(*in);
  sink_.on_broken(peer, *this, why);
}

// Stops reading a place; attend() moves it out of the way.
void ShmLink::let_go(Incoming& in) noexcept {
  segment_.head(in.place).abandoned.store(1, std::memory_order_relaxed);
  in.peer = kNoPeer;
  call_attention();
}

void ShmLink::attend() {
  seen_changes_ = segment_.changes();
  sort_out_incoming();
  look_at_claims();
  report_failures();
}

// Removes the places that are no longer read, and frees those that nobody writes to any more.
void ShmLink::sort_out_incoming() {
  std::vector<std::pair<PeerId, const char*>> lost;
  std::erase_if(active_, [&](std::unique_ptr<Incoming>& in) {
    if (in->corrupt) lost.emplace_back(in->peer, "the peer broke the protocol of the ring");
    if (in->drained && in->died) lost.emplace_back(in->peer, "the peer died");
    if (in->drained && in->peer != kNoPeer) {
      known_[in->place] = false;
      segment_.free(in->place);
      return true;
    }
    if (in->corrupt) let_go(*in);
    if (in->peer != kNoPeer) return false;
    abandoned_.push_back(std::move(in));
    return true;
  });
  std::erase_if(abandoned_, [&](const std::unique_ptr<Incoming>& in) {
    if (!in->ending) return false;
    known_[in->place] = false;
    segment_.free(in->place);
    return true;
  });
  for (const auto& [peer, why] : lost)
    if (peer != kNoPeer) lose(peer, why);
}

void ShmLink::look_at_claims() {
  for (const auto* list : {&active_, &abandoned_}) {
    for (const auto& in : *list) {
      if (in->ending || segment_.claim(in->place).state != PlaceState::closing) continue;
      in->ending = true;
      call_attention();
    }
  }
  for_each_new_claim(
      [this](std::uint32_t place, Claim claim) { attach(place, claim, claimant(place, claim)); });
}

template <class Visit>
void ShmLink::for_each_new_claim(Visit visit) {
  for (std::uint32_t place = 0; place < segment_.places(); ++place) {
    const Claim claim = segment_.claim(place);
    const bool in_use = claim.state == PlaceState::ready || claim.state == PlaceState::closing;
    if (in_use && !known_[place]) visit(place, claim);
  }
}

// The address of the process that has claimed a place; nullopt when it cannot be true.
std::optional<Address> ShmLink::claimant(std::uint32_t place, Claim claim) const {
  // A copy: what was checked cannot be changed afterwards.
  PlaceHead head;
  std::memcpy(static_cast<void*>(&head), &segment_.head(place), sizeof head);
  if (head.address_size > kMaxAddress) return std::nullopt;
  std::optional<Address> address = Address::parse({head.address, head.address_size});
  const std::optional<SegmentName> name = address ? segment_name(*address) : std::nullopt;
  std::string why_not;
  if (!name || !is_neighbour(segment_.name(), *name, why_not) ||
      claim.pid != (counts_alike(segment_.name(), *name) ? name->memory.pid : 0))
    return std::nullopt;
  return address;
}

// Begins to read a place that has a sender, or, without an address, to refuse it.
void ShmLink::attach(std::uint32_t place, Claim claim, const std::optional<Address>& from) {
  known_[place] = true;
  auto in = std::make_unique<Incoming>(place, segment_.ring(place), segment_.shape(),
                                       watch_of(claim, from));
  in->ending = claim.state == PlaceState::closing;
  if (from && admit(*in, *from)) {
    active_.push_back(std::move(in));
  } else {
    let_go(*in);
    abandoned_.push_back(std::move(in));
  }
}

// Asks the sink whether it wants to hear this sender.
bool ShmLink::admit(Incoming& in, const Address& from) {
  // A sender that is not there any more was not seen dying by the watch, which came later.
  const SegmentName name = *segment_name(from);
  const bool dead =
      may_open(segment_.name().space, name.space) ? is_gone(name.memory) : in.watch.dead();
  if (!in.ending && dead) in.ending = in.died = true;
  const PeerId peer = sink_.on_connect(*this, from);
  if (peer == kNoPeer) return false;
  if (Incoming* earlier = incoming(peer)) {
    // The peer closed and came back: what it sent before is delivered before.
    if (segment_.claim(earlier->place).state != PlaceState::closing) return false;
    earlier->ending = true;
    drain(*earlier, static_cast<int>(segment_.shape().slots));
    earlier->died = false;
    if (earlier->peer == kNoPeer) return false;  // the sink closed it meanwhile
    let_go(*earlier);
  }
  in.peer = peer;
  return true;
}

void ShmLink::report_failures() {
  for (PeerId peer = 0; peer < outgoing_.size(); ++peer) {
    const Outgoing* out = outgoing(peer);
    if (out != nullptr && out->state == Outgoing::State::failing) lose(peer, out->why);
  }
}

// Asks the kernel, now and then, whether the processes at the other ends live.
void ShmLink::check_lives() {
  const Clock::time_point now = Clock::now();
  if (now < next_check_) return;
  next_check_ = now + kCheckInterval;
  segment_.free_stillborn();
  for (const auto* list : {&active_, &abandoned_}) {
    for (const auto& in : *list) {
      if (in->ending || !in->watch.dead()) continue;
      // An orderly goodbye just before is found in the claim.
      in->died = segment_.claim(in->place).state != PlaceState::closing;
      in->ending = true;
      call_attention();
    }
  }
  for (PeerId peer = 0; peer < outgoing_.size(); ++peer) {
    Outgoing* out = outgoing(peer);
    if (out == nullptr || out->state != Outgoing::State::open) continue;
    if (out->place.abandoned()) {
      out->end(Outgoing::State::gone);
    } else if (out->watch.dead() && incoming(peer) == nullptr) {
      // With an incoming place its last frames come first, then the loss.
      fail(*out, "the peer died");
    }
  }
}

}  // namespace

std::unique_ptr<Link> make_shm_link(const ShmOptions& options, FrameSink& sink,
                                    std::string& why_not) {
  std::optional<OwnSegment> segment =
      OwnSegment::create(options.ring, options.places, options.bell, why_not);
  if (!segment) return nullptr;
  return std::make_unique<ShmLink>(options, std::move(*segment), sink);
}

}  // namespace lfc
