#include "link/shm/shm_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "link/shm/incoming_places.hpp"
#include "link/shm/outgoing.hpp"
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
constexpr auto kCheckInterval = std::chrono::milliseconds(200);

class ShmLink final : public Link {
 public:
  ShmLink(const ShmOptions& options, OwnSegment&& segment, FrameSink& sink)
      : Link({.name = "shm",
              .kind = LinkTraits::Kind::shm,
              .wakes = segment.bell() != nullptr,
              .arrives_in_send = true,
              .remote_memory = options.cma,
              .copies_at_once = options.cma,
              .one_sided = options.cma,  // one copy by the kernel
              .remote_memory_from = std::max<std::size_t>(options.single_copy_from, 1),
              .either_way = options.cma && options.single_copy_from == 0}),
        options_(options),
        places_(std::move(segment)),
        sink_(sink),
        single_copy_(options.cma, options.notice),
        next_check_(Clock::now() + kCheckInterval) {}

  std::size_t max_payload() const noexcept override { return options_.ring.max_payload; }
  void publish(AddressWriter& writer) const override {
    writer.add(name(), std::as_bytes(std::span(&places_.segment().name(), 1)));
  }
  void set_own_address(std::span<const std::byte> address) override {
    own_address_.assign(address.begin(), address.end());
  }

  bool reach(const Address& peer, std::string& why_not) override;
  bool connect(PeerId peer, const Address& address, std::string& why_not) override;
  bool has_ended(const Address& peer) const override;
  void close(PeerId peer) noexcept override;
  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept override;
  RingWriter* ring(PeerId peer) noexcept override { return &outgoing(peer)->writer; }
  int poll() noexcept override;

  void wait_fds(std::vector<int>& out) const override {
    if (places_.segment().bell() != nullptr) out.push_back(places_.segment().bell()->fd());
  }
  Armed arm() noexcept override;
  void disarm() noexcept override {
    if (places_.segment().bell() != nullptr) places_.segment().bell()->withdraw();
  }
  std::size_t memory() const noexcept override { return places_.segment().memory(); }

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
    return copy(peer,
                [&](std::uint32_t pid) { return cma_write(pid, source, remote_address, size); });
  }
  // One call of the kernel for up to kCmaPieces.
  bool put_pieces(PeerId peer, std::span<const CopyPiece> pieces,
                  const LinkRegion&) noexcept override {
    if (!remote_memory(peer)) return false;
    std::array<iovec, kCmaPieces> here, there;
    while (!pieces.empty()) {
      const std::size_t n = std::min(pieces.size(), kCmaPieces);
      for (std::size_t i = 0; i < n; ++i) {
        const CopyPiece& piece = pieces[i];
        here[i] = {const_cast<void*>(piece.from), piece.size};
        there[i] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(piece.to)), piece.size};
      }
      if (!cma_write_pieces(outgoing(peer)->owner.memory.pid, {here.data(), n}, {there.data(), n}))
        return false;
      pieces = pieces.subspan(n);
    }
    return true;
  }
  Start get(PeerId peer, void* destination, const LinkRegion&, std::uint64_t remote_address,
            const LinkRegion&, std::size_t size, Operation*) noexcept override {
    return copy(
        peer, [&](std::uint32_t pid) { return cma_read(pid, destination, remote_address, size); });
  }

 private:
  Outgoing* outgoing(PeerId peer) const noexcept {
    return peer < outgoing_.size() ? outgoing_[peer].get() : nullptr;
  }
  // Lets the kernel copy. If it does not permit that any more, frames carry the bytes of this peer from now on.
  template <class Copy>
  Start copy(PeerId peer, Copy copy) noexcept {
    if (!remote_memory(peer)) return Start::failed;
    Outgoing& out = *outgoing(peer);
    if (copy(out.owner.memory.pid)) return Start::done;
    if (cma_is_refused(errno)) out.cma = false;
    return Start::failed;
  }
  int take_frames(Incoming& in, int limit) noexcept;
  void fail(Outgoing& out, const char* why) noexcept;
  void lose(PeerId peer, const char* why);
  // The slow paths of poll(), kept out of its way.
  [[gnu::noinline]] void look_after(Incoming& in, RingReader::Peek found) noexcept;
  [[gnu::noinline]] void serve_claims();
  void attach(std::uint32_t place, Claim claim, const std::optional<Address>& from);
  bool admit(Incoming& in, const Address& from);
  void report_failures();
  [[gnu::noinline]] void check_processes();

  const ShmOptions options_;
  IncomingPlaces places_;
  FrameSink& sink_;
  std::size_t turn_ = 0;
  std::uint32_t polls_ = 0;

  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // by PeerId
  SingleCopy single_copy_;
  Clock::time_point next_check_;
  std::vector<std::byte> own_address_;
};

bool ShmLink::reach(const Address& peer, std::string& why_not) {
  const std::optional<SegmentName> name = segment_of(peer);
  if (!name) {
    why_not = "peer has no shared-memory segment";
    return false;
  }
  if (!is_local_peer(places_.segment().name(), *name, why_not)) return false;
  if (!may_open(places_.segment().name().space, name->space))
    (void)hand_over::serve();  // its message names the missing part
  return true;
}

bool ShmLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  if (const Outgoing* out = outgoing(peer)) {
    if (out->state == Outgoing::State::open) return true;
    why_not = "the connection was lost";
    return false;
  }
  if (!reach(address, why_not)) return false;
  const SegmentName name = *segment_of(address);
  // Watched first, identified by claim() afterwards: the watch cannot be on a later process.
  ProcessWatch watch(name.memory.pid);
  FileDescriptor process;
  std::optional<RemotePlace> place =
      RemotePlace::claim(name, max_payload(), own_address_, why_not,
                         counts_alike(places_.segment().name(), name) ? nullptr : &process);
  if (!place) {
    if (has_ended(address)) why_not = kExited;
    return false;
  }
  if (!counts_alike(places_.segment().name(), name)) watch = ProcessWatch(std::move(process));
  if (peer >= outgoing_.size()) outgoing_.resize(peer + std::size_t{1});
  outgoing_[peer] = std::make_unique<Outgoing>(std::move(*place), std::move(watch), name);
  outgoing_[peer]->cma = single_copy_.permitted(places_.segment().name(), name);
  return true;
}

bool ShmLink::has_ended(const Address& peer) const {
  const std::optional<SegmentName> name = segment_of(peer);
  return name && counts_alike(places_.segment().name(), *name) &&
         ProcessWatch(name->memory.pid).dead();
}

void ShmLink::close(PeerId peer) noexcept {
  if (Incoming* in = places_.find(peer)) places_.let_go(*in);
  const Outgoing* out = outgoing(peer);
  if (out == nullptr) return;
  // The peer may have claimed a place that poll() has not seen yet: it is closed, too.
  places_.for_each_new_claim([&](std::uint32_t place, Claim claim) {
    const std::optional<Address> address = places_.claimant(place, claim);
    if (address && segment_of(*address)->memory.cookie == out->owner.memory.cookie)
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

// A periodic check in poll() detects dead peers; the sleeping thread does not wake up for it.
ShmLink::Armed ShmLink::arm() noexcept {
  if (places_.segment().bell() == nullptr) return Armed::partly;
  const bool settled = places_.segment().bell()->arm();
  RingFrame frame;
  const bool busy =
      places_.changed() ||
      std::any_of(places_.active().begin(), places_.active().end(), [&](const auto& in) {
        return in->ending || in->reader.peek(frame) != RingReader::Peek::empty;
      });
  if (!busy) return settled ? Armed::fully : Armed::settling;
  disarm();
  return Armed::busy;
}

[[gnu::flatten]] int ShmLink::poll() noexcept {
  if (places_.changed()) [[unlikely]]
    serve_claims();
  if (++polls_ % kPollsPerClock == 0) [[unlikely]]
    check_processes();
  int events = 0;
  const std::size_t count = places_.active().size();
  std::size_t at = turn_ < count ? turn_ : 0;
  for (std::size_t n = count; n != 0; --n) {
    Incoming& in = *places_.active()[at];
    if (++at == count) at = 0;
    if (in.reader.still_empty() && !in.ending) [[likely]]
      continue;
    events +=
        take_frames(in, std::min(limits::kShmFramesPerPlace, limits::kShmFramesPerPoll - events));
    if (events >= limits::kShmFramesPerPoll) break;
  }
  turn_ = at;
  return events;
}

// Delivers up to `limit` frames.
int ShmLink::take_frames(Incoming& in, int limit) noexcept {
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

// A place without a frame: its sender may have ended.
void ShmLink::look_after(Incoming& in, RingReader::Peek found) noexcept {
  in.corrupt = found == RingReader::Peek::corrupt;
  in.emptied = in.ending;
  if (in.corrupt || in.ending) places_.call_attention();
}

// Called where the sink must not be called: poll() will report the loss.
void ShmLink::fail(Outgoing& out, const char* why) noexcept {
  out.end(Outgoing::State::failing);
  out.why = why;
  places_.call_attention();
}

void ShmLink::lose(PeerId peer, const char* why) {
  if (Outgoing* out = outgoing(peer)) out->end(Outgoing::State::broken);
  if (Incoming* in = places_.find(peer)) places_.let_go(*in);
  sink_.on_broken(peer, *this, why);
}

void ShmLink::serve_claims() {
  places_.take_note();
  for (const auto& [peer, why] : places_.sort_out()) lose(peer, why);
  places_.note_goodbyes();
  places_.for_each_new_claim([this](std::uint32_t place, Claim claim) {
    attach(place, claim, places_.claimant(place, claim));
  });
  report_failures();
}

// Begins to read a place that has a sender, or, without an address, to refuse it.
void ShmLink::attach(std::uint32_t place, Claim claim, const std::optional<Address>& from) {
  auto in = places_.incoming_at(place, claim, from);
  const bool wanted = from && admit(*in, *from);
  places_.add(std::move(in), wanted);
}

// Calls on_connect() to accept or refuse this sender.
bool ShmLink::admit(Incoming& in, const Address& from) {
  // The watch began too late to see the death of a sender that is already gone.
  const SegmentName name = *segment_of(from);
  const bool dead =
      may_open(places_.segment().name().space, name.space) ? is_gone(name.memory) : in.watch.dead();
  if (!in.ending && dead) in.ending = in.exited = true;
  const PeerId peer = sink_.on_connect(*this, from);
  if (peer == kNoPeer) return false;
  if (Incoming* earlier = places_.find(peer)) {
    // The peer closed and came back: its earlier frames are delivered first.
    if (places_.segment().claim(earlier->place).state != PlaceState::closing) return false;
    earlier->ending = true;
    take_frames(*earlier, static_cast<int>(places_.segment().shape().slots));
    earlier->exited = false;
    if (earlier->peer == kNoPeer) return false;  // the sink closed it meanwhile
    places_.let_go(*earlier);
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

// Checks at intervals, by the kernel, whether the processes at the other ends still run.
void ShmLink::check_processes() {
  const Clock::time_point now = Clock::now();
  if (now < next_check_) return;
  next_check_ = now + kCheckInterval;
  places_.note_deaths();
  for (PeerId peer = 0; peer < outgoing_.size(); ++peer) {
    Outgoing* out = outgoing(peer);
    if (out == nullptr || out->state != Outgoing::State::open) continue;
    if (out->place->abandoned()) {
      out->end(Outgoing::State::gone);
    } else if (out->watch->dead() && places_.find(peer) == nullptr) {
      // With an incoming place its last frames come first, then the loss.
      fail(*out, kExited);
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
