#include "link/tcp/handshake.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "link/proof.hpp"

namespace lfc::tcp {
namespace {

// Decodes the header at the front of the bytes. A complete and valid one yields HeaderFault::none.
HeaderFault front_header(std::span<const std::byte> bytes, std::uint32_t key, Header& header) {
  const HeaderFault fault =
      decode_header(bytes.first(std::min(bytes.size(), sizeof header)), key, header);
  // The payload follows in the stream; the caller checks its length.
  return fault == HeaderFault::length ? HeaderFault::none : fault;
}

// Whether the error means that the peer has closed the connection.
bool is_close(int error) noexcept { return error == ECONNRESET || error == EPIPE; }

// Whether the proof comes from the process whose key our hello was made with.
bool is_reply(const Connection& connection, std::span<const std::byte> proof) {
  Key given;
  std::memcpy(&given, proof.data(), sizeof given);
  return given == ack_proof(connection.address->identity(), connection.link, connection.nonce);
}

}  // namespace

void Handshake::queue_header(Connection& connection, FrameType type, std::uint32_t key,
                             std::span<const std::byte> payload) {
  Header header;
  encode_header(header, key, kNoPeer, 0, {type}, static_cast<std::uint32_t>(payload.size()));
  connection.out.append_raw(&header, sizeof header);
  connection.out.append_raw(payload.data(), payload.size());
  it_.sending.flush_new(connection);
}

// Ends the connection, and so breaks the peer, if there is no memory for its receive buffer.
void Handshake::establish(Connection& connection) {
  connection.deadline = Clock::time_point::max();
  it_.unauthenticated.note_authenticated(connection);
  connection.state = State::established;
  if (!connection.in.grow(Inbox::kEstablished))
    it_.connections.end(connection, no_memory(connection));
}

// --- We connect ---

bool Handshake::connect(PeerId peer, const Address& address, std::string& why_not) {
  Slot& target = it_.connections.slot(peer);
  if (target.status == Slot::Status::live) return true;
  if (target.status == Slot::Status::broken) {
    why_not = "the connection was lost before";
    return false;
  }
  if (!address.has_key() || it_.routes.own_address().empty()) {
    why_not = !address.has_key() ? "the peer's key is not known"
                                 : "the link does not know its own process's address yet";
    return false;
  }
  Connection& connection = it_.connections.adopt({}, State::paused);
  connection.peer = peer;
  connection.address = address;
  if (!begin(connection, why_not)) {
    it_.connections.kill(connection);
    return false;
  }
  target = {Slot::Status::live, &connection};
  return true;
}

bool Handshake::begin(Connection& connection, std::string& why_not) {
  const std::optional<Route> route = it_.routes.to(*connection.address, why_not);
  if (!route) return false;
  connection.socket =
      Socket::connecting(route->from, route->to.ip, route->to.port, it_.socket_options, why_not);
  if (!connection.socket) return false;
  connection.link = route->link;
  connection.to = route->to.text();
  connection.from = route->from.text();
  if (it_.notice != nullptr) it_.notice("connecting to " + connection.ends() + ": " + route->why);
  connection.state = State::connecting;
  connection.since = Clock::now();
  connection.deadline = connection.since + it_.connections.options.connect_timeout;
  it_.connections.note_deadline();
  it_.connections.watch(connection, EPOLLOUT);
  return true;
}

int Handshake::connect_late(Connection& connection) {
  std::string why_not;
  if (connection.is(State::paused)) {
    if (!begin(connection, why_not)) it_.connections.end(connection, why_not);
    return 1;
  }
  if (!connection.is(State::connecting)) return 0;  // another one's end has ended it
  if (connection.socket.is_ready()) return finish_connect(connection);
  it_.connections.end(connection, no_connection(connection, ETIMEDOUT));
  return 1;
}

// Replaces a connection by one that connects after a pause.
void Handshake::connect_again(Connection& connection, bool counts, Retries::Duration least) {
  const auto pause = connection.retries.after_close(counts);
  if (!pause) {
    return it_.connections.end(
        connection, connection.ends() + ": closed the connection instead of answering hello, " +
                        std::to_string(Retries::kMost + 1) + " times in a row");
  }
  Connection& next = it_.connections.adopt({}, State::paused);
  next.peer = connection.peer;
  next.address = connection.address;
  next.retries = connection.retries;
  next.deadline = Clock::now() + std::max(*pause, least);
  it_.connections.note_deadline();
  it_.connections.slot(next.peer) = {Slot::Status::live, &next};
  it_.connections.kill(connection);
}

void Handshake::end_with_errno(Connection& connection, int error) {
  if (connection.is(State::hello_sent) && is_close(error)) return connect_again(connection, true);
  it_.connections.end_with_errno(connection, error);
}

int Handshake::finish_connect(Connection& connection) {
  const int error = connection.socket.pending_error();
  if (error != 0 && !is_close(error)) {
    it_.connections.end(connection, no_connection(connection, error));
    return 1;
  }
  if (error != 0 || connection.socket.is_closed()) {
    connect_again(connection, Clock::now() - connection.since <= Retries::kPrompt);
    return 1;
  }
  // No deadline from here on: the peer may compute for hours before it polls. If its process ends,
  // its kernel closes the connection; if its node fails, check_peers() detects the silence.
  connection.deadline = Clock::time_point::max();
  const Identity& target = connection.address->identity();
  connection.nonce = random_key();
  const HelloHead head{connection.nonce, hello_proof(target, connection.link, connection.nonce,
                                                     it_.routes.own_address())};
  std::vector<std::byte> hello(sizeof head);
  std::memcpy(hello.data(), &head, sizeof head);
  hello.insert(hello.end(), it_.routes.own_address().begin(), it_.routes.own_address().end());
  queue_header(connection, FrameType::hello, target.tag, hello);
  connection.state = State::hello_sent;
  it_.connections.watch(connection, EPOLLIN);
  return 1;
}

int Handshake::receive_reply(Connection& connection) {
  const Inbox::Got got = connection.in.read(connection.fd());
  if (got == Inbox::Got::closed || got == Inbox::Got::error) {
    end_with_errno(connection, got == Inbox::Got::closed ? ECONNRESET : errno);
    return 1;
  }
  Header header;
  const std::span<const std::byte> bytes = connection.in.bytes();
  const HeaderFault fault = front_header(bytes, it_.identity.tag, header);
  if (fault == HeaderFault::short_frame) return 0;
  const auto type = static_cast<FrameType>(header.type);
  if (fault == HeaderFault::none && header.length == 0 && type == FrameType::goodbye) {
    // The peer's connection takes precedence, and is on its way.
    connect_again(connection, true, it_.connections.options.connect_timeout);
    return 1;
  }
  const bool is_ack =
      fault == HeaderFault::none && header.length == sizeof(Key) && type == FrameType::hello_ack;
  if (is_ack && bytes.size() < sizeof header + sizeof(Key)) return 0;
  if (!is_ack || !is_reply(connection, bytes.subspan(sizeof header, sizeof(Key)))) {
    it_.counters.add(Counter::frames_dropped);
    it_.connections.end(connection,
                        connection.ends() + ": replied to the hello with another frame");
    return 1;
  }
  connection.in.consume(sizeof header + sizeof(Key));
  establish(connection);
  return 1;
}

// --- A peer connects ---

int Handshake::receive_hello(Connection& connection) {
  const Inbox::Got got = connection.in.read(connection.fd());
  if (got == Inbox::Got::nothing) return 0;
  const std::span<const std::byte> bytes = connection.in.bytes();
  const bool sent_hello = connection.is(State::waiting);
  if (got != Inbox::Got::data && (sent_hello || bytes.empty())) {
    it_.connections.end(connection, {});  // the peer ended it because two hellos crossed
    return 1;
  }
  Header header{};
  const HeaderFault fault = front_header(bytes, it_.identity.tag, header);
  const bool proper =
      got == Inbox::Got::data && !sent_hello && header.length <= sizeof(HelloHead) + kMaxAddress &&
      (fault == HeaderFault::short_frame ||
       (fault == HeaderFault::none && header.type == static_cast<std::uint8_t>(FrameType::hello)));
  const std::size_t size = sizeof header + header.length;
  if (proper && bytes.size() < size) return 0;
  // No byte may follow a hello before our reply.
  if (proper && bytes.size() == size) check_hello(connection, bytes.subspan(sizeof header));
  if (sent_hello || !connection.address) {
    it_.unauthenticated.refuse(connection);
    return 1;
  }
  connection.in.consume(size);
  connection.state = State::waiting;
  const int events = admit(connection);
  if (connection.is(State::waiting))
    it_.connections.note_deadline();  // check_time() admits it later
  return events;
}

// Takes the sender's address from a hello with a valid, unused proof for this link.
void Handshake::check_hello(Connection& connection, std::span<const std::byte> hello) {
  if (hello.size() < sizeof(HelloHead)) return;
  const auto head = load_pod<HelloHead>(hello.data());
  const std::span<const std::byte> from = hello.subspan(sizeof head);
  if (!(head.proof == hello_proof(it_.identity, it_.link.name(), head.nonce, from))) return;
  if (std::find(accepted_nonces_.begin(), accepted_nonces_.end(), head.nonce) !=
      accepted_nonces_.end())
    return;
  std::optional<Address> address = Address::parse(from);
  // A genuine address has no key, and is not this process's own.
  if (!address || address->has_key() || address->identity().name == it_.identity.name) return;
  accepted_nonces_.push_back(head.nonce);
  connection.nonce = head.nonce;
  connection.from = it_.own_ip.text();
  connection.to = connection.caller ? connection.caller->text() : "unknown";
  connection.address = std::move(address);
}

// Another connection with the same process that has not ended.
Connection* Handshake::find_other(const Connection& connection) noexcept {
  const ProcessName name = connection.address->identity().name;
  for (const auto& other : it_.connections.all()) {
    const bool counts = other->is(State::paused) || other->is(State::connecting) ||
                        other->is(State::hello_sent) || other->is(State::established);
    if (counts && other->address->identity().name == name) return other.get();
  }
  return nullptr;
}

int Handshake::admit(Connection& connection) {
  if (!connection.is(State::waiting)) return 0;
  const Address& from = *connection.address;
  Connection* const ours = find_other(connection);
  if (ours != nullptr && ours->is(State::established)) return 0;  // its end will arrive soon
  const bool we_precede = it_.identity.name.packed() < from.identity().name.packed();
  if (ours != nullptr && ours->is(State::hello_sent) && we_precede) {
    queue_header(connection, FrameType::goodbye, from.identity().tag, {});
    connection.state = State::closing;
    it_.connections.call_attention();
    return 1;
  }
  const PeerId peer = it_.sink.on_connect(it_.link, from);
  if (peer == kPeerLater) return 0;  // it stays `waiting`
  if (peer == kNoPeer) {
    it_.unauthenticated.drop(connection);
    return 1;
  }
  Slot& target = it_.connections.slot(peer);
  if (target.connection != nullptr && target.connection != ours)
    return 0;  // made by the sink in on_connect()
  if (ours != nullptr) it_.connections.kill(*ours);
  target = {Slot::Status::live, &connection};
  connection.peer = peer;
  const Key proof = ack_proof(it_.identity, it_.link.name(), connection.nonce);
  queue_header(connection, FrameType::hello_ack, from.identity().tag,
               std::as_bytes(std::span(&proof, 1)));
  establish(connection);
  return 1;
}

}  // namespace lfc::tcp
