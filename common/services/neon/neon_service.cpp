#include "services/neon/neon_service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "services/neon/neon_counters.hpp"

namespace lfc {
namespace {

constexpr neon::Rank kNoRank = 0xffffffffu;

static_assert(neon::kKeyGenerationBits + neon::kKeyNumberBits + 1 == kNotificationBits);

// Returns the key without the counter of the window with this name.
neon::WindowKey key_of(std::uint32_t name) noexcept {
  const std::uint32_t mask = (1u << limits::kNeonWindowBits) - 1;
  return {.place = name & mask, .generation = name >> limits::kNeonWindowBits};
}

// Returns the peer's rank; kNoRank: it is no member.
neon::Rank rank_of(std::span<const neon::Rank> ranks, PeerId peer) noexcept {
  return peer < ranks.size() ? ranks[peer] : kNoRank;
}

// As ServicePort::try_send().
bool send_now(ServicePort& port, PeerId peer, const neon::Header& head,
              std::span<const std::byte> list, std::span<const std::byte> data) {
  const Slice slices[] = {
      {&head, sizeof head}, {list.data(), list.size()}, {data.data(), data.size()}};
  if (!list.empty()) return port.try_send(peer, ServiceId::neon, slices, 3);
  const Slice plain[] = {slices[0], slices[2]};
  return port.try_send(peer, ServiceId::neon, plain, data.empty() ? 1 : 2);
}

constexpr std::uint64_t note_of(std::uint32_t window, neon::Rank rank) noexcept {
  return std::uint64_t{rank} << 32 | window;
}

}  // namespace

// --- NeonService ---

NeonService::NeonService(ServicePort& port, MemoryPort* memory, bool serves_alone)
    : port_(port), memory_(memory), serves_alone_(serves_alone) {
  port_.attach(ServiceId::neon, this);
}

NeonService::~NeonService() { port_.attach(ServiceId::neon, nullptr); }

std::uint32_t NeonService::frame_bytes() const noexcept {
  const std::size_t room = port_.max_payload() - sizeof(neon::Header);
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(limits::kNeonFrame, room & ~std::size_t{63}));
}

neon::Statistics NeonService::totals() noexcept {
  const ServicePort::Access access(port_);
  neon::Statistics sum = freed_;
  windows_.for_each([&](NeonWindow& window) { add_statistics(sum, window.neon().statistics()); });
  return sum;
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

Service::Verdict NeonService::on_notified(PeerId peer, std::uint32_t key) {
  if ((key & neon::kWindowKey) != 0) return on_counter_notified(peer, neon::WindowKey::of(key));
  const NotificationKeys::Stream* const stream = keys_.find(key);
  if (stream == nullptr) return Verdict::malformed;
  NeonWindow* const window = stream->window;
  if (window == nullptr) return Verdict::release;
  if (rank_of(window->members_.ranks, peer) != stream->origin) return Verdict::malformed;
  ++window->traffic_.received;
  return window->neon_.on_notified(stream->origin, stream->tag, key) ? Verdict::release
                                                                     : Verdict::malformed;
}

Service::Verdict NeonService::on_counter_notified(PeerId peer, neon::WindowKey key) {
  const std::uint32_t name = windows_.name_at(key.place);
  if (name == 0) return Verdict::malformed;
  NeonWindow* const window = windows_.find(name);
  constexpr std::uint32_t kLast = neon::WindowKey::kGenerations - 1;
  if (window == nullptr || (key_of(name).generation & kLast) != key.generation)
    return Verdict::release;  // freed while this was on its way
  const neon::Rank rank = rank_of(window->members_.ranks, peer);
  if (rank == kNoRank) return Verdict::malformed;
  ++window->traffic_.received;
  window->neon_.on_window_notified(rank, key.counter);
  return Verdict::release;
}

void NeonService::on_left(PeerId, std::uint64_t note, Result) {
  NeonWindow* const window = windows_.find(static_cast<std::uint32_t>(note));
  if (window == nullptr) return;
  window->waiting_[note >> 32] = false;
  // One look at all that is stalled serves all frames that have left in this pass.
  if (window->neon_.stalled()) port().wake(ServiceId::neon);
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
    : MappedPeers(rank, ranks),
      service_(std::move(service)),
      exposure_(exposure),
      rank_(rank),
      members_{std::vector(ranks, kNoPeer), Column<std::uint32_t>(), {}},
      waiting_(ranks),
      traffic_{std::vector<int>(ranks)},
      neon_(ranks, limits, *this),
      writes_(service_, port(), service_->memory_, neon_, rank, ranks) {
  const ServicePort::Access access(port());
  id_ = service_->windows_.enter(*this);
}

NeonWindow::~NeonWindow() {
  const ServicePort::Access access(port());
  service_->windows_.leave(id_);
  neon::Statistics last = neon_.statistics();
  last.parked = 0;  // freed with the window
  add_statistics(service_->freed_, last);
  neon_.target().drop_early();  // their bytes are the engine's
  service_->keys_.leave(*this);
  // Left over after the loss of a member: frames to the other members that wait for a credit, and direct writes to
  // them.
  for (neon::Rank rank = 0; rank < waiting_.size(); ++rank)
    if (waiting_[rank])
      port().packets().drop(members_.peers[rank], ServiceId::neon, note_of(id_, rank));
  writes_.forget();
}

void NeonWindow::connect(std::span<const PeerId> peers, std::span<const std::uint32_t> ids) {
  const ServicePort::Access access(port());
  members_.names.set(static_cast<std::uint32_t>(ids.size()),
                     [&](std::uint32_t rank) { return ids[rank]; });
  for (std::uint32_t rank = 0; rank < members_.peers.size(); ++rank) {
    members_.peers[rank] = peers[rank];
    if (rank == rank_) continue;
    if (peers[rank] >= members_.ranks.size()) members_.ranks.resize(peers[rank] + 1, kNoRank);
    members_.ranks[peers[rank]] = rank;
  }
  writes_.connect(members_.peers, traffic_.sent);
  show_members();
}

bool NeonWindow::has_room(neon::Rank to) { return closing_ || !waiting_[to]; }

bool NeonWindow::send(neon::Rank to, const neon::Header& header, std::span<const std::byte> list,
                      std::span<const std::byte> data) {
  if (closing_) return true;
  neon::Header head = header;
  head.window = members_.names[to];
  if (head.kind == neon::Kind::grant && !data.empty() && to != rank_ &&
      port().link_traits(members_.peers[to]).notified_puts) {
    head.id = service_->keys_.key({this, to, head.tag}, head.generation);
    if (head.id == 0) neon_.note_keyless();
  }
  if (to == rank_) {
    std::vector<std::byte>& frame = own_.emplace_back(sizeof head + list.size() + data.size());
    neon::join_frame(frame.data(), head, list, data);
    port().wake(ServiceId::neon);
    ++traffic_.sent[to];
    return true;
  }
  if (!has_room(to)) return false;
  if (!send_now(port(), members_.peers[to], head, list, data)) {
    Packet packet = port().packets().make(ServiceId::neon, list.size() + data.size());
    packet.set_head(&head, sizeof head);
    if (!list.empty()) std::memcpy(packet.body(), list.data(), list.size());
    if (!data.empty()) std::memcpy(packet.body() + list.size(), data.data(), data.size());
    waiting_[to] = !port().packets().send(members_.peers[to], std::move(packet), note_of(id_, to));
  }
  ++traffic_.sent[to];
  return true;
}

bool NeonWindow::write_window(neon::Rank to, std::uint64_t offset, neon::Operation& op) {
  if (closing_ || op.size < limits::kNeonWritten || !writes_.can_notify(to)) return false;
  neon::WindowKey key = key_of(members_.names[to]);
  key.counter = op.index;
  if (key.word() == 0) {
    neon_.note_keyless();
    return false;
  }
  writes_.add_notified(to, offset, key.word(), op);
  return true;
}

Service::Verdict NeonWindow::receive(PeerId from, const neon::Header& header,
                                     const std::byte* payload, std::size_t size) {
  const neon::Rank rank = rank_of(members_.ranks, from);
  if (rank == kNoRank) return Service::Verdict::malformed;
  ++traffic_.received;
  return neon_.on_frame(rank, header, payload, size) ? Service::Verdict::release
                                                     : Service::Verdict::malformed;
}

void NeonWindow::lost(PeerId peer) {
  const neon::Rank rank = rank_of(members_.ranks, peer);
  if (rank == kNoRank) return;
  has_lost_ = true;
  neon_.on_lost(rank);
}

// In a pass of the control program: handles frames to this process itself, and frames that waited for room.
void NeonWindow::deliver_own() {
  std::deque<std::vector<std::byte>> frames = std::exchange(own_, {});
  for (const std::vector<std::byte>& frame : frames) {
    const auto header = load_pod<neon::Header>(frame.data());
    ++traffic_.received;
    (void)neon_.on_frame(rank_, header, frame.data() + sizeof header, frame.size() - sizeof header);
  }
  if (neon_.stalled()) neon_.pump();
}

bool NeonWindow::quiet() noexcept {
  const bool waits = std::find(waiting_.begin(), waiting_.end(), true) != waiting_.end();
  closing_ = closing_ || (!waits && own_.empty() && writes_.idle() && !neon_.stalled());
  return closing_;
}

// --- Announced buffers ---

void NeonWindow::publish(neon::Announcement& buffer) {
  show(buffer);
  writes_.reveal(buffer);
}

void NeonWindow::withdraw(neon::Announcement& buffer) {
  {
    const ServicePort::Access access(port());
    shown_buffers_.erase(&buffer);
  }
  writes_.conceal(buffer);
}

}  // namespace lfc
