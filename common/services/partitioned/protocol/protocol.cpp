#include "services/partitioned/protocol/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"

namespace lfc::partitioned {
namespace {

// Whether the next bytes are to be written to the receive's memory.
bool goes_direct(Sending& send, std::uint64_t least, Bytes& out) {
  Bytes run;
  if (send.token.empty() || send.opened < send.epoch || send.by_frames == send.epoch) return false;
  if (!send.readiness.next(~std::uint64_t{0}, run) || run.length < least) return false;
  out = run;
  return true;
}

// Puts the bytes into their place. False: they are more than the epoch can have.
bool place(Receiving& receive, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.size() > receive.total - receive.arrived) return false;
  if (!receive.arrivals.add(offset, bytes.size())) return false;
  const std::uint64_t capacity = receive.arrivals.capacity();
  if (offset < capacity && !bytes.empty())
    std::memcpy(receive.place + offset, bytes.data(),
                std::min<std::uint64_t>(bytes.size(), capacity - offset));
  receive.arrived += bytes.size();
  return true;
}

}  // namespace

// --- Pairing ---

Sending& Protocol::offer(const Key& key, void* owner, const std::byte* data,
                         std::uint64_t partitions, std::uint64_t each) {
  auto made = std::make_unique<Sending>(key, owner, data, partitions, each);
  Sending& send = *made;
  send.name = send_names_.enter(send);
  sends_.emplace(send.name, std::move(made));
  send.lost = carrier_.is_lost(key.peer);
  ++totals_.sends;
  Offer offer;
  offer.comm = key.comm;
  offer.number = pairing_.number_send(key.peer);
  offer.total = send.readiness.total();
  offer.name = send.name;
  offer.tag = key.tag;
  if (!send.lost) carrier_.control(key.peer, {.kind = Kind::offer}, &offer, sizeof offer);
  return send;
}

Receiving& Protocol::expect(const Key& key, void* owner, std::byte* place, std::uint64_t partitions,
                            std::uint64_t each, std::span<const std::byte> token) {
  auto made = std::make_unique<Receiving>(key, owner, place, partitions, each);
  Receiving& receive = *made;
  receive.name = receive_names_.enter(receive);
  receives_.emplace(receive.name, std::move(made));
  receive.token.assign(token.begin(), token.end());
  receive.lost = carrier_.is_lost(key.peer);
  ++totals_.receives;
  if (receive.lost) return receive;
  if (const auto offered = pairing_.expect(receive)) pair(receive, *offered);
  return receive;
}

bool Protocol::on_offer(PeerId peer, std::span<const std::byte> payload) {
  const auto offer = read_pod<Offer>(payload);
  if (!offer || payload.size() != sizeof *offer || offer->name == 0) return false;
  return pairing_.on_offer(
      peer, *offer,
      [this](Receiving& receive, const Pairing::Offered& offered) { pair(receive, offered); });
}

void Protocol::pair(Receiving& receive, const Pairing::Offered& offer) {
  receive.other = offer.name;
  receive.total = offer.total;
  // Bytes to be written directly are not sent early: they wait until their place is open.
  const bool direct = !receive.token.empty() && offer.total >= direct_.total &&
                      offer.total <= receive.arrivals.capacity();
  if (!direct) receive.token.clear();
  const std::uint64_t ahead =
      direct ? 0 : std::min(kMostAhead, kEarly / std::max<std::uint64_t>(offer.total, 1));
  receive.early.resize(ahead);
  receive.reported = receive.epoch;
  const Accept accept{receive.name, static_cast<std::uint32_t>(ahead),
                      static_cast<std::uint32_t>(receive.token.size())};
  std::byte payload[sizeof accept + kMostToken];
  std::memcpy(payload, &accept, sizeof accept);
  if (direct) std::memcpy(payload + sizeof accept, receive.token.data(), receive.token.size());
  const Head head{.kind = Kind::accept, .to = offer.name, .epoch = receive.epoch};
  carrier_.control(receive.key.peer, head, payload, sizeof accept + receive.token.size());
}

bool Protocol::on_accept(PeerId peer, const Head& head, std::span<const std::byte> payload) {
  const auto accept = read_pod<Accept>(payload);
  if (!accept || accept->name == 0 || accept->ahead > kMostAhead ||
      (accept->token != 0 && accept->token != direct_.token) ||
      payload.size() != sizeof *accept + accept->token)
    return false;
  if (!send_names_.is_known(head.to)) return false;
  Sending* const send = send_names_.find(head.to);
  if (send == nullptr) return true;  // freed
  if (send->key.peer != peer || send->other != 0) return false;
  send->other = accept->name;
  send->ahead = accept->ahead;
  const std::span<const std::byte> token = payload.subspan(sizeof *accept);
  send->token.assign(token.begin(), token.end());
  if (!token.empty()) send->enough = kEnoughDirect;
  send->opened = std::max(send->opened, head.epoch);
  if (send->active) flush(*send);
  return true;
}

void Protocol::drop(Sending& send) {
  if (send.due) std::erase(due_, &send);
  send_names_.leave(send.name);
  sends_.erase(send.name);
}

void Protocol::drop(Receiving& receive) {
  pairing_.forget(receive);
  receive_names_.leave(receive.name);
  receives_.erase(receive.name);
}

// --- Sender ---

void Protocol::start(Sending& send) {
  ++send.epoch;
  send.end_sent = send.readiness.total() != 0;
  send.readiness.restart();
  send.active = true;
  if (send.lost) {
    finish(send, Status::lost);
  } else if (send.readiness.all_ready()) {  // it has no partition
    flush(send);
  }
}

void Protocol::send_ready(Sending& send, std::uint64_t now) {
  send.last_sent = now;
  if (send.active) flush(send);
}

bool Protocol::ready(Sending& send, std::uint64_t first, std::uint64_t last, std::uint64_t now) {
  const Marked marked = send.mark(first, last);
  if (marked == Marked::refused) return false;
  if (marked == Marked::last || send.is_worth_it(now))
    send_ready(send, now);
  else
    postpone(send);
  return true;
}

void Protocol::postpone(Sending& send) {
  if (send.due) return;
  send.due = true;
  due_.push_back(&send);
  carrier_.wake();
}

void Protocol::work() {
  for (Sending* const send : std::exchange(due_, {})) {
    send->due = false;
    if (send->active) flush(*send);
  }
}

void Protocol::flush(Sending& send) {
  Head head{.kind = Kind::data, .to = send.other, .epoch = send.epoch};
  Bytes piece;
  while (send.may_send() && send.readiness.next(carrier_.room(), piece)) {
    if (goes_direct(send, direct_.run, piece)) {
      write(send, piece);
      continue;
    }
    head.offset = piece.offset;
    send.readiness.pass(piece.length);
    ++totals_.frames;
    totals_.bytes += piece.length;
    send.kept = !carrier_.data(send, head, send.data + piece.offset, piece.length);
  }
  if (!send.end_sent && send.readiness.all_ready() && send.may_send()) {
    send.end_sent = true;
    ++totals_.frames;
    send.kept = !carrier_.data(send, head, nullptr, 0);
  }
  if (send.end_sent && !send.kept && send.readiness.all_ready() && send.readiness.all_sent())
    finish(send, Status::ok);
}

// Writes bytes straight into the receive's memory. If that fails, the rest of the epoch goes in frames.
void Protocol::write(Sending& send, const Bytes& bytes) {
  if (!carrier_.write(send, bytes)) {
    send.by_frames = send.epoch;
    return;
  }
  send.readiness.pass(bytes.length);
  totals_.direct_bytes += bytes.length;
  const Placed placed{bytes.length};
  const Head head{
      .kind = Kind::placed, .to = send.other, .epoch = send.epoch, .offset = bytes.offset};
  carrier_.control(send.key.peer, head, &placed, sizeof placed);
}

void Protocol::left(std::uint64_t name) {
  Sending* const send = send_names_.find(name);
  if (send == nullptr) return;
  send->kept = false;
  if (send->active) flush(*send);
}

void Protocol::finish(Sending& send, Status status) {
  send.active = false;
  if (status == Status::ok) ++totals_.sent_epochs;
  carrier_.ended(send, status, send.readiness.total());
}

bool Protocol::on_open(PeerId peer, const Head& head) {
  if (!send_names_.is_known(head.to)) return false;
  Sending* const send = send_names_.find(head.to);
  if (send == nullptr) return true;
  if (send->key.peer != peer) return false;
  if (head.epoch <= send->opened) return true;  // a later one came before
  send->opened = head.epoch;
  if (send->active) flush(*send);
  return true;
}

// --- Receiver ---

void Protocol::start(Receiving& receive) {
  ++receive.epoch;
  receive.active = true;
  receive.arrived = 0;
  receive.arrivals.restart();
  if (receive.lost) {
    // Frames that the peer sent before it was lost may be a whole epoch.
    take_early(receive);
    if (!receive.active) return;
    receive.active = false;
    carrier_.ended(receive, Status::lost, receive.arrived);
    return;
  }
  if (receive.other == 0) return;
  report_open(receive);
  take_early(receive);
}

// Sends `open` only for every (n + 1) / 2-th epoch, because the sender may be ahead by n.
void Protocol::report_open(Receiving& receive) {
  const std::uint64_t step = std::max<std::uint64_t>(1, (receive.early.size() + 1) / 2);
  if (receive.epoch - receive.reported < step) return;
  receive.reported = receive.epoch;
  const Head head{.kind = Kind::open, .to = receive.other, .epoch = receive.epoch};
  carrier_.control(receive.key.peer, head, nullptr, 0);
}

void Protocol::take_early(Receiving& receive) {
  if (receive.early.empty()) return;
  Receiving::Early& early = receive.early[receive.epoch % receive.early.size()];
  if (!early.any) return;
  const std::span<const std::byte> frames(early.frames);
  std::size_t at = 0;
  while (at < frames.size()) {
    const auto piece = load_pod<Bytes>(frames.data() + at);
    at += sizeof piece;
    (void)place(receive, piece.offset, frames.subspan(at, piece.length));
    at += round_up(piece.length, alignof(Bytes));
  }
  early.frames.clear();
  early.bytes = 0;
  early.any = false;
  finish_if_whole(receive);
}

bool Protocol::on_data(PeerId peer, const Head& head, std::span<const std::byte> bytes) {
  if (!receive_names_.is_known(head.to)) return false;
  Receiving* const receive = receive_names_.find(head.to);
  if (receive == nullptr) return true;  // freed
  if (receive->key.peer != peer || receive->other == 0) return false;
  if (head.offset > receive->total || bytes.size() > receive->total - head.offset) return false;
  if (bytes.empty() && receive->total != 0) return false;
  if (head.epoch != receive->epoch || !receive->active) return keep_early(*receive, head, bytes);
  if (!place(*receive, head.offset, bytes)) return false;
  finish_if_whole(*receive);
  return true;
}

// Accepted only if the receive has sent its token, and has that epoch open.
bool Protocol::on_placed(PeerId peer, const Head& head, std::span<const std::byte> payload) {
  const auto placed = read_pod<Placed>(payload);
  if (!placed || payload.size() != sizeof *placed || !receive_names_.is_known(head.to))
    return false;
  Receiving* const receive = receive_names_.find(head.to);
  if (receive == nullptr) return true;  // freed
  if (receive->key.peer != peer || receive->token.empty() || !receive->active ||
      head.epoch != receive->epoch)
    return false;
  if (head.offset > receive->total || placed->length > receive->total - head.offset ||
      placed->length > receive->total - receive->arrived)
    return false;
  if (!receive->arrivals.add(head.offset, placed->length)) return false;
  receive->arrived += placed->length;
  finish_if_whole(*receive);
  return true;
}

bool Protocol::keep_early(Receiving& receive, const Head& head, std::span<const std::byte> bytes) {
  if (head.epoch <= receive.epoch || head.epoch - receive.epoch > receive.early.size())
    return false;
  Receiving::Early& early = receive.early[head.epoch % receive.early.size()];
  if (bytes.size() > receive.total - early.bytes || (bytes.empty() && early.any)) return false;
  const Bytes piece{head.offset, bytes.size()};
  const std::size_t at = early.frames.size();
  early.frames.resize(at + sizeof piece + round_up(bytes.size(), alignof(Bytes)));
  std::memcpy(early.frames.data() + at, &piece, sizeof piece);
  if (!bytes.empty())
    std::memcpy(early.frames.data() + at + sizeof piece, bytes.data(), bytes.size());
  early.bytes += bytes.size();
  early.any = true;
  ++totals_.early;
  return true;
}

// Called when bytes or an empty frame have come.
void Protocol::finish_if_whole(Receiving& receive) {
  if (receive.arrived < receive.total) return;
  receive.active = false;
  const std::uint64_t capacity = receive.arrivals.capacity();
  ++totals_.received_epochs;
  carrier_.ended(receive, receive.total > capacity ? Status::truncated : Status::ok,
                 std::min(receive.total, capacity));
}

bool Protocol::arrived(const Receiving& receive, std::uint64_t first,
                       std::uint64_t last) const noexcept {
  // Partitions without bytes arrive only at the end of the epoch.
  return receive.active && receive.arrivals.capacity() != 0 && receive.arrivals.all(first, last);
}

// --- Both ---

bool Protocol::on_frame(PeerId peer, std::span<const std::byte> frame) {
  const auto head = read_pod<Head>(frame);
  if (!head) return false;
  const std::span<const std::byte> payload = frame.subspan(sizeof *head);
  switch (head->kind) {
    case Kind::offer: return on_offer(peer, payload);
    case Kind::accept: return on_accept(peer, *head, payload);
    case Kind::open: return on_open(peer, *head);
    case Kind::data: return on_data(peer, *head, payload);
    case Kind::placed: return on_placed(peer, *head, payload);
  }
  return false;
}

void Protocol::on_lost(PeerId peer) {
  for (auto& [name, send] : sends_) {
    if (send->key.peer != peer) continue;
    send->lost = true;
    send->kept = false;
    if (send->active) finish(*send, Status::lost);
  }
  for (auto& [name, receive] : receives_) {
    if (receive->key.peer != peer) continue;
    receive->lost = true;
    if (!receive->active) continue;
    receive->active = false;
    carrier_.ended(*receive, Status::lost, receive->arrived);
  }
  pairing_.on_lost(peer);
}

}  // namespace lfc::partitioned
