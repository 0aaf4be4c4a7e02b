#include "services/neon/protocol/neon.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lfc::neon {
namespace {

// More frames without data waiting for room than an honest peer can bring about: one per tag and one
// per frame that its budget pays.
constexpr std::size_t kMaxControls = 1 << 18;

}  // namespace

Neon::Neon(std::uint32_t ranks, const Limits& limits, Carrier& carrier)
    : Outlet(ranks),
      limits_(limits),
      carrier_(carrier),
      peers_(ranks),
      origin_(ranks, limits, *this, carrier, statistics_),
      target_(ranks, limits, *this, carrier, statistics_),
      confirmer_(origin_, *this) {}

bool Neon::send(Rank to, Header& header, std::span<const std::byte> list,
                std::span<const std::byte> data) {
  if (is_lost(to)) return true;  // no process needs it
  header.refund = target_.collect(to);
  if (carrier_.send(to, header, list, data)) {
    ++statistics_.frames;
    return true;
  }
  target_.put_back(to, std::exchange(header.refund, 0u));
  no_room(to);
  return false;
}

bool Neon::has_room(Rank to) {
  if (is_lost(to) || carrier_.has_room(to)) return true;
  no_room(to);
  return false;
}

void Neon::no_room(Rank to) {
  if (std::exchange(peers_.at(to).stalled, true)) return;
  stalled_.push_back(to);
}

void Neon::control(Rank to, const Header& header, const Token* token) {
  Peer* const known = peers_.find(to);
  Control item{header, token != nullptr ? *token : Token{}};
  const bool first = known == nullptr || known->controls.empty();
  if (first && send(to, item.header, {}, {item.token.bytes, item.token.size})) return;
  // One waiting refund is enough: the amount is collected when it is sent.
  LazyQueue<Control>& controls = peers_.at(to).controls;
  if (header.kind == Kind::refund && !controls.empty() &&
      controls.back().header.kind == Kind::refund)
    return;
  controls.push_back(item);
}

bool Neon::pump(Rank to) {
  Peer& peer = peers_.at(to);
  while (!peer.controls.empty()) {
    Control& first = peer.controls.front();
    if (!send(to, first.header, {}, {first.token.bytes, first.token.size})) return false;
    peer.controls.pop_front();
  }
  return target_.pump(to) && origin_.pump(to);
}

bool Neon::pump() {
  std::vector<Rank> stalled = std::exchange(stalled_, {});
  for (const Rank rank : stalled) {
    peers_.at(rank).stalled = false;
    pump(rank);
  }
  return !stalled_.empty();
}

bool Neon::on_frame(Rank from, const Header& header, const std::byte* payload, std::size_t size) {
  if (from >= peers_.size() || size > std::max<std::size_t>(limits_.frame, Token::kRoom))
    return false;
  if (is_lost(from)) return true;
  const Peer* const known = peers_.find(from);
  if (known != nullptr && known->controls.size() > kMaxControls) return false;
  if (header.refund != 0 && !origin_.on_refund(from, header.refund)) return false;
  return dispatch(from, header, payload, size);
}

void Neon::on_window_notified(Rank from, std::uint32_t index) {
  if (is_lost(from)) return;
  if (Slot* const slot = carrier_.slot(index))
    slot->add(1);
  else
    ++statistics_.overruns;
}

bool Neon::dispatch(Rank from, const Header& header, const std::byte* payload, std::size_t size) {
  switch (header.kind) {
    case Kind::data: return target_.on_data(from, header, payload, size);
    case Kind::get: return size == 0 && target_.on_get(from, header);
    case Kind::reply: return origin_.on_reply(from, header, payload, size);
    case Kind::want: return size == 0 && target_.on_want(from, header);
    case Kind::grant: {
      Token token;
      if (size > Token::kRoom) return false;
      token.size = static_cast<std::uint32_t>(size);
      if (size > 0) std::memcpy(token.bytes, payload, size);
      return origin_.on_grant(from, header, token);
    }
    case Kind::refund: return size == 0;
    case Kind::recalled: return size == 0 && target_.on_recalled(from, header);
    case Kind::confirm: return size == 0 && target_.on_confirm(from, header);
    case Kind::confirmed: return size == 0 && confirmer_.on_confirmed(from, header);
    case Kind::delivered: return size == 0 && origin_.on_delivered(from, header);
    case Kind::put_notify:
    case Kind::put_runs: return target_.on_put_notify(from, header, payload, size);
    case Kind::get_notify: return size == 0 && target_.on_get_notify(from, header);
  }
  return false;
}

void Neon::on_lost(Rank peer) {
  if (peer >= peers_.size() || is_lost(peer)) return;
  note_loss(peer);
  if (Peer* const gone = peers_.find(peer)) gone->controls.clear();
  origin_.on_lost(peer);
  target_.on_lost(peer);
  confirmer_.on_lost(peer);
}

}  // namespace lfc::neon
