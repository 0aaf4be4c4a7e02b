#include "link/verbs/handshake.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lfc::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestRepeat = 2s;
constexpr auto kNoRoom = 1ms;

}  // namespace

bool Handshake::open(std::string& why_not) {
  if (!datagrams_.open(*shared_.device, why_not)) return false;
  const Choice& choice = shared_.device->choice();
  if (choice.interface) liveness_port_.open(choice.interface->address);
  shared_.here.datagram_pair = datagrams_.own().queue_pair;
  shared_.here.key = datagrams_.own().key;
  shared_.here.liveness_port = liveness_port_.port();
  return true;
}

void Handshake::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

void Handshake::request(Connection& connection) {
  connection.our_nonce = random_key();
  connection.wanted = connection.repeats_request = true;
  connections_.add_pending(connection);
}

bool Handshake::send_hello(Connection& connection, HelloPart::Kind kind) noexcept {
  const bool is_reply = kind == HelloPart::Kind::reply;
  HelloPart head;
  head.tag = connection.identity.tag;
  head.kind = kind;
  head.offer = connection.ours;
  head.nonce = is_reply ? connection.their_nonce : connection.our_nonce;
  std::span<const std::byte> address;
  if (kind == HelloPart::Kind::request) address = own_address_;
  head.proof = proof_of(head, is_reply ? shared_.identity : connection.identity,
                        shared_.link.name(), address);
  bool all = true;
  for (const auto& part : encode(head, address, datagrams_.room()))
    all = datagrams_.send(connection.way.get(),
                          {connection.there.datagram_pair, connection.there.key}, part) &&
          all;
  return all;
}

void Handshake::on_datagram(std::span<const std::byte> bytes) noexcept {
  const Hello* hello = ending_ ? nullptr : inbox_.accept(bytes);
  if (hello == nullptr) return;
  shared_.is_unresponsive = false;
  switch (hello->head.kind) {
    case HelloPart::Kind::request: return on_request(*hello);
    case HelloPart::Kind::reply: return on_reply(*hello);
    case HelloPart::Kind::gone: return on_gone(*hello);
    case HelloPart::Kind::refused: return on_refused(*hello);
  }
}

void Handshake::on_request(const Hello& hello) {
  const Key& nonce = hello.head.nonce;
  for (const auto& known : connections_.all()) {
    if (!(known->their_nonce == nonce)) continue;
    // Our reply got lost, or is on its way.
    known->repeats_reply = known->state == State::setting_up || known->state == State::open;
    if (known->repeats_reply) connections_.add_pending(*known);
    return;
  }
  const std::optional<Address> from = Address::parse(hello.address);
  const bool proven = hello.head.proof ==
                      proof_of(hello.head, shared_.identity, shared_.link.name(), hello.address);
  if (!proven || !from || from->has_key() || from->identity().name == shared_.identity.name)
    return shared_.counters.add(Counter::frames_dropped);
  const PeerId peer = shared_.sink.on_connect(shared_.link, *from);
  if (peer == kNoPeer) return shared_.counters.add(Counter::frames_dropped);
  Connection* connection = connections_.of(peer);
  const bool over = connection != nullptr &&
                    (connection->state == State::closing || connection->state == State::closed);
  std::string why_not;
  if (connection == nullptr || over) {
    connection = connections_.make(peer, *from, why_not);
    if (connection == nullptr) return refuse(hello, *from);
  } else if (connection->state != State::setting_up || connection->their_nonce) {
    return;  // the end of the earlier connection is on its way
  }
  connection->their_nonce = nonce;
  if (!connection->connected) {
    connection->theirs = hello.head.offer;
    if (!connections_.connect(*connection, why_not))
      return connections_.break_off(*connection, why_not);
  }
  connection->repeats_reply = true;
  connection->next_try = {};
  connections_.add_pending(*connection);
}

void Handshake::on_reply(const Hello& hello) {
  for (const auto& connection : connections_.all()) {
    if (!connection->our_nonce || !(connection->our_nonce == hello.head.nonce)) continue;
    if (!(hello.head.proof == proof_of(hello.head, connection->identity, shared_.link.name(), {})))
      return shared_.counters.add(Counter::frames_dropped);
    if (connection->state == State::closed || connection->state == State::broken) {
      static_cast<void>(send_hello(*connection, HelloPart::Kind::gone));
      return;
    }
    if (connection->state != State::setting_up) return;
    // We are connected to the queue pair of the peer's own request, which the peer has given up since.
    if (connection->connected && !(connection->theirs == hello.head.offer))
      return start_over(*connection);
    std::string why_not;
    connection->theirs = hello.head.offer;
    if (!connection->connected && !connections_.connect(*connection, why_not))
      return connections_.break_off(*connection, why_not);
    connection->state = State::open;
    frames_.send_note(*connection, kOpen);
    return;
  }
}

void Handshake::on_gone(const Hello& hello) {
  for (const auto& connection : connections_.all()) {
    if (connection->state != State::setting_up || !(connection->their_nonce == hello.head.nonce))
      continue;
    if (!(hello.head.proof == proof_of(hello.head, shared_.identity, shared_.link.name(), {})))
      return;
    // The peer has given up its request; we may want the connection nevertheless.
    return connection->wanted ? start_over(*connection) : connections_.forget(*connection);
  }
}

void Handshake::refuse(const Hello& request, const Address& from) noexcept {
  shared_.counters.add(Counter::frames_dropped);
  const std::optional<Endpoint> there = endpoint_of(from, shared_.link.name());
  ibv_ah* const way = there ? way_back(*there) : nullptr;
  if (way == nullptr) return;
  HelloPart head;
  head.tag = from.identity().tag;
  head.kind = HelloPart::Kind::refused;
  head.nonce = request.head.nonce;
  head.proof = proof_of(head, shared_.identity, shared_.link.name(), {});
  // If it gets lost, the request comes again.
  for (const auto& part : encode(head, {}, datagrams_.room()))
    static_cast<void>(datagrams_.send(way, {there->datagram_pair, there->key}, part));
}

ibv_ah* Handshake::way_back(const Endpoint& there) noexcept {
  const Device& device = *shared_.device;
  ibv_ah_attr way = device.way_to(there.gid, there.lid);
  Handle<ibv_ah> made = own(device.api().create_ah(device.domain(), &way), device.api().destroy_ah);
  if (!made) return nullptr;
  // No more than kSends datagrams are on their way out at a time.
  if (ways_back_.size() == Datagrams::kSends) ways_back_.pop_front();
  return ways_back_.emplace_back(std::move(made)).get();
}

void Handshake::on_refused(const Hello& hello) {
  for (const auto& connection : connections_.all()) {
    if (!connection->our_nonce || !(connection->our_nonce == hello.head.nonce)) continue;
    if (connection->state != State::setting_up || connection->their_nonce) return;
    if (!(hello.head.proof == proof_of(hello.head, connection->identity, shared_.link.name(), {})))
      return shared_.counters.add(Counter::frames_dropped);
    const std::string why =
        connections_.ends_of(*connection) + ": the peer has no room for a connection";
    if (shared_.sink.on_unanswered(connection->peer, shared_.link, why))
      return connections_.forget(*connection);
    return connections_.break_off(*connection, "the peer has no room for a connection");
  }
}

void Handshake::start_over(Connection& connection) {
  std::string why_not;
  if (Connection* next = connections_.replace(connection, why_not)) return request(*next);
  shared_.sink.on_broken(connection.peer, shared_.link,
                         connections_.ends_of(connection) + ": " + why_not);
}

bool Handshake::proceed(Connection& connection, Clock::time_point now) noexcept {
  if (now < connection.next_try) return true;
  if (now >= connection.silent_from) {
    if (is_gone(connection)) {
      connections_.break_off(connection, "the peer process has ended");
      return false;
    }
    if (is_in_vain(connection)) {
      connections_.forget(connection);
      return false;
    }
  }
  bool all = true;
  if (connection.repeats_reply) all = send_hello(connection, HelloPart::Kind::reply);
  if (connection.repeats_request) all = send_hello(connection, HelloPart::Kind::request) && all;
  connection.next_try = now + (all ? connection.repeat_after : Clock::duration(kNoRoom));
  if (all)
    connection.repeat_after =
        std::min<Clock::duration>(connection.repeat_after * 2, kLongestRepeat);
  return true;
}

bool Handshake::is_gone(Connection& connection) noexcept {
  if (connection.there.liveness_port == 0) return false;
  Gid gid;
  gid.raw = connection.there.gid;
  IpAddress address = gid.ip();
  address.scope = shared_.device->choice().interface->address.scope;
  return connection.probe.refused(address, connection.there.liveness_port);
}

// False for a peer that has received our reply: it may have opened the connection and sent frames on it.
bool Handshake::is_in_vain(const Connection& connection) noexcept {
  if (!connection.repeats_request || connection.their_nonce) return false;
  const bool in_vain = shared_.sink.on_unanswered(
      connection.peer, shared_.link,
      "no reply from the peer (" + connections_.ends_of(connection) + ")");
  // Further peers on a network that does not carry datagrams are given up sooner.
  if (in_vain) shared_.is_unresponsive = true;
  return in_vain;
}

bool Handshake::repeat_reply(Connection& connection) noexcept {
  if (connection.repeats_reply && send_hello(connection, HelloPart::Kind::reply))
    connection.repeats_reply = false;
  return connection.repeats_reply;
}

}  // namespace lfc::verbs
