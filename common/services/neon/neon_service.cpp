#include "services/neon/neon_service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "engine/process_ni.hpp"

namespace lfc {
namespace {

constexpr neon::Rank kNoRank = 0xffffffffu;

static_assert(sizeof(RegionHandle) <= neon::Token::kRoom);

}  // namespace

struct NeonWindow::Waiting : Message {
  NeonWindow* window = nullptr;
  neon::Rank rank = 0;
  std::vector<std::byte> bytes;
};

struct NeonWindow::Write : Operation {
  std::shared_ptr<NeonService> service;
  NeonWindow* window = nullptr;  // null: freed, for a member was lost
  neon::Rank rank = 0;
  neon::Operation* op = nullptr;
  std::uint64_t address = 0;
  RegionHandle region;
};

// --- NeonService ---

std::shared_ptr<NeonService> NeonService::of_process() {
  static PerProcess<NeonService> shared;
  return shared.get();
}

NeonService::NeonService(std::shared_ptr<Ni> ni) : ni_(std::move(ni)) {
  ni_->services().attach(ServiceId::neon, this);
}

NeonService::~NeonService() { ni_->services().attach(ServiceId::neon, nullptr); }

std::uint32_t NeonService::frame_bytes() const noexcept {
  const std::size_t room = ni_->max_message() - sizeof(neon::Header);
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(limits::kNeonFrame, room & ~std::size_t{63}));
}

Service::Verdict NeonService::on_frame(PeerId peer, FrameType type,
                                       std::span<const std::byte> payload) {
  if (type != FrameType::service || payload.size() < sizeof(neon::Header))
    return Verdict::malformed;
  const auto header = load_pod<neon::Header>(payload.data());
  if (!windows_.is_known(header.window)) return Verdict::malformed;
  NeonWindow* const window = windows_.find(header.window);
  if (window == nullptr) return Verdict::release;  // freed while this was on its way
  return window->receive(peer, header, payload.data() + sizeof header,
                         payload.size() - sizeof header);
}

void NeonService::on_lost(PeerId peer) {
  windows_.for_each([&](NeonWindow& window) { window.lost(peer); });
}

bool NeonService::work() {
  windows_.for_each([](NeonWindow& window) { window.deliver_own(); });
  return false;
}

// --- NeonWindow ---

NeonWindow::NeonWindow(std::shared_ptr<NeonService> service, std::uint32_t rank,
                       const neon::Limits& limits, const neon::Exposure& exposure,
                       std::uint32_t ranks)
    : service_(std::move(service)),
      exposure_(exposure),
      rank_(rank),
      peers_(ranks),
      sent_(ranks),
      neon_(ranks, limits, *this) {
  const Ni::Access access(ni());
  id_ = service_->windows_.enter(*this);
}

NeonWindow::~NeonWindow() {
  const Ni::Access access(ni());
  service_->windows_.leave(id_);
  // Left over where a member was lost: what living ones have no credit for, and what is written to them.
  for (Peer& peer : peers_)
    if (peer.busy) ni().services().withdraw(peer.id, *peer.waiting);
  for (Write* write : started_) write->window = nullptr;
}

void NeonWindow::connect(std::span<const PeerId> peers, std::span<const std::uint32_t> ids) {
  const Ni::Access access(ni());
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    peers_[rank].id = peers[rank];
    peers_[rank].window = ids[rank];
    if (rank == rank_) continue;
    if (peers[rank] >= ranks_.size()) ranks_.resize(peers[rank] + 1, kNoRank);
    ranks_[peers[rank]] = rank;
  }
  show_members();
}

neon::Rank NeonWindow::rank_of(PeerId peer) const noexcept {
  return peer < ranks_.size() ? ranks_[peer] : kNoRank;
}

bool NeonWindow::send(neon::Rank to, const neon::Header& header, const void* payload,
                      std::size_t size) {
  if (closing_) return true;
  Peer& peer = peers_[to];
  neon::Header head = header;
  head.window = peer.window;
  if (to == rank_) {
    std::vector<std::byte>& frame = own_.emplace_back(sizeof head + size);
    std::memcpy(frame.data(), &head, sizeof head);
    if (size > 0) std::memcpy(frame.data() + sizeof head, payload, size);
    ni().services().wake(ServiceId::neon);
    ++sent_[to];
    return true;
  }
  if (peer.busy) return false;
  const Slice slices[2] = {{&head, sizeof head}, {payload, size}};
  if (!ni().services().try_send(peer.id, ServiceId::neon, slices, size > 0 ? 2 : 1)) {
    if (peer.waiting == nullptr) {
      peer.waiting = std::make_unique<Waiting>();
      peer.waiting->window = this;
      peer.waiting->rank = to;
    }
    Waiting& waiting = *peer.waiting;
    waiting.bytes.resize(sizeof head + size);
    std::memcpy(waiting.bytes.data(), &head, sizeof head);
    if (size > 0) std::memcpy(waiting.bytes.data() + sizeof head, payload, size);
    waiting.slices[0] = {waiting.bytes.data(), waiting.bytes.size()};
    waiting.slice_count = 1;
    waiting.tag = static_cast<std::uint8_t>(ServiceId::neon);
    waiting.type = FrameType::service;
    waiting.done = [](Message* self, Result) {
      auto& ended = static_cast<Waiting&>(*self);
      ended.window->peers_[ended.rank].busy = false;
      ended.window->service_->ni().services().wake(ServiceId::neon);
    };
    peer.busy = true;
    ni().services().post(peer.id, waiting);
  }
  ++sent_[to];
  return true;
}

Service::Verdict NeonWindow::receive(PeerId from, const neon::Header& header,
                                     const std::byte* payload, std::size_t size) {
  const neon::Rank rank = rank_of(from);
  if (rank == kNoRank) return Service::Verdict::malformed;
  ++received_;
  return neon_.on_frame(rank, header, payload, size) ? Service::Verdict::release
                                                     : Service::Verdict::malformed;
}

void NeonWindow::lost(PeerId peer) {
  const neon::Rank rank = rank_of(peer);
  if (rank == kNoRank) return;
  has_lost_ = true;
  // Not now: this may be inside a send of the protocol's, which would find its queues gone.
  lost_.push_back(rank);
  ni().services().wake(ServiceId::neon);
}

// In a pass of the control program: losses, frames to ourselves, and what waited for room.
void NeonWindow::deliver_own() {
  for (const neon::Rank rank : std::exchange(lost_, {})) neon_.on_lost(rank);
  std::deque<std::vector<std::byte>> frames = std::exchange(own_, {});
  for (const std::vector<std::byte>& frame : frames) {
    const auto header = load_pod<neon::Header>(frame.data());
    ++received_;
    (void)neon_.on_frame(rank_, header, frame.data() + sizeof header, frame.size() - sizeof header);
  }
  if (neon_.stalled()) neon_.pump();
}

bool NeonWindow::quiet() noexcept {
  const bool waits =
      std::any_of(peers_.begin(), peers_.end(), [](const Peer& p) { return p.busy; });
  closing_ = closing_ || (!waits && own_.empty() && writes_.empty() && !neon_.stalled());
  return closing_;
}

// --- Straight into memory ---

void NeonWindow::map(neon::Rank rank, std::uint64_t address, std::uint64_t size,
                     std::byte* here) noexcept {
  peers_[rank].mapped = here;
  peers_[rank].address = address;
  peers_[rank].size = size;
}

void NeonWindow::prepare(neon::Rank to) {
  if (to == rank_ || to >= peers_.size() || peers_[to].native_known || peers_[to].mapped != nullptr)
    return;
  const bool native = ni().remote().is_native(peers_[to].id);
  const Ni::Access access(ni());
  peers_[to].native = native;
  peers_[to].native_known = true;
}

bool NeonWindow::can_write(neon::Rank to) const {
  return may_write_ && (peers_[to].native || peers_[to].mapped != nullptr);
}

bool NeonWindow::write(neon::Rank to, const neon::Token& token, std::uint64_t offset,
                       neon::Operation& op) {
  auto write = std::make_unique<Write>();
  std::memcpy(&write->region, token.bytes, sizeof write->region);
  write->service = service_;
  write->window = this;
  write->rank = to;
  write->op = &op;
  write->address = write->region.address + offset;
  write->done = [](Operation* self, Result result) {
    const std::unique_ptr<Write> ended(static_cast<Write*>(self));
    const Ni::Access access(ended->service->ni());
    if (ended->window == nullptr) return;
    std::erase(ended->window->started_, ended.get());
    ended->window->written(*ended->op, result);
  };
  writes_.push_back(std::move(write));
  return true;
}

// With Access.
void NeonWindow::written(neon::Operation& op, Result result) {
  neon_.written(op, result == Result::ok            ? neon::Status::ok
                    : result == Result::unreachable ? neon::Status::unreachable
                                                    : neon::Status::range);
}

void NeonWindow::start_writes() {
  std::vector<std::unique_ptr<Write>> writes;
  {
    const Ni::Access access(ni());
    writes.swap(writes_);
    for (const std::unique_ptr<Write>& each : writes)
      if (peers_[each->rank].mapped == nullptr) started_.push_back(each.get());
  }
  for (std::unique_ptr<Write>& each : writes) {
    const Peer& to = peers_[each->rank];
    if (to.mapped != nullptr) {
      const std::uint64_t within = each->address - to.address;
      const bool inside = within <= to.size && each->op->size <= to.size - within;
      if (inside) std::memcpy(to.mapped + within, each->op->data, each->op->size);
      const Ni::Access access(ni());
      written(*each->op, inside ? Result::ok : Result::bad_address);
      continue;
    }
    Write& write = *each.release();
    ni().remote().put(to.id, write.op->data, nullptr, write.address, write.region, write.op->size,
                      &write);
  }
}

void NeonWindow::publish(neon::Announcement& buffer) {
  show(buffer);
  RegionHandle region;
  if (buffer.size == 0 ||
      !ni().remote().register_memory(buffer.address, buffer.size, kRemoteWrite, region))
    return;
  buffer.token.size = sizeof region;
  std::memcpy(buffer.token.bytes, &region, sizeof region);
}

void NeonWindow::withdraw(neon::Announcement& buffer) {
  {
    const Ni::Access access(ni());
    shown_buffers_.erase(&buffer);
  }
  if (buffer.token.size == 0) return;
  RegionHandle region;
  std::memcpy(&region, buffer.token.bytes, sizeof region);
  ni().remote().deregister_memory(region);
  buffer.token.size = 0;
}

}  // namespace lfc
