// Connections before they are established. Nothing that a stranger sends is believed before its
// hello has been checked (proof.hpp); whoever does not say a proper hello in time is dropped and counted.
//
// When two processes connect to each other at once, the connection made by the one with the lower
// name stays: that one answers the other's hello with goodbye, the other gives its own up as soon
// as it sees either.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/proof.hpp"
#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

// How long a stranger may be silent although others wait for its place.
constexpr std::chrono::milliseconds kGrace{100};

// Wrong hellos in a second. Each may be a guess at a proof.
constexpr std::size_t kFailures = 256;
constexpr std::chrono::seconds kFailurePeriod{1};

bool lacks_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// The header at the front of the bytes. A complete and proper one yields HeaderFault::none.
HeaderFault front_header(std::span<const std::byte> bytes, std::uint32_t key, Header& header) {
  const HeaderFault fault =
      decode_header(bytes.first(std::min(bytes.size(), sizeof header)), key, header);
  // The payload follows in the stream; its length is for the caller to judge.
  return fault == HeaderFault::length ? HeaderFault::none : fault;
}

// Whether the proof comes from the process whose key our hello was made with.
bool is_answer(const Connection& connection, std::span<const std::byte> proof) {
  Key given;
  std::memcpy(&given, proof.data(), sizeof given);
  return given == ack_proof(connection.address->identity(), connection.link, connection.nonce);
}

}  // namespace

int TcpLink::accept_strangers() {
  int accepted = 0;
  if (failed_ != 0 && Clock::now() >= forget_failures_) failed_ = 0;
  const auto is_room = [this] {
    return strangers_ < limits::kTcpStrangers && strangers_ + failed_ < kFailures;
  };
  std::size_t which = 0;
  while (is_room()) {
    Socket socket = listeners_[which].accepted(socket_options_);
    if (!socket && !lacks_resources(errno) && ++which < listeners_.size()) continue;
    if (!socket && !lacks_resources(errno)) return accepted;
    if (!socket) break;
    ++accepted;
    const SendLock::Guard guard(lock_);
    Connection& connection = adopt(std::move(socket), State::greeting);
    connection.stranger = true;
    ++strangers_;
    connection.deadline = Clock::now() + options_.connect_timeout;
    timed_.store(true, std::memory_order_relaxed);
    watch(connection, EPOLLIN);
  }
  return accepted + make_room();
}

// For those that wait to be accepted: the stranger that has been silent longest goes, once it has had
// its time. Until then nobody listens, for there would be something to hear at every poll. Who has spoken,
// and has not been heard because we were away, is not silent.
int TcpLink::make_room() {
  const SendLock::Guard guard(lock_);
  const Clock::time_point now = Clock::now();
  Connection* oldest = nullptr;
  for (const auto& connection : connections_)
    if (connection->is(State::greeting) && !connection->socket.has_bytes() &&
        (oldest == nullptr || connection->deadline < oldest->deadline))
      oldest = connection.get();
  if (oldest != nullptr && oldest->deadline - options_.connect_timeout + kGrace <= now) {
    drop_stranger(*oldest);
    return 1;
  }
  listen_again_ = now + kGrace;
  timed_.store(true, std::memory_order_relaxed);
  listen(false);
  return 0;
}

void TcpLink::listen(bool on) noexcept {
  epoll_event event{};
  event.events = on ? EPOLLIN : 0u;
  for (const Socket& listener : listeners_)
    static_cast<void>(::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, listener.fd(), &event));
}

void TcpLink::drop_stranger(Connection& connection) noexcept {
  counters_.add(Counter::frames_dropped);
  connection.state.store(State::dead, std::memory_order_release);
  attention_.store(true, std::memory_order_relaxed);
}

// The lock is held.
void TcpLink::queue_header(Connection& connection, FrameType type, std::uint32_t key,
                           std::span<const std::byte> payload) {
  Header header;
  encode_header(header, key, kNoPeer, 0, {type}, static_cast<std::uint32_t>(payload.size()));
  connection.out.append_raw(&header, sizeof header);
  connection.out.append_raw(payload.data(), payload.size());
  if (connection.out.flush(connection.fd()) < 0) fail(connection, errno);
  sent_something(connection);
}

// The lock is held.
void TcpLink::establish(Connection& connection) noexcept {
  connection.deadline = Clock::time_point::max();
  connection.in.grow(Inbox::kEstablished);
  if (connection.stranger) --strangers_;
  connection.stranger = false;
  connection.state.store(State::established, std::memory_order_release);
}

// --- We connect ---

int TcpLink::finish_connect(Connection& connection) {
  if (const int error = connection.socket.pending_error(); error != 0) {
    end(connection, no_connection(connection, error));
    return 1;
  }
  const SendLock::Guard guard(lock_);
  if (!connection.is(State::connecting)) return 0;  // closed meanwhile
  // No deadline from here on: the peer may compute for hours before it polls. If it dies, its
  // kernel says so; if its host does, silence tells.
  connection.deadline = Clock::time_point::max();
  const Identity& target = connection.address->identity();
  connection.nonce = random_key();
  const HelloHead head{connection.nonce,
                       hello_proof(target, connection.link, connection.nonce, own_address_)};
  std::vector<std::byte> hello(sizeof head);
  std::memcpy(hello.data(), &head, sizeof head);
  hello.insert(hello.end(), own_address_.begin(), own_address_.end());
  queue_header(connection, FrameType::hello, target.tag, hello);
  connection.state.store(State::hello_sent, std::memory_order_release);
  watch(connection, EPOLLIN);
  return 1;
}

int TcpLink::await_ack(Connection& connection) {
  const Inbox::Got got = connection.in.read(connection.fd());
  if (got == Inbox::Got::closed) {
    end(connection, connection.ends() + ": closed the connection instead of answering hello");
    return 1;
  }
  if (got == Inbox::Got::error) {
    end_with_errno(connection, errno);
    return 1;
  }
  Header header;
  const std::span<const std::byte> bytes = connection.in.bytes();
  const HeaderFault fault = front_header(bytes, identity_.tag, header);
  if (fault == HeaderFault::short_frame) return 0;
  const auto type = static_cast<FrameType>(header.type);
  if (fault == HeaderFault::none && header.length == 0 && type == FrameType::goodbye) {
    crossed(connection);
    return 1;
  }
  const bool is_ack =
      fault == HeaderFault::none && header.length == sizeof(Key) && type == FrameType::hello_ack;
  if (is_ack && bytes.size() < sizeof header + sizeof(Key)) return 0;
  if (!is_ack || !is_answer(connection, bytes.subspan(sizeof header, sizeof(Key)))) {
    counters_.add(Counter::frames_dropped);
    end(connection, connection.ends() + ": answered hello with something else");
    return 1;
  }
  connection.in.consume(sizeof header + sizeof(Key));
  {
    const SendLock::Guard guard(lock_);
    if (!connection.is(State::hello_sent)) return 0;
    establish(connection);
  }
  return 1 + receive(connection);
}

// The peer's connection is on its way, and takes precedence.
void TcpLink::crossed(Connection& connection) {
  {
    const SendLock::Guard guard(lock_);
    const PeerId peer = connection.peer;
    if (slots_[peer].connection == &connection) {
      slots_[peer] = {Slot::Status::crossed, nullptr, Clock::now() + options_.connect_timeout};
      timed_.store(true, std::memory_order_relaxed);
    }
  }
  end(connection, {});
}

// --- A peer connects ---

int TcpLink::greet(Connection& connection) {
  const Inbox::Got got = connection.in.read(connection.fd());
  if (got == Inbox::Got::nothing) return 0;
  const std::span<const std::byte> bytes = connection.in.bytes();
  const bool said_hello = connection.is(State::waiting);
  if (got != Inbox::Got::data && (said_hello || bytes.empty())) {
    end(connection, {});  // it gave up because its hello and ours crossed: no stranger
    return 1;
  }
  Header header{};
  const HeaderFault fault = front_header(bytes, identity_.tag, header);
  const bool proper =
      got == Inbox::Got::data && !said_hello && header.length <= sizeof(HelloHead) + kMaxAddress &&
      (fault == HeaderFault::short_frame ||
       (fault == HeaderFault::none && header.type == static_cast<std::uint8_t>(FrameType::hello)));
  const std::size_t size = sizeof header + header.length;
  if (proper && bytes.size() < size) return 0;
  // Nothing may follow a hello before it is answered.
  if (proper && bytes.size() == size) believe(connection, bytes.subspan(sizeof header));
  if (said_hello || !connection.address) {
    if (failed_++ == 0) forget_failures_ = Clock::now() + kFailurePeriod;
    drop_stranger(connection);
    return 1;
  }
  connection.in.consume(size);
  connection.state.store(State::waiting, std::memory_order_release);
  return admit(connection);
}

// Takes the sender's address from a hello whose proof is right, for us, and new.
void TcpLink::believe(Connection& connection, std::span<const std::byte> hello) {
  if (hello.size() < sizeof(HelloHead)) return;
  const auto head = load_pod<HelloHead>(hello.data());
  const std::span<const std::byte> from = hello.subspan(sizeof head);
  if (!(head.proof == hello_proof(identity_, name(), head.nonce, from))) return;
  if (std::find(heard_.begin(), heard_.end(), head.nonce) != heard_.end()) return;
  std::optional<Address> address = Address::parse(from);
  // Nobody sends a key; nor do we connect to ourselves.
  if (!address || address->has_key() || address->identity().name == identity_.name) return;
  heard_.push_back(head.nonce);
  connection.nonce = head.nonce;
  connection.from = options_.interface.address.text();
  connection.to = connection.socket.peer_address();
  connection.address = std::move(address);
}

// Another connection with the same process that has not ended. The lock is held.
Connection* TcpLink::find_other(const Connection& connection) noexcept {
  const ProcessName name = connection.address->identity().name;
  for (const auto& other : connections_) {
    const bool counts = other->is(State::connecting) || other->is(State::hello_sent) ||
                        other->is(State::established);
    if (counts && other->address->identity().name == name) return other.get();
  }
  return nullptr;
}

int TcpLink::admit(Connection& connection) {
  if (!connection.is(State::waiting)) return 0;
  const Address& from = *connection.address;
  Connection* ours = nullptr;
  {
    const SendLock::Guard guard(lock_);
    ours = find_other(connection);
    if (ours != nullptr && ours->is(State::established)) return 0;  // its end is on its way
    const bool we_precede = identity_.name.packed() < from.identity().name.packed();
    if (ours != nullptr && ours->is(State::hello_sent) && we_precede) {
      queue_header(connection, FrameType::goodbye, from.identity().tag, {});
      connection.state.store(State::closing, std::memory_order_release);
      attention_.store(true, std::memory_order_relaxed);
      return 1;
    }
  }
  const PeerId peer = sink_.on_connect(*this, from);
  if (peer == kNoPeer) {
    drop_stranger(connection);
    return 1;
  }
  const SendLock::Guard guard(lock_);
  Slot& target = slot(peer);
  if (target.connection != nullptr && target.connection != ours) return 0;  // made while we asked
  if (ours != nullptr) {
    ours->state.store(State::dead, std::memory_order_release);
    attention_.store(true, std::memory_order_relaxed);
  }
  target = {Slot::Status::live, &connection, {}};
  connection.peer = peer;
  const Key proof = ack_proof(identity_, name(), connection.nonce);
  queue_header(connection, FrameType::hello_ack, from.identity().tag,
               std::as_bytes(std::span(&proof, 1)));
  establish(connection);
  return 1;
}

}  // namespace lfc::tcp
