#include "engine/ni.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "base/faults.hpp"
#include "base/limits.hpp"
#include "engine/ni_thread.hpp"

namespace lfc {
namespace {

// The section of addresses that is the NI's own: its largest message.
constexpr std::string_view kSection = "ni";

SendLock::Kind lock_kind(const Config& config) noexcept {
  if (config.threads || config.policy == Policy::fixed) return SendLock::Kind::shared;
  return config.policy == Policy::floating ? SendLock::Kind::biased : SendLock::Kind::none;
}

Identity make_identity(const Config& config) {
  std::uint32_t key = config.key;
  while (key == 0) key = std::random_device{}();
  return {config.name, key, std::max(1u, config.initial_window)};
}

}  // namespace

Ni::Ni(const Config& config)
    : config_(config),
      identity_(make_identity(config)),
      lock_(lock_kind(config)),
      budget_(std::max(config.maximum_window, identity_.initial_window), config.window_cap),
      host_(lock_.kind() == SendLock::Kind::shared ? HostQueue::Mode::queued : config.delivery,
            config.queue_memory) {}

Ni::~Ni() { thread_.reset(); }

void Ni::add_link(std::unique_ptr<Link> link) {
  max_message_ = links_.empty() ? link->max_payload() : std::min(max_message_, link->max_payload());
  links_.push_back(std::move(link));
}

std::vector<std::byte> Ni::open() {
  AddressWriter writer(identity_);
  const auto largest = static_cast<std::uint32_t>(max_message_);
  writer.add(kSection, std::as_bytes(std::span(&largest, 1)));
  for (const auto& link : links_) link->publish(writer);
  std::vector<std::byte> address = std::move(writer).finish();
  address_ = address;
  for (const auto& link : links_) link->set_own_address(address);
  for (const auto& link : links_) all_wake_ &= link->traits().wakes;
  if (config_.policy != Policy::single) thread_ = std::make_unique<NiThread>(*this);
  return address;
}

std::size_t Ni::max_message_of(const Address& address) noexcept {
  std::uint32_t largest = 0;
  const std::span<const std::byte> section = address.section(kSection);
  if (section.size() == sizeof largest) std::memcpy(&largest, section.data(), sizeof largest);
  return largest;
}

void Ni::set_broken_handler(BrokenHandler handler, void* context) noexcept {
  broken_handler_ = handler;
  broken_context_ = context;
}

// --- Peers ---

Peer& Ni::insert_peer(const Address& address) {
  const auto id = static_cast<PeerId>(peers_.size());
  Peer& peer = *peers_.emplace_back(std::make_unique<Peer>(id, address, identity_.initial_window));
  by_name_[address.identity().name.packed()] = id;
  return peer;
}

PeerId Ni::add_peer(const Address& address, std::string& why_not) {
  const SendLock::Guard guard(lock_);
  const auto known = by_name_.find(address.identity().name.packed());
  if (known != by_name_.end()) return known->second;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::string why;
    if (links_[i]->reach(address, why)) {
      Peer& peer = insert_peer(address);
      peer.link = links_[i].get();
      peer.link_index = static_cast<std::uint8_t>(i);
      return peer.id;
    }
    why_not += (why_not.empty() ? "" : "; ") + std::string(links_[i]->name()) + ": " + why;
  }
  if (links_.empty()) why_not = "no link is open";
  return kNoPeer;
}

void Ni::remove_peer(PeerId id) {
  {
    const SendLock::Guard guard(lock_);
    Peer& peer = at(id);
    if (peer.state == Peer::State::removed) return;
    if (peer.link != nullptr) peer.link->close(id);
    lose_peer(peer, Peer::State::removed, "removed");
    const auto entry = by_name_.find(peer.address.identity().name.packed());
    if (entry != by_name_.end() && entry->second == id) by_name_.erase(entry);
  }
  complete_finished();
}

void Ni::set_peer_context(PeerId id, void* context) noexcept {
  const SendLock::Guard guard(lock_);
  at(id).context = context;
}

bool Ni::idle(PeerId id) noexcept {
  const SendLock::Guard guard(lock_);
  const Peer& peer = at(id);
  return peer.state != Peer::State::connected || peer.waiting.empty();
}

const LinkTraits& Ni::link_traits(PeerId id) const noexcept {
  static const LinkTraits none{.name = "none"};
  const SendLock::Guard guard(lock_);
  const Peer& peer = at(id);
  return peer.link == nullptr ? none : peer.link->traits();
}

// The peer talks, or is about to: its receive buffers are promised from now on.
void Ni::admit(Peer& peer, Link& link) {
  if (std::find(busy_links_.begin(), busy_links_.end(), &link) == busy_links_.end())
    busy_links_.push_back(&link);
  used_.store(true, std::memory_order_relaxed);
  if (peer.admitted) return;
  peer.admitted = true;
  budget_.admit(peer.flow.window().window());
  counters_.add(Counter::connections);
}

bool Ni::ensure_connected(Peer& peer) {
  if (peer.state == Peer::State::connected) return true;
  if (peer.state != Peer::State::known) return false;
  // The chosen link first, then the less preferred ones that also reach the peer.
  std::string reasons;
  for (std::size_t i = peer.link_index; i < links_.size(); ++i) {
    std::string why;
    Link& link = *links_[i];
    if (&link != peer.link && !link.reach(peer.address, why)) continue;
    if (link.connect(peer.id, peer.address, why)) {
      peer.link = &link;
      peer.ring = link.ring(peer.id);
      peer.link_index = static_cast<std::uint8_t>(i);
      peer.state = Peer::State::connected;
      admit(peer, link);
      return true;
    }
    reasons += " " + std::string(link.name()) + ": " + why + ";";
  }
  lose_peer(peer, Peer::State::broken, "no link connects:" + reasons);
  return false;
}

PeerId Ni::on_connect(Link& link, const Address& from) {
  const auto known = by_name_.find(from.identity().name.packed());
  if (known != by_name_.end()) {
    Peer& peer = at(known->second);
    const bool same_process = peer.address.identity().key == from.identity().key;
    if (!same_process || peer.state == Peer::State::broken) return kNoPeer;
    admit(peer, link);
    return peer.id;
  }
  Peer& peer = insert_peer(from);
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].get() == &link) peer.link_index = static_cast<std::uint8_t>(i);
  peer.link = &link;
  admit(peer, link);
  return peer.id;
}

void Ni::on_broken(PeerId id, Link&, std::string_view why) {
  if (id < peers_.size()) lose_peer(at(id), Peer::State::broken, why);
}

void Ni::lose_peer(Peer& peer, Peer::State state, std::string_view why) {
  const bool lost_before = is_lost(peer);
  peer.state = state;
  peer.ring = nullptr;
  if (lost_before) return;
  peer.flow.end(budget_, peer.admitted);
  fail_pending(peer);
  for (Service* service : services_)
    if (service != nullptr) service->on_lost(peer.id);
  if (state == Peer::State::broken) {
    counters_.add(Counter::peers_broken);
    losses_.push_back({peer.id, std::string(why)});
    news_.store(true, std::memory_order_relaxed);
  }
}

// Completes everything that waits for this peer with `unreachable`.
void Ni::fail_pending(Peer& peer) {
  peer.control.clear();
  peer.incoming_puts.clear();
  while (Waiting* item = peer.services.pop()) {
    if (item->kind == Waiting::Kind::message) {
      finish(static_cast<Message&>(*item), Result::unreachable);
    } else {
      delete static_cast<GetService*>(item);
    }
  }
  while (Waiting* item = peer.waiting.pop()) {
    if (item->kind == Waiting::Kind::message) {
      finish(static_cast<Message&>(*item), Result::unreachable);
    } else {
      static_cast<RemoteOp&>(*item).stage = RemoteOp::Stage::answer_due;
    }
  }
  // What a link has under way, the link completes; the rest would wait for an answer in vain.
  operations_.for_each([&](RemoteOp& op) {
    if (op.peer == peer.id && op.stage == RemoteOp::Stage::answer_due)
      finish(op, Result::unreachable);
  });
}

// --- Sending ---

// --- Departure: every frame leaves by one of these two ---

// A message that fits into a slot of the peer's ring, when nothing stands in its way: no call, so
// that it is in line where messages are sent. False: nothing was done.
[[gnu::always_inline]] inline bool Ni::send_short(Peer& peer, std::uint8_t tag, const Slice* slices,
                                                  int count) noexcept {
  constexpr FrameType kType = FrameType::message;
  if (peer.ring == nullptr || !peer.flow.may_depart(kType) || count != 2) [[unlikely]]
    return false;
  if (fault(Fault::send_refused)) return false;
  const std::uint32_t returned = peer.flow.returnable(kType);
  const std::size_t bytes = slices[0].size + slices[1].size;
  if (!peer.ring->send_short({kType, tag, static_cast<std::uint8_t>(returned)}, slices[0],
                             slices[1])) [[unlikely]]
    return false;
  departed(peer, kType, returned, bytes);
  counters_.add(Counter::messages_sent);
  return true;
}

// `returned` are the credits that go with it, in `meta` or in the payload; `frees`: with it the receive
// buffer is free of the frame that it answers.
SendStatus Ni::transmit(Peer& peer, Meta meta, const Slice* slices, int count,
                        std::uint32_t returned, bool frees) noexcept {
  if (fault(Fault::send_refused)) return SendStatus::again;
  SendStatus status = SendStatus::broken;
  if (peer.ring != nullptr) status = peer.ring->send(meta, slices, count);
  // A ring that is broken its link has to see.
  if (status == SendStatus::broken) status = peer.link->send(peer.id, meta, slices, count);
  if (status != SendStatus::sent) return status;
  if (frees) (void)peer.flow.release(budget_, counters_);
  departed(peer, meta.type, returned, total_size(slices, count));
  return status;
}

[[gnu::always_inline]] inline void Ni::departed(Peer& peer, FrameType type, std::uint32_t returned,
                                                std::size_t bytes) noexcept {
  peer.flow.departed(type, returned);
  counters_.add(Counter::frames_sent);
  counters_.add(Counter::bytes_sent, bytes);
}

Ni::Attempt Ni::send_data(Peer& peer, FrameType type, std::uint8_t tag, const Slice* slices,
                          int count) noexcept {
  if (!peer.flow.may_depart(type)) return Attempt::no_credit;
  const std::uint32_t returned = peer.flow.returnable(type);
  const Meta meta{type, tag, static_cast<std::uint8_t>(returned)};
  switch (transmit(peer, meta, slices, count, returned)) {
    case SendStatus::sent: peer.stall_counted = false; return Attempt::sent;
    case SendStatus::again: return Attempt::no_room;
    default: return Attempt::broken;
  }
}

// Sends an answer at once if it can; it never waits behind data.
void Ni::answer(Peer& peer, FrameType type, std::uint8_t tag, const void* payload, std::size_t size,
                bool releases) {
  if (!ensure_connected(peer)) return;
  Peer::ControlFrame frame{type, tag, static_cast<std::uint8_t>(size), releases, {}};
  std::memcpy(frame.payload.data(), payload, size);
  if (peer.control.empty() && send_answer(peer, frame)) return;
  peer.control.push_back(frame);
  retry_later(peer);
}

// The credit for the buffer goes with the answer and no earlier: with it the peer may cause the next
// answer, and they would pile up behind a link without room. A peer that has closed the link waits for no
// answer of ours: that is no error.
bool Ni::send_answer(Peer& peer, const Peer::ControlFrame& frame) noexcept {
  const std::uint32_t returned = peer.flow.returnable(frame.type, frame.releases);
  const Slice slice{frame.payload.data(), frame.size};
  return transmit(peer, {frame.type, frame.tag, static_cast<std::uint8_t>(returned)}, &slice, 1,
                  returned, frame.releases) != SendStatus::again;
}

bool Ni::try_send(PeerId id, std::uint8_t tag, const Slice* slices, int count) noexcept {
  const auto entry = lock_.try_enter_short();
  if (entry == SendLock::kRefused) [[unlikely]]
    return try_send_shared(id, tag, slices, count);
  Peer& peer = at(id);
  const bool sent = peer.waiting.empty() &&
                    (send_short(peer, tag, slices, count) || send_long(peer, tag, slices, count));
  lock_.leave(entry);
  return sent;
}

bool Ni::try_send_shared(PeerId id, std::uint8_t tag, const Slice* slices, int count) noexcept {
  const SendLock::Guard guard(lock_);
  Peer& peer = at(id);
  return peer.waiting.empty() &&
         (send_short(peer, tag, slices, count) || send_long(peer, tag, slices, count));
}

// What is unusual about a message that has been tried with send_short().
bool Ni::send_long(Peer& peer, std::uint8_t tag, const Slice* slices, int count) noexcept {
  if (peer.state != Peer::State::connected ||
      send_data(peer, FrameType::message, tag, slices, count) != Attempt::sent)
    return false;
  counters_.add(Counter::messages_sent);
  return true;
}

void Ni::post(PeerId id, Message& message) noexcept {
  bool lost = false;
  {
    const SendLock::Guard guard(lock_);
    enqueue(at(id), at(id).waiting, message);
    lost = is_lost(at(id));
  }
  if (lost) complete_finished();
}

void Ni::enqueue(Peer& peer, WaitingQueue& queue, Waiting& item) {
  const bool was_empty = queue.empty();
  queue.push(item);
  if (!ensure_connected(peer)) {
    fail_pending(peer);
  } else if (was_empty) {
    pump(peer);
  }
}

// What `done` posts joins the pass that has called it: an answer of many frames is no deep recursion.
void Ni::pump(Peer& peer) {
  if (std::exchange(peer.pumping, true)) {
    peer.pump_again = true;
    return;
  }
  do {
    peer.pump_again = false;
    pump_queues(peer);
  } while (peer.pump_again);
  peer.pumping = false;
}

void Ni::pump_queues(Peer& peer) {
  if (!pump_control(peer)) return;
  // Answers to gets take turns with the rest, but never wait for it: the head of `waiting` may need
  // a credit that the peer returns only when its own get has been answered.
  bool waits = false;
  const auto may_send = [&] { return !waits && !peer.waiting.empty(); };
  while (may_send() || !peer.services.empty()) {
    Waiting* service = peer.services.front();
    if (service != nullptr && !send_answer(peer, *service)) return;
    if (may_send()) waits = send_waiting(peer, *peer.waiting.front()) == Step::waits;
  }
}

// False when a control frame is still waiting: the link has no room at all.
bool Ni::pump_control(Peer& peer) noexcept {
  while (!peer.control.empty()) {
    if (!send_answer(peer, peer.control.front())) {
      retry_later(peer);
      return false;
    }
    peer.control.pop_front();
  }
  if (peer.credit_overdue || peer.flow.due()) return_credits(peer);
  return !peer.credit_overdue;
}

Ni::Step Ni::send_waiting(Peer& peer, Waiting& item) {
  return item.kind == Waiting::Kind::message
             ? send_message(peer, peer.waiting, static_cast<Message&>(item))
             : send_operation(peer, static_cast<RemoteOp&>(item));
}

// False when the link has no room.
bool Ni::send_answer(Peer& peer, Waiting& item) {
  if (item.kind != Waiting::Kind::message)
    return send_get_data(peer, static_cast<GetService&>(item));
  return send_message(peer, peer.services, static_cast<Message&>(item)) != Step::waits;
}

Ni::Step Ni::send_message(Peer& peer, WaitingQueue& queue, Message& message) {
  const Attempt attempt =
      send_data(peer, message.type, message.tag, message.slices.data(), message.slice_count);
  if (attempt != Attempt::sent) return wait(peer, attempt);
  queue.pop();
  finish(message, Result::ok);
  return Step::finished;
}

void Ni::finish(Message& message, Result result) {
  message.result = result;
  if (message.type != FrameType::message) {
    message.done(&message, result);
    return;
  }
  if (result == Result::ok) counters_.add(Counter::messages_sent);
  hand_over(message);
}

// Counts, once for each item, why the head of the queue cannot go, and arranges for its retry. A
// missing credit needs none: its arrival pumps the queue.
Ni::Step Ni::wait(Peer& peer, Attempt attempt) noexcept {
  const bool retried = std::exchange(peer.stall_counted, true);
  switch (attempt) {
    case Attempt::no_credit:
      if (!retried) counters_.add(Counter::credit_stalls);
      break;
    case Attempt::broken:
      lose_peer(peer, Peer::State::broken, "the peer has closed the link");
      break;
    default:
      if (!retried) counters_.add(Counter::link_stalls);
      retry_later(peer);
      break;
  }
  return Step::waits;
}

void Ni::retry_later(Peer& peer) noexcept {
  if (peer.to_retry) return;
  peer.to_retry = true;
  peer.next_to_retry = to_retry_;
  to_retry_ = &peer;
  wake_sleeper();
}

void Ni::retry_all() {
  Peer* peer = std::exchange(to_retry_, nullptr);
  while (peer != nullptr) {
    Peer* next = peer->next_to_retry;
    peer->to_retry = false;
    if (peer->state == Peer::State::connected) pump(*peer);
    peer = next;
  }
}

// --- Arrival and return ---

// What every frame brings and takes: credits, and a receive buffer. False: the frame breaks the protocol,
// or what its credits let go has found the peer gone.
[[gnu::always_inline]] inline bool Ni::arrived(Peer& peer, FrameType type, std::uint32_t credits) {
  if (!peer.flow.arrived(type)) [[unlikely]]
    return false;
  return credits == 0 || (credits_arrived(peer, credits) && !is_lost(peer));
}

bool Ni::credits_arrived(Peer& peer, std::uint32_t count) {
  if (!peer.flow.credited(count)) return false;
  if (!peer.waiting.empty()) pump(peer);
  return true;
}

// The receive buffer of one frame is free again: its credit is owed.
void Ni::release_buffer(Peer& peer) noexcept {
  if (peer.flow.release(budget_, counters_)) [[unlikely]]
    return_credits(peer);
}

// Likewise, when an answer has left, which carries the credit.
void Ni::release_with_answer(Peer& peer, FrameType type, std::uint8_t tag, const void* payload,
                             std::size_t size) {
  answer(peer, type, tag, payload, size, true);
  if (peer.flow.due()) return_credits(peer);
}

void Ni::return_credits(Peer& peer) noexcept {
  peer.credit_overdue = false;
  const CreditPayload payload{peer.flow.returnable(FrameType::credit)};
  if (payload.credits == 0 || !ensure_connected(peer)) return;
  // Not past answers that wait: with the credits the peer may cause more of them.
  if (peer.control.empty()) {
    const Slice slice{&payload, sizeof payload};
    const SendStatus status = transmit(peer, {FrameType::credit, 0, 0}, &slice, 1, payload.credits);
    if (status == SendStatus::sent) counters_.add(Counter::explicit_credits);
    if (status != SendStatus::again) return;
  }
  peer.credit_overdue = true;
  retry_later(peer);
}

// --- Receiving ---

[[gnu::flatten]] void Ni::on_frame(PeerId id, Meta meta, std::span<const std::byte> payload) {
  if (id >= peers_.size() || is_lost(at(id))) [[unlikely]] {
    counters_.add(Counter::frames_dropped);
    return;
  }
  Peer& peer = at(id);
  counters_.add(Counter::frames_received);
  counters_.add(Counter::bytes_received, payload.size());
  const bool valid = arrived(peer, meta.type, meta.credits);
  if (!valid && is_lost(peer)) [[unlikely]]
    return;
  if (!valid || !accept_frame(peer, meta, payload)) [[unlikely]]
    refuse_frame(peer, meta);
}

// The short path: messages for a host that is here, each as accept_frame() would have it. Whatever is
// unusual about a frame is left to on_frame().
[[gnu::flatten]] int Ni::on_ring(PeerId id, RingReader& ring, int limit) {
  if (id >= peers_.size() || host_.queues()) [[unlikely]]
    return 0;
  Peer& peer = at(id);
  const MessageHandler host = host_.handler();
  int count = 0;
  std::size_t bytes = 0;
  RingFrame frame;
  while (count < limit && !is_lost(peer) && ring.peek_short(frame)) {
    const Meta meta = frame.meta();
    if (!arrived(peer, FrameType::message, meta.credits)) [[unlikely]]
      break;
    host.deliver(peer.context, meta.tag, frame.payload.data(), frame.payload.size(), id,
                 host.context);
    ring.pop();
    release_buffer(peer);
    bytes += frame.payload.size();
    ++count;
  }
  counters_.add(Counter::frames_received, static_cast<std::uint64_t>(count));
  counters_.add(Counter::messages_received, static_cast<std::uint64_t>(count));
  counters_.add(Counter::bytes_received, bytes);
  return count;
}

void Ni::refuse_frame(Peer& peer, Meta meta) {
  counters_.add(Counter::frames_dropped);
  peer.link->close(peer.id);
  lose_peer(peer, Peer::State::broken, std::string("malformed frame: ") + to_string(meta.type));
}

// False when the frame breaks the protocol.
inline bool Ni::accept_frame(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  if (meta.type != FrameType::message) [[unlikely]]
    return accept_other_frame(peer, meta, payload);
  counters_.add(Counter::messages_received);
  if (host_.deliver({peer.id, peer.context, meta.tag, payload})) release_buffer(peer);
  return true;
}

bool Ni::accept_other_frame(Peer& peer, Meta meta, std::span<const std::byte> payload) {
  switch (meta.type) {
    case FrameType::credit: {
      CreditPayload credit{};
      if (payload.size() != sizeof credit) return false;
      std::memcpy(&credit, payload.data(), sizeof credit);
      return credits_arrived(peer, credit.credits);
    }
    case FrameType::put: return serve_put(peer, payload);
    case FrameType::get: return serve_get(peer, payload);
    case FrameType::get_data: return accept_get_data(peer, payload);
    case FrameType::atomic: return serve_atomic(peer, payload);
    case FrameType::put_ack:
    case FrameType::atomic_reply: return accept_ack(peer, meta.type, payload);
    case FrameType::service:
    case FrameType::service_data:
    case FrameType::service_ack: return accept_service(peer, meta, payload);
    default: return false;  // a link's own frames never reach the NI
  }
}

// --- The control program ---

// Flat, as is what it calls when there is nothing to do.
[[gnu::flatten]] int Ni::pass() noexcept { return progress_control() + serve_host(); }

int Ni::run_control() noexcept {
  const auto entry = lock_.try_enter();
  if (entry == SendLock::kRefused) [[unlikely]] {
    lock_.note_visit();
    lock_.await_release();
    return 0;
  }
  int events = 0;
  if (!polling_) {
    polling_ = true;
    // What came while the host was away is older than anything that may be delivered now.
    if (host_.mode() == HostQueue::Mode::direct && !host_.empty()) [[unlikely]]
      events = drain_host(INT_MAX);
    const bool leaves = fault(Fault::host_leaves);
    if (leaves) host_.set_away(true);
    const int found = fault(Fault::pass_skipped) ? 0 : run_pass(false);
    if (leaves) host_.set_away(false);
    // The thread was to be woken by it. It is told instead that the host is back: so while the links
    // are armed the host never leaves anything half done.
    if (found != 0 && armed_) [[unlikely]] {
      disarm_links();
      thread_->wake();
    }
    events += found;
    polling_ = false;
  }
  lock_.leave_visit(entry);
  return events;
}

int Ni::run_pass(bool all_links) noexcept {
  const int events = all_links ? poll_all_links() : poll_links();
  if (to_retry_ != nullptr) retry_all();
  if (services_awake_ != 0) run_services();
  return events;
}

int Ni::drain_host(int limit) noexcept {
  return host_.drain(limit, [this](PeerId id) {
    const SendLock::Guard guard(lock_);
    release_buffer(at(id));
  });
}

int Ni::serve_host() noexcept {
  if (fault(Fault::host_absent)) return 0;
  const int events = host_.mode() == HostQueue::Mode::queued ? drain_host_queue() : 0;
  complete_finished();
  return events;
}

int Ni::drain_host_queue() noexcept {
  if (host_.empty() || draining_.test_and_set(std::memory_order_acquire)) return 0;
  const int events = drain_host(64);
  draining_.clear(std::memory_order_release);  // pairs with the acquire above
  return events;
}

int Ni::poll_all_links() noexcept {
  int events = 0;
  for (const auto& link : links_) events += link->poll();
  return events;
}

// A link without connections can only hear a stranger's first words: that may wait a little, so
// that an unused link costs nothing.
int Ni::poll_links() noexcept {
  const unsigned passes = passes_.load(std::memory_order_relaxed) + 1;
  passes_.store(passes, std::memory_order_relaxed);
  if (passes % kPassesPerIdlePoll == 0) return poll_all_links();
  int events = 0;
  // By index: a callback may add a link to the list.
  for (std::size_t i = 0; i < busy_links_.size(); ++i) events += busy_links_[i]->poll();
  return events;
}

void Ni::call_back_finished() noexcept {
  WaitingQueue for_host;  // what the NI thread must leave alone
  while (news_.load(std::memory_order_relaxed)) {
    WaitingQueue done;
    std::vector<Loss> losses;
    {
      const SendLock::Guard guard(lock_);
      news_.store(false, std::memory_order_relaxed);
      done = std::exchange(finished_, {});
      losses.swap(losses_);
    }
    while (Waiting* item = done.pop()) {
      if (item->kind == Waiting::Kind::message) {
        auto& message = static_cast<Message&>(*item);
        message.done(&message, message.result);
        continue;
      }
      if (item->kind == Waiting::Kind::call) {
        auto& waiting = static_cast<WaitingCall&>(*item);
        if (!waiting.by_thread && NiThread::is_current()) {
          for_host.push(waiting);
        } else {
          waiting.call(&waiting);
        }
        continue;
      }
      auto& op = static_cast<RemoteOp&>(*item);
      Operation* operation = op.operation;
      const Result result = op.result;
      {
        const SendLock::Guard guard(lock_);
        operations_.give_back(op);
      }
      operation->done(operation, result);
    }
    for (const Loss& loss : losses)
      if (broken_handler_ != nullptr) broken_handler_(broken_context_, loss.peer, loss.why);
  }
  if (for_host.empty()) return;
  const SendLock::Guard guard(lock_);
  while (Waiting* item = for_host.pop()) hand_over(*item);
}

bool Ni::drained() const noexcept {
  const SendLock::Guard guard(lock_);
  for (const auto& peer : peers_) {
    if (peer->state == Peer::State::connected &&
        (!peer->waiting.empty() || !peer->services.empty() || !peer->control.empty() ||
         peer->credit_overdue))
      return false;
  }
  return std::all_of(links_.begin(), links_.end(),
                     [](const auto& link) { return link->drained(); });
}

// --- Observation ---

std::size_t Ni::memory() const noexcept {
  const SendLock::Guard guard(lock_);
  std::size_t bytes = host_.memory() + peers_.size() * sizeof(Peer);
  for (const auto& link : links_) bytes += link->memory();
  return bytes;
}

void Ni::describe(std::string& out) const {
  const SendLock::Guard guard(lock_);
  static constexpr const char* kStates[] = {"known", "connected", "broken", "removed"};
  for (const auto& peer : peers_) {
    const ProcessName name = peer->address.identity().name;
    const std::string_view link = peer->link == nullptr ? "none" : peer->link->name();
    char line[256];
    std::snprintf(line, sizeof line,
                  "peer %u:%u %s link=%.*s credits=%u window=%u owed=%u waiting=%zu services=%zu "
                  "control=%zu outstanding=%zu\n",
                  name.job, name.rank, kStates[static_cast<int>(peer->state)],
                  static_cast<int>(link.size()), link.data(), peer->flow.credits().available(),
                  peer->flow.window().window(), peer->flow.window().owed(), peer->waiting.size(),
                  peer->services.size(), peer->control.size(), peer->outstanding);
    out += line;
  }
  char line[160];
  std::snprintf(line, sizeof line, "windows granted=%llu cap=%llu queued=%zu\n",
                static_cast<unsigned long long>(budget_.granted()),
                static_cast<unsigned long long>(budget_.cap()), host_.waiting());
  out += line;
}

void* Ni::peer_context(PeerId id) const noexcept {
  const SendLock::Guard guard(lock_);
  return at(id).context;
}

bool Ni::has_talked(PeerId id) const noexcept {
  const SendLock::Guard guard(lock_);
  return at(id).admitted;
}

std::size_t Ni::peer_count() const noexcept {
  const SendLock::Guard guard(lock_);
  return peers_.size();
}

std::chrono::nanoseconds Ni::wake_up_cost() const noexcept {
  return thread_ == nullptr ? std::chrono::nanoseconds(0) : thread_->wake_up_cost();
}

const Peer* Ni::peer_state(PeerId id) const noexcept {
  return id < peers_.size() ? peers_[id].get() : nullptr;
}

}  // namespace lfc
