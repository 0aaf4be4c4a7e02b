// Windows: their life, and what is common to all of them.
#include "services/windows/windows.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/limits.hpp"
#include "engine/process_ni.hpp"
#include "services/windows/window_op.hpp"

namespace lfc {
namespace {

// What an operation that is kept for the next one keeps for its runs.
constexpr std::size_t kSpareRuns = 64;

std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

// --- One for the process ---

std::shared_ptr<Windows> Windows::of_process(const WindowsHost& host) {
  static std::mutex mutex;
  static std::weak_ptr<Windows> shared;
  const std::lock_guard guard(mutex);
  std::shared_ptr<Ni> ni = process_ni();
  if (ni == nullptr) return nullptr;
  std::shared_ptr<Windows> windows = shared.lock();
  if (windows == nullptr) {
    windows = std::make_shared<Windows>(std::move(ni), host);
    shared = windows;
  }
  return windows;
}

Windows::Windows(std::shared_ptr<Ni> ni, const WindowsHost& host)
    : ni_(std::move(ni)),
      host_(host),
      frame_bytes_(std::min(ni_->max_message(), limits::kWindowFrame)) {
  ni_->attach(ServiceId::windows, this);
}

Windows::~Windows() { ni_->attach(ServiceId::windows, nullptr); }

std::unique_ptr<Window> Windows::create(Window::Shape shape) {
  return std::unique_ptr<Window>(new Window(*this, std::move(shape)));
}

// What the window still has under way ends: a member is lost, or all of it has ended and the host has not heard of it.
void Windows::abandon(Window& window) {
  {
    const Ni::Access access(*ni_);
    for (WindowPeer& peer : window.peers_) peer.first = peer.last = nullptr;
    ops_.for_each([&](WindowOp& op) {
      if (op.window == &window && !op.ended) finish(op, WindowStatus::lost);
    });
  }
  serve_host();
}

void Windows::leave(const Window& window) noexcept {
  windows_.leave(window.facts_.id);
  std::erase(working_, &window);
  std::erase(singles_, &window);
}

std::size_t Windows::operations() noexcept {
  std::size_t count = 0;
  ops_.for_each([&](const WindowOp&) { ++count; });
  return count;
}

void Windows::want_work(Window& window) {
  if (std::find(working_.begin(), working_.end(), &window) == working_.end())
    working_.push_back(&window);
  ni_->service_wake(ServiceId::windows);
}

// --- Operations ---

WindowOp& Windows::take_op() {
  std::unique_ptr<WindowOp> op = spare_ops_.take();
  op->name = ops_.enter(*op);
  return *op.release();
}

void Windows::give_back(WindowOp& op) noexcept {
  ops_.leave(op.name);
  if (op.storage.capacity() > kSpareRuns) op.storage = {};
  spare_ops_.keep(std::unique_ptr<WindowOp>(&op));
}

// The operation that a target's answer names; null: there is no such one, or not at that target.
WindowOp* Windows::find_op(std::uint64_t name, PeerId peer) noexcept {
  WindowOp* const op = ops_.find(name);
  const bool theirs =
      op != nullptr && op->has_result() && op->window->peers_[op->target].peer == peer;
  return theirs ? op : nullptr;
}

// Ends an operation of the service's; the host hears of its request in serve_host().
void Windows::finish(WindowOp& op, WindowStatus status) {
  if (op.request == nullptr) {
    if (status != WindowStatus::ok) op.window->error_ = status;
    give_back(op);
    return;
  }
  op.status = status;
  op.ended = true;
  finished_.push_back(&op);
  host_wanted_.store(true, std::memory_order_release);
}

int Windows::serve_host() {
  if (!singles_.empty()) [[unlikely]]
    std::erase_if(singles_, [](Window* window) { return window->control_->singles.settle(); });
  if (!host_wanted_.load(std::memory_order_acquire)) return 0;
  struct Ended {
    void* request;
    WindowStatus status;
  };
  std::vector<Ended> ended;
  std::vector<Window*> waiting;
  {
    const Ni::Access access(*ni_);
    host_wanted_.store(false, std::memory_order_relaxed);
    for (WindowOp* op : finished_) {
      ended.push_back({op->request, op->status});
      give_back(*op);
    }
    finished_.clear();
    windows_.for_each([&](Window& window) {
      if (std::exchange(window.host_work_, false)) waiting.push_back(&window);
    });
  }
  for (Window* window : waiting) window->run_host_work();
  for (const Ended& item : ended) host_.finished(item.request, item.status);
  return static_cast<int>(ended.size() + waiting.size());
}

// --- The service ---

Service::Verdict Windows::on_frame(PeerId peer, FrameType type,
                                   std::span<const std::byte> payload) {
  switch (type) {
    case FrameType::service: return accept_head(peer, payload);
    case FrameType::service_ack: return accept_ack(peer, payload);
    default: return accept_reply(peer, payload);
  }
}

Service::Verdict Windows::accept_head(PeerId peer, std::span<const std::byte> payload) {
  WindowHead head{};
  if (payload.size() < sizeof head) return Verdict::malformed;
  std::memcpy(&head, payload.data(), sizeof head);
  Window* const window = find(head.window);
  if (window == nullptr) return Verdict::release;  // freed while this was on its way
  if (head.rank >= window->ranks() || window->peers_[head.rank].peer != peer)
    return Verdict::malformed;
  return window->accept(window->peers_[head.rank], head, payload.subspan(sizeof head));
}

Service::Verdict Windows::accept_ack(PeerId peer, std::span<const std::byte> payload) {
  WindowAck ack{};
  if (payload.size() != sizeof ack) return Verdict::malformed;
  std::memcpy(&ack, payload.data(), sizeof ack);
  const auto status = ack.status <= static_cast<std::uint8_t>(WindowStatus::memory)
                          ? static_cast<WindowStatus>(ack.status)
                          : WindowStatus::invalid;
  if (ack.kind == static_cast<std::uint8_t>(AckKind::result)) {
    WindowOp* const op = find_op(ack.reply, peer);
    if (op == nullptr) return Verdict::release;
    if (ack.size > sizeof ack.result || ack.size != op->bytes || op->received != 0 ||
        op->sent != op->bytes)
      return Verdict::malformed;
    if (status == WindowStatus::ok) {
      scatter(op->in, op->result.base, reinterpret_cast<const std::byte*>(ack.result), ack.size);
    } else {
      op->status = status;
    }
    received(*op, ack.size);
    return Verdict::release;
  }
  Window* const window = find(ack.window);
  if (window == nullptr) return Verdict::release;
  if (ack.rank >= window->ranks()) return Verdict::malformed;
  WindowPeer& from = window->peers_[ack.rank];
  if (from.peer != peer) return Verdict::malformed;
  if (status != WindowStatus::ok) window->error_ = status;
  // Answers may overtake each other: the count only grows.
  from.counted = std::max(from.counted, ack.count);
  if (ack.kind == static_cast<std::uint8_t>(AckKind::unlocked)) from.unlocked = true;
  return Verdict::release;
}

Service::Verdict Windows::accept_reply(PeerId peer, std::span<const std::byte> payload) {
  WindowReply reply{};
  if (payload.size() < sizeof reply) return Verdict::malformed;
  std::memcpy(&reply, payload.data(), sizeof reply);
  const std::span<const std::byte> bytes = payload.subspan(sizeof reply);
  WindowOp* const op = find_op(reply.reply, peer);
  if (op == nullptr) return Verdict::release;
  const std::uint64_t due = op->sent - op->received;
  if (reply.status != static_cast<std::uint64_t>(WindowStatus::ok)) {
    if (reply.offset == 0 || reply.offset > due) return Verdict::malformed;
    op->status = WindowStatus::range;
    received(*op, reply.offset);
    return Verdict::release;
  }
  if (bytes.empty() || bytes.size() > due || reply.offset > op->bytes - bytes.size())
    return Verdict::malformed;
  // The replies to several fragments take turns, also over one rail.
  if (reply.offset != op->in_place) op->in.seek(reply.offset);
  scatter(op->in, op->result.base, bytes.data(), bytes.size());
  op->in_place = reply.offset + bytes.size();
  received(*op, bytes.size());
  return Verdict::release;
}

// More of a result is here, or will never be.
void Windows::received(WindowOp& op, std::uint64_t bytes) {
  op.received += bytes;
  if (op.received != op.bytes) return;
  --op.window->peers_[op.target].replies;
  finish(op, op.status);
}

void Windows::on_lost(PeerId peer) {
  windows_.for_each([&](Window& window) { window.member_lost(peer); });
  ops_.for_each([&](WindowOp& op) {
    if (op.window->peers_[op.target].peer == peer && !op.ended && !op.executing)
      finish(op, WindowStatus::lost);
  });
}

bool Windows::work() {
  // A window that has still something to see to enters itself again.
  for (Window* window : std::exchange(working_, {})) {
    window->send_acks();
    window->grant_locks();
  }
  return !working_.empty();
}

// --- One window ---

Window::Window(Windows& windows, Shape shape)
    : windows_(windows),
      ni_(windows.ni()),
      rank_(shape.rank),
      flavor_(shape.flavor),
      size_(shape.size),
      peers_(shape.ranks),
      threads_(ni_.threads()) {
  facts_.displacement_unit = shape.displacement_unit;
  facts_.process = static_cast<std::uint32_t>(::getpid());
  facts_.control_offset = shape.control_offset;
  facts_.memory_offset = shape.memory_offset;
  memory_ = static_cast<std::byte*>(shape.base);
  make_segment(shape);
  if (threads_) control_->singles.shut_out();
  facts_.base = reinterpret_cast<std::uint64_t>(memory_);
  facts_.size = size_;
  if (flavor_ != Flavor::dynamic && size_ != 0 &&
      !ni_.register_memory(memory_, size_, kRemoteRead | kRemoteWrite, facts_.region))
    throw std::bad_alloc();
  const Ni::Access access(ni_);
  facts_.id = windows_.windows_.enter(*this);
  windows_.singles_.reserve(windows_.windows_.places());
}

// The control, which neighbours map in any case, and behind it the memory that a window allocates.
void Window::make_segment(Shape& shape) {
  if (flavor_ == Flavor::shared) {
    segment_ = std::move(shape.segment);
  } else if (shape.ranks > 1 || allocates()) {
    // Not where pages begin: buffers of the user's often lie at the start of theirs, and a processor takes the loads of a
    // copy for those of what it has just stored when only the page differs.
    facts_.memory_offset = round_up(sizeof(WindowControl), 4096) + 2048;
    segment_ = SharedMemory::create(facts_.memory_offset + (allocates() ? size_ : 0));
  }
  if (!segment_) {  // a lock of ours is then asked for in frames
    if (allocates()) throw std::bad_alloc();
    return;
  }
  facts_.segment = segment_->name();
  control_ = reinterpret_cast<WindowControl*>(segment_->data() + facts_.control_offset);
  if (allocates()) memory_ = segment_->data() + facts_.memory_offset;
}

Window::~Window() {
  windows_.abandon(*this);
  {
    const Ni::Access access(ni_);
    windows_.leave(*this);
  }
  if (flavor_ != Flavor::dynamic && size_ != 0) ni_.deregister_memory(facts_.region);
}

bool Window::connect(std::span<const WindowFacts> facts, std::span<const PeerId> ids,
                     std::span<const bool> neighbours) {
  const Ni::Access access(ni_);
  bool mapped = true;
  all_mapped_ = true;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    WindowPeer& peer = peers_[rank];
    const WindowFacts& its = facts[rank];
    peer.peer = ids[rank];
    peer.id = its.id;
    if (neighbours[rank]) peer.process = its.process;
    peer.displacement_unit = its.displacement_unit;
    peer.base = its.base;
    peer.size = its.size;
    peer.region = its.region;
    if (rank == rank_) {
      peer.mapped = memory_;
      peer.control = control_;
      peer.memory_here = true;
    } else if (neighbours[rank] && its.segment.size != 0) {
      std::byte* segment = nullptr;
      if (flavor_ == Flavor::shared) {
        segment = segment_->data();  // all parts lie in one
      } else if ((peer.segment = SharedMemory::open(its.segment))) {
        segment = peer.segment->data();
      }
      if (segment != nullptr) {
        peer.memory_here = allocates();
        if (peer.memory_here) peer.mapped = segment + its.memory_offset;
        peer.control = reinterpret_cast<WindowControl*>(segment + its.control_offset);
      } else {
        mapped = false;
        if (allocates()) all_singles_known_ = false;
      }
    }
    if (!peer.is_mapped()) all_mapped_ = false;
  }
  return mapped;
}

void Window::close_segment() noexcept {
  if (segment_) segment_->close();
}

bool Window::member_lost(PeerId lost) noexcept {
  for (WindowPeer& peer : peers_) {
    if (peer.peer != lost) continue;
    peer.first = peer.last = nullptr;
    return lost_ = true;
  }
  return false;
}

WindowStatus Window::attach(void* base, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  if (size > UINT64_MAX - address) return WindowStatus::range;
  const Ni::Access access(ni_);
  attached_.push_back({address, size});
  return WindowStatus::ok;
}

WindowStatus Window::detach(const void* base) {
  const Ni::Access access(ni_);
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto found = std::find_if(attached_.begin(), attached_.end(),
                                  [&](const Region& region) { return region.address == address; });
  if (found == attached_.end()) return WindowStatus::invalid;
  attached_.erase(found);
  return WindowStatus::ok;
}

}  // namespace lfc
