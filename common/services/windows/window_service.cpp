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

// A fragment that waits in the NI for a credit.
struct WindowService::Fragment : Message {
  WindowService* windows = nullptr;
  std::uint32_t window = 0;
  rma::Rank rank = 0;
  std::vector<std::byte> bytes;
};

struct WindowService::Signal : Message {
  WindowService* windows = nullptr;
  std::uint32_t window = 0;  // its name here
  WindowHead head{};
};

struct WindowService::ReplyMessage : Message {
  WindowService* windows = nullptr;
  PeerId peer = kNoPeer;
  std::uint32_t window = 0;
  Reply reply;
  std::vector<std::byte> frame;
};

namespace {

constexpr std::uint8_t kTag = static_cast<std::uint8_t>(ServiceId::windows);

void post(ServicePort& port, PeerId peer, Message& message, FrameType type, const void* bytes,
          std::size_t size) {
  message.type = type;
  message.tag = kTag;
  message.slices[0] = {bytes, size};
  message.slice_count = 1;
  port.post(peer, message);
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

WindowService::~WindowService() { port_.attach(ServiceId::windows, nullptr); }

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

// Sends a fragment, or lets the NI keep a copy until a credit arrives.
bool WindowService::send(const Window& window, rma::Rank to, const Slice* slices, int count) {
  const PeerId peer = window.carrier_.peer_of(to);
  if (port_.try_send(peer, ServiceId::windows, slices, count)) return true;
  std::unique_ptr<Fragment> fragment = spare_fragments_.take();
  fragment->bytes.clear();
  for (int i = 0; i < count; ++i) {
    const auto* from = static_cast<const std::byte*>(slices[i].data);
    if (slices[i].size != 0)
      fragment->bytes.insert(fragment->bytes.end(), from, from + slices[i].size);
  }
  fragment->windows = this;
  fragment->window = window.facts_.id;
  fragment->rank = to;
  fragment->done = [](Message* self, Result result) {
    std::unique_ptr<Fragment> ended(static_cast<Fragment*>(self));
    WindowService& windows = *ended->windows;
    Window* const owner = windows.windows_.find(ended->window);
    const rma::Rank target = ended->rank;
    windows.spare_fragments_.keep(std::move(ended));
    if (owner != nullptr) owner->protocol_.origin.carried(target, result == Result::ok);
  };
  Fragment& kept = *fragment.release();
  post(port_, peer, kept, FrameType::service, kept.bytes.data(), kept.bytes.size());
  return false;
}

// A signal needs no order with fragments that wait: it names the count that it must not overtake.
void WindowService::signal(Window& window, PeerId to, const WindowHead& head) {
  const Slice slice{&head, sizeof head};
  if (port_.try_send(to, ServiceId::windows, &slice, 1)) return;
  auto* held = new Signal;
  held->head = head;
  held->windows = this;
  held->window = window.facts_.id;
  held->done = [](Message* self, Result) {
    std::unique_ptr<Signal> ended(static_cast<Signal*>(self));
    if (Window* owner = ended->windows->windows_.find(ended->window)) --owner->signals_;
  };
  ++window.signals_;
  post(port_, to, *held, FrameType::service, &held->head, sizeof held->head);
}

void WindowService::acknowledge(PeerId to, const WindowAck& ack) {
  port_.ack(to, ServiceId::windows, &ack, sizeof ack);
}

void WindowService::reply(const Window& window, PeerId to, const WindowHead& head,
                          std::span<const Run> runs, std::vector<std::byte> values) {
  std::unique_ptr<ReplyMessage> message = spare_replies_.take();
  message->windows = this;
  message->peer = to;
  message->window = window.facts_.id;
  message->reply.begin(head, runs, std::move(values));
  message->done = [](Message* self, Result result) {
    auto& ended = *static_cast<ReplyMessage*>(self);
    WindowService& windows = *ended.windows;
    if (result == Result::ok && !ended.reply.all_sent()) return windows.continue_reply(ended);
    windows.port_.release(ended.peer);
    windows.spare_replies_.keep(std::unique_ptr<ReplyMessage>(&ended));
  };
  continue_reply(*message.release());
}

void WindowService::continue_reply(ReplyMessage& message) {
  // The window is looked up for each frame, because it may be gone meanwhile.
  Window* const window = windows_.find(message.window);
  const ExposedMemory* const memory = window == nullptr ? nullptr : &window->protocol_.memory;
  message.reply.next_frame(memory, frame_bytes_, message.frame);
  post(port_, message.peer, message, FrameType::service_data, message.frame.data(),
       message.frame.size());
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
