#include "services/windows/window_service.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "services/windows/protocol/reply.hpp"

namespace lfc {

// An operation that the link has under way.
struct WindowService::Native : Operation {
  WindowService* windows = nullptr;
  std::uint32_t window = 0;
  rma::Rank rank = 0;
  void* request = nullptr;
};

// A reply whose next frame waits for room in the link.
struct WindowService::Replying {
  PeerId peer = kNoPeer;
  std::uint32_t window = 0;
  Reply reply;
};

namespace {

// The kind of packet that has left: the first two bits of its note. A rank has fewer than 30 bits.
enum class Left : std::uint8_t { fragment = 1, signal, reply };
constexpr unsigned kLeftShift = 62, kRankShift = 32;
constexpr std::uint64_t note_of(Left what, std::uint32_t window_or_index,
                                rma::Rank rank = 0) noexcept {
  return std::uint64_t(what) << kLeftShift | std::uint64_t{rank} << kRankShift | window_or_index;
}

WindowStatus status_of(Result result) noexcept {
  if (result == Result::ok) return WindowStatus::ok;
  return result == Result::unreachable ? WindowStatus::lost : WindowStatus::range;
}

}  // namespace

WindowService::WindowService(ServicePort& port, MemoryPort& memory, HostPort& engine,
                             const WindowHost& host)
    : port_(port),
      memory_(memory),
      engine_(engine),
      host_(host),
      frame_bytes_(std::min(port.max_payload(), limits::kWindowFrame)),
      lock_order_(engine.has_threads()),
      store_order_(engine.has_threads()) {
  port_.attach(ServiceId::windows, this);
}

WindowService::~WindowService() {
  port_.attach(ServiceId::windows, nullptr);
  const ServicePort::Access access(port_);
  waiting_replies_.for_each([this](Replying& replying) {
    port_.release(replying.peer);
    delete &replying;
  });
}

void WindowService::enter(Window& window) {
  locked([&] {
    window.facts_.id = windows_.enter(window);
    // With several threads there are none, and other threads may read the list meanwhile.
    if (!engine_.has_threads()) singles_.reserve(windows_.places());
  });
}

// Ends the operations that the window still has under way: a member is lost, or they have ended but were not reported
// to the host.
void WindowService::leave(Window& window) noexcept {
  locked([&] {
    rma::Origin& origin = window.protocol_.origin;
    for (const auto& peer : origin.used()) origin.drop_waiting(*peer);
    operations_.for_each([&](WindowOp& op) {
      if (op.owner == &origin && !op.ended) operations_.finish(op, WindowStatus::lost);
    });
  });
  serve_host();
  locked([&] {
    lock_order_.left(window.protocol_.origin);
    windows_.leave(window.facts_.id);
    std::erase(working_, &window);
    std::erase(singles_, &window);
  });
  if (window.facts_.region.size != 0) memory_.deregister_memory(window.facts_.region);
}

int WindowService::serve_host() {
  if (!singles_.empty()) [[unlikely]]
    std::erase_if(singles_, [](Window* window) {
      return window->protocol_.memory.control().singles.settle();
    });
  if (!operations_.host_wanted()) return 0;
  std::vector<Operations::Ended> ended;
  std::vector<Window*> waiting;
  locked([&] {
    ended = operations_.take_finished();
    windows_.for_each([&](Window& window) {
      window.protocol_.origin.send_bundles(true);
      if (window.protocol_.origin.take_host_work()) waiting.push_back(&window);
    });
  });
  for (Window* window : waiting) window->run_host_work();
  for (const Operations::Ended& item : ended) host_.finished(item.request, item.status);
  return static_cast<int>(ended.size() + waiting.size());
}

// --- The service ---

Service::Verdict WindowService::on_frame(PeerId peer, FrameType type,
                                         std::span<const std::byte> payload) {
  switch (type) {
    case FrameType::service: return accept_head(peer, payload);
    case FrameType::service_ack: return accept_ack(peer, payload);
    default: return accept_reply(peer, payload);
  }
}

Service::Verdict WindowService::accept_head(PeerId peer, std::span<const std::byte> payload) {
  if (payload.size() < sizeof(WindowHead)) return Verdict::malformed;
  const auto head = load_pod<WindowHead>(payload.data());
  Window* const window = windows_.find(head.window);
  if (window == nullptr) return Verdict::release;  // freed while this was on its way
  if (head.rank >= window->ranks() || window->carrier_.peer_of(head.rank) != peer)
    return Verdict::malformed;
  return window->protocol_.on_head(head.rank, head, payload.subspan(sizeof head));
}

Service::Verdict WindowService::accept_ack(PeerId peer, std::span<const std::byte> payload) {
  WindowAck ack{};
  if (payload.size() != sizeof ack) return Verdict::malformed;
  std::memcpy(&ack, payload.data(), sizeof ack);
  const WindowStatus status = rma::status_of(ack);
  if (ack.kind == static_cast<std::uint8_t>(AckKind::result)) {
    WindowOp* const op = operations_.find(ack.reply, peer);
    return op == nullptr ? Verdict::release : op->owner->on_result(*op, ack, status);
  }
  Window* const window = windows_.find(ack.window);
  if (window == nullptr) return Verdict::release;
  if (ack.rank >= window->ranks() || window->carrier_.peer_of(ack.rank) != peer)
    return Verdict::malformed;
  rma::Origin& origin = window->protocol_.origin;
  // Else nothing was sent to it, and this changes nothing.
  if (rma::OriginPeer* const to = origin.find(ack.rank)) origin.on_counted(*to, ack, status);
  return Verdict::release;
}

Service::Verdict WindowService::accept_reply(PeerId peer, std::span<const std::byte> payload) {
  WindowReply reply{};
  if (payload.size() < sizeof reply) return Verdict::malformed;
  std::memcpy(&reply, payload.data(), sizeof reply);
  WindowOp* const op = operations_.find(reply.reply, peer);
  if (op == nullptr) return Verdict::release;
  return op->owner->on_reply(*op, reply, payload.subspan(sizeof reply));
}

void WindowService::on_lost(PeerId peer) {
  windows_.for_each([&](Window& window) {
    for (rma::Rank rank = 0; rank < window.ranks(); ++rank)
      if (window.carrier_.peer_of(rank) == peer) window.protocol_.origin.on_lost(rank);
  });
  operations_.for_each([&](WindowOp& op) {
    if (op.owner->carrier().peer_of(op.target) == peer && !op.ended && !op.executing)
      operations_.finish(op, WindowStatus::lost);
  });
}

bool WindowService::work() {
  // A window with more work enters itself again.
  for (Window* window : std::exchange(working_, {})) window->protocol_.target.work();
  return !working_.empty();
}

void WindowService::wake(Window& window) {
  if (std::find(working_.begin(), working_.end(), &window) == working_.end())
    working_.push_back(&window);
  port_.wake(ServiceId::windows);
}

// --- Frames ---

// Sends a fragment, or a copy of it when there is a credit.
bool WindowService::send(const Window& window, rma::Rank to, const Slice* slices, int count) {
  const PeerId peer = window.carrier_.peer_of(to);
  if (port_.try_send(peer, ServiceId::windows, slices, count)) return true;
  const std::span<const Slice> rest(slices + 1, static_cast<std::size_t>(count) - 1);
  Packet packet = port_.packets().make(ServiceId::windows, total_size(rest.data(), count - 1));
  packet.set_head(slices[0].data, slices[0].size);
  std::size_t at = 0;
  for (const Slice& slice : rest) {
    if (slice.size != 0) std::memcpy(packet.body() + at, slice.data, slice.size);
    at += slice.size;
  }
  return port_.packets().send(peer, std::move(packet),
                              note_of(Left::fragment, window.facts_.id, to));
}

// A signal needs no order with fragments that wait: it names the count that it must not overtake.
void WindowService::signal(Window& window, PeerId to, const WindowHead& head) {
  const Slice slice{&head, sizeof head};
  if (port_.try_send(to, ServiceId::windows, &slice, 1)) return;
  Packet packet = port_.packets().make(ServiceId::windows);
  packet.set_head(&head, sizeof head);
  if (!port_.packets().send(to, std::move(packet), note_of(Left::signal, window.facts_.id)))
    ++window.signals_;
}

void WindowService::reply(const Window& window, PeerId to, const WindowHead& head,
                          std::span<const Run> runs, std::vector<std::byte> values) {
  std::unique_ptr<Replying> made = spare_replies_.take();
  made->peer = to;
  made->window = window.facts_.id;
  made->reply.begin(head, runs, std::move(values));
  go_on(std::move(made));
}

// Sends frames of a reply until one has to wait. The window is looked up for each frame, because it may be gone
// meanwhile.
void WindowService::go_on(std::unique_ptr<Replying> replying) {
  Reply& reply = replying->reply;
  while (!reply.all_sent()) {
    Window* const window = windows_.find(replying->window);
    Packet packet = port_.packets().make(ServiceId::windows, reply.next_size(frame_bytes_),
                                         FrameType::service_data);
    std::span<std::byte> bytes(packet.body(), packet.body_size());
    const WindowReply head =
        reply.next_frame(window == nullptr ? nullptr : &window->protocol_.memory, bytes);
    packet.shorten(bytes.size());
    packet.set_head(&head, sizeof head);
    const std::uint32_t place = waiting_replies_.enter(*replying);
    if (!port_.packets().send(replying->peer, std::move(packet), note_of(Left::reply, place))) {
      (void)replying.release();  // on_left() goes on
      return;
    }
    waiting_replies_.leave(place);
  }
  port_.release(replying->peer);
  spare_replies_.keep(std::move(replying));
}

void WindowService::on_left(PeerId, std::uint64_t note, Result result) {
  const auto name = static_cast<std::uint32_t>(note);
  const auto what = static_cast<Left>(note >> kLeftShift);
  if (what == Left::reply) {
    std::unique_ptr<Replying> replying(waiting_replies_.find(name));
    waiting_replies_.leave(name);
    if (result == Result::ok) return go_on(std::move(replying));
    port_.release(replying->peer);
    return;
  }
  Window* const window = windows_.find(name);
  if (window == nullptr) return;  // freed meanwhile
  if (what == Left::signal) {
    --window->signals_;
  } else {
    const auto rank = static_cast<rma::Rank>(note >> kRankShift) & ((1u << 30) - 1);
    window->protocol_.origin.carried(rank, result == Result::ok);
  }
}

// --- By the link itself ---

// Determines the abilities of the link to a member, and opens the connection. Called without the lock.
void WindowService::find_link(Window& window, rma::Rank target) {
  const PeerId peer = window.carrier_.peer_of(target);
  const ServicePort::Access access(port_);
  const bool native = memory_.is_native(peer);
  rma::OriginPeer& to = window.protocol_.origin.use(target);
  if (to.link_known) return;  // by another thread, and read without the lock since
  // Frames also need it, where the link cannot copy.
  to.region = &window.carrier_.keep_region(target, to.size);
  const LinkTraits& traits = port_.link_traits(peer);
  to.reach.remote_memory = native;
  to.reach.one_sided = native && traits.one_sided;
  to.reach.within_call = to.reach.one_sided && traits.copies_at_once;
  to.link_known = true;
}

void WindowService::transfer(const Window& window, const WindowCall& call) {
  const WindowRoute& route = window.carrier_.route(call.target);
  const RegionHandle& region = *window.peer(call.target).region;
  std::unique_ptr<Native> native = spare_natives_.take();
  native->windows = this;
  native->window = window.facts_.id;
  native->rank = call.target;
  native->request = call.request;
  native->done = [](Operation* operation, Result result) {
    std::unique_ptr<Native> ended(static_cast<Native*>(operation));
    WindowService& windows = *ended->windows;
    void* const request = ended->request;
    const WindowStatus status = status_of(result);
    windows.locked([&] {
      if (Window* owner = windows.windows_.find(ended->window))
        owner->protocol_.origin.native_done(ended->rank, status);
      windows.spare_natives_.keep(std::move(ended));
    });
    if (request != nullptr) windows.host().finished(request, status);
  };
  const std::uint64_t address = route.base + static_cast<std::uint64_t>(call.there.begin());
  if (call.kind == WindowCall::Kind::put) {
    memory_.put(route.peer, call.origin.base + call.origin.begin(), nullptr, address, region,
                call.bytes, native.release());
  } else {
    memory_.get(route.peer, call.result.base + call.result.begin(), nullptr, address, region,
                call.bytes, native.release());
  }
}

}  // namespace lfc
