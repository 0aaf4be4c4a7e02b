#include "link/verbs/greeter.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lfc::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestRepeat = 2s;
constexpr auto kNoRoom = 1ms;

}  // namespace

bool Greeter::open(std::string& why_not) {
  if (!datagrams_.open(*shared_.device, why_not)) return false;
  const Choice& choice = shared_.device->choice();
  if (choice.interface) door_.open(choice.interface->address);
  shared_.here.greeter = datagrams_.own().queue_pair;
  shared_.here.key = datagrams_.own().key;
  shared_.here.door = door_.port();
  return true;
}

void Greeter::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

void Greeter::ask(Channel& channel) {
  channel.our_nonce = random_key();
  channel.wanted = channel.asks = true;
  channels_.attend(channel);
}

bool Greeter::say(Channel& channel, HelloPart::Kind kind) noexcept {
  const bool answer = kind == HelloPart::Kind::answer;
  HelloPart head;
  head.tag = channel.identity.tag;
  head.kind = kind;
  head.offer = channel.ours;
  head.nonce = answer ? channel.their_nonce : channel.our_nonce;
  std::span<const std::byte> address;
  if (kind == HelloPart::Kind::ask) address = own_address_;
  head.proof =
      proof_of(head, answer ? shared_.identity : channel.identity, shared_.link.name(), address);
  bool all = true;
  for (const auto& part : encode(head, address, datagrams_.room()))
    all =
        datagrams_.send(channel.way.get(), {channel.there.greeter, channel.there.key}, part) && all;
  return all;
}

void Greeter::on_datagram(std::span<const std::byte> bytes) noexcept {
  const Hello* hello = ending_ ? nullptr : inbox_.accept(bytes);
  if (hello == nullptr) return;
  shared_.is_mute = false;
  switch (hello->head.kind) {
    case HelloPart::Kind::ask: return on_ask(*hello);
    case HelloPart::Kind::answer: return on_answer(*hello);
    case HelloPart::Kind::gone: return on_gone(*hello);
    case HelloPart::Kind::refused: return on_refused(*hello);
  }
}

void Greeter::on_ask(const Hello& hello) {
  const Key& nonce = hello.head.nonce;
  for (const auto& known : channels_.all()) {
    if (!(known->their_nonce == nonce)) continue;
    // Our answer got lost, or is on its way.
    known->answers = known->state == State::setting_up || known->state == State::open;
    if (known->answers) channels_.attend(*known);
    return;
  }
  const std::optional<Address> from = Address::parse(hello.address);
  const bool proven = hello.head.proof ==
                      proof_of(hello.head, shared_.identity, shared_.link.name(), hello.address);
  if (!proven || !from || from->has_key() || from->identity().name == shared_.identity.name)
    return shared_.counters.add(Counter::frames_dropped);
  const PeerId peer = shared_.sink.on_connect(shared_.link, *from);
  if (peer == kNoPeer) return shared_.counters.add(Counter::frames_dropped);
  Channel* channel = channels_.of(peer);
  const bool over =
      channel != nullptr && (channel->state == State::closing || channel->state == State::closed);
  std::string why_not;
  if (channel == nullptr || over) {
    channel = channels_.make(peer, *from, why_not);
    if (channel == nullptr) return refuse(hello, *from);
  } else if (channel->state != State::setting_up || channel->their_nonce) {
    return;  // the end of the earlier one is on its way
  }
  channel->their_nonce = nonce;
  if (!channel->connected) {
    channel->theirs = hello.head.offer;
    if (!channels_.connect(*channel, why_not)) return channels_.break_off(*channel, why_not);
  }
  channel->answers = true;
  channel->next_try = {};
  channels_.attend(*channel);
}

void Greeter::on_answer(const Hello& hello) {
  for (const auto& channel : channels_.all()) {
    if (!channel->our_nonce || !(channel->our_nonce == hello.head.nonce)) continue;
    if (!(hello.head.proof == proof_of(hello.head, channel->identity, shared_.link.name(), {})))
      return shared_.counters.add(Counter::frames_dropped);
    if (channel->state == State::closed || channel->state == State::broken) {
      static_cast<void>(say(*channel, HelloPart::Kind::gone));
      return;
    }
    if (channel->state != State::setting_up) return;
    // We are connected to what it has asked with, and has given up since.
    if (channel->connected && !(channel->theirs == hello.head.offer)) return start_over(*channel);
    std::string why_not;
    channel->theirs = hello.head.offer;
    if (!channel->connected && !channels_.connect(*channel, why_not))
      return channels_.break_off(*channel, why_not);
    channel->state = State::open;
    frames_.send_note(*channel, kOpen);
    return;
  }
}

void Greeter::on_gone(const Hello& hello) {
  for (const auto& channel : channels_.all()) {
    if (channel->state != State::setting_up || !(channel->their_nonce == hello.head.nonce))
      continue;
    if (!(hello.head.proof == proof_of(hello.head, shared_.identity, shared_.link.name(), {})))
      return;
    // It has given up what it has asked for; we may want it nevertheless.
    return channel->wanted ? start_over(*channel) : channels_.forget(*channel);
  }
}

void Greeter::refuse(const Hello& ask, const Address& from) noexcept {
  shared_.counters.add(Counter::frames_dropped);
  const std::optional<Endpoint> there = endpoint_of(from, shared_.link.name());
  ibv_ah* const way = there ? way_back(*there) : nullptr;
  if (way == nullptr) return;
  HelloPart head;
  head.tag = from.identity().tag;
  head.kind = HelloPart::Kind::refused;
  head.nonce = ask.head.nonce;
  head.proof = proof_of(head, shared_.identity, shared_.link.name(), {});
  // If it gets lost, the ask comes again.
  for (const auto& part : encode(head, {}, datagrams_.room()))
    static_cast<void>(datagrams_.send(way, {there->greeter, there->key}, part));
}

ibv_ah* Greeter::way_back(const Endpoint& there) noexcept {
  const Device& device = *shared_.device;
  ibv_ah_attr way = device.way_to(there.gid, there.lid);
  Handle<ibv_ah> made = own(device.api().create_ah(device.domain(), &way), device.api().destroy_ah);
  if (!made) return nullptr;
  // No more datagrams than that are on their way out at a time.
  if (ways_back_.size() == Datagrams::kSends) ways_back_.pop_front();
  return ways_back_.emplace_back(std::move(made)).get();
}

void Greeter::on_refused(const Hello& hello) {
  for (const auto& channel : channels_.all()) {
    if (!channel->our_nonce || !(channel->our_nonce == hello.head.nonce)) continue;
    if (channel->state != State::setting_up || channel->their_nonce) return;
    if (!(hello.head.proof == proof_of(hello.head, channel->identity, shared_.link.name(), {})))
      return shared_.counters.add(Counter::frames_dropped);
    const std::string why = channels_.ends_of(*channel) + ": the peer has no room for a connection";
    if (shared_.sink.on_unanswered(channel->peer, shared_.link, why))
      return channels_.forget(*channel);
    return channels_.break_off(*channel, "the peer has no room for a connection");
  }
}

void Greeter::start_over(Channel& channel) {
  std::string why_not;
  if (Channel* next = channels_.replace(channel, why_not)) return ask(*next);
  shared_.sink.on_broken(channel.peer, shared_.link, channels_.ends_of(channel) + ": " + why_not);
}

bool Greeter::greet(Channel& channel, Clock::time_point now) noexcept {
  if (now < channel.next_try) return true;
  if (now >= channel.silent_from) {
    if (is_gone(channel)) {
      channels_.break_off(channel, "no process answers there any more");
      return false;
    }
    if (is_in_vain(channel)) {
      channels_.forget(channel);
      return false;
    }
  }
  bool all = true;
  if (channel.answers) all = say(channel, HelloPart::Kind::answer);
  if (channel.asks) all = say(channel, HelloPart::Kind::ask) && all;
  channel.next_try = now + (all ? channel.repeat_after : Clock::duration(kNoRoom));
  if (all)
    channel.repeat_after = std::min<Clock::duration>(channel.repeat_after * 2, kLongestRepeat);
  return true;
}

bool Greeter::is_gone(Channel& channel) noexcept {
  if (channel.there.door == 0) return false;
  Gid gid;
  gid.raw = channel.there.gid;
  IpAddress address = gid.ip();
  address.scope = shared_.device->choice().interface->address.scope;
  return channel.knock.refused(address, channel.there.door);
}

// A peer that has been answered may have opened the connection, and sent on it.
bool Greeter::is_in_vain(const Channel& channel) noexcept {
  if (!channel.asks || channel.their_nonce) return false;
  const bool in_vain = shared_.sink.on_unanswered(
      channel.peer, shared_.link, "nobody answers (" + channels_.ends_of(channel) + ")");
  // A network that does not carry this is not waited for again and again.
  if (in_vain) shared_.is_mute = true;
  return in_vain;
}

bool Greeter::repeat_answer(Channel& channel) noexcept {
  if (channel.answers && say(channel, HelloPart::Kind::answer)) channel.answers = false;
  return channel.answers;
}

}  // namespace lfc::verbs
