#include "link/tcp/tcp_link.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/tcp/pairs.hpp"
#include "link/tcp/tcp_link_impl.hpp"
#include "wire/node_name.hpp"

namespace lfc::tcp {
namespace {

constexpr std::chrono::milliseconds kLinger{1000};  // for frames not yet written, at the very end
constexpr std::uint64_t kTimePeriod = 256;          // polls between looks at the clock

SocketOptions socket_options(const TcpOptions& options) noexcept {
  return {options.send_buffer, options.receive_buffer,
          std::max(std::chrono::seconds(1),
                   std::chrono::duration_cast<std::chrono::seconds>(options.peer_timeout))};
}

// Replaces kByInterface by a size for the interface's speed.
TcpOptions resolved(TcpOptions options) noexcept {
  constexpr int kBuffer = 128 * 1024;
  constexpr unsigned kSlowEnough = 10'000;  // Mbit/s: the buffer lasts for a round trip of 100 us
  if (options.send_buffer == TcpOptions::kByInterface)
    options.send_buffer =
        options.interface.megabits <= kSlowEnough ? kBuffer : TcpOptions::kByKernel;
  return options;
}

}  // namespace

TcpLink::TcpLink(const TcpOptions& options, const Identity& identity, FrameSink& sink,
                 Counters& counters)
    : Link({.name = options.name,
            .kind = LinkTraits::Kind::tcp,
            .wakes = true,
            .remote_memory = true,
            .message_payload = limits::kTcpMessage,
            .placed_payload = limits::kTcpPlaced}),
      options_(resolved(options)),
      socket_options_(socket_options(options_)),
      identity_(identity),
      routes_(options_.name, options_.interface, options_.others),
      connections_(*this, sink, {options_.connect_timeout, options_.peer_timeout}),
      sending_(connections_, sink, counters),
      active_(connections_),
      receiving_(connections_, sending_, active_, sink, counters),
      unauthenticated_(connections_, counters, socket_options_, options_.warning),
      handshake_({connections_, sending_, unauthenticated_, routes_, *this, sink, counters,
                  identity_, socket_options_, options_.interface.address, options_.notice}),
      timeouts_(connections_, sending_, active_, unauthenticated_, handshake_) {
  traits_.lender = &connections_;
}

bool TcpLink::open(std::string& why_not) {
  std::vector<Interface> addresses{options_.interface};
  addresses.insert(addresses.end(), options_.others.begin(), options_.others.end());
  for (const Interface& each : addresses) {
    Endpoint endpoint{
        each.address,  0,          each.prefix,    options_.interface.megabits, each.gateway,
        each.standard, node_tag(), options_.strand};
    if (unauthenticated_.listen_on(each.address, options_.ports, endpoint.port, why_not)) {
      routes_.listen_at(endpoint);
    } else if (!unauthenticated_.listens()) {
      return false;
    } else {
      break;
    }
  }
  if (connections_.waiting.open() && unauthenticated_.watch_listeners()) return true;
  why_not = std::string("epoll_create1, timerfd_create: ") + std::strerror(errno);
  return false;
}

// Sends goodbye to all peers, and waits up to kLinger until unsent bytes have left.
TcpLink::~TcpLink() {
  for (PeerId peer = 0; peer < connections_.slots().size(); ++peer) close(peer);
  const auto deadline = Clock::now() + kLinger;
  while (!drained() && Clock::now() < deadline) {
    sending_.begin_tick();  // a stuck outbox is not tried at every tick
    if (sending_.flush_unsent() == 0) ::usleep(100);
  }
  for (const auto& connection : connections_.all()) {
    ::shutdown(connection->fd(), SHUT_WR);
    timeouts_.discard(*connection);  // unread bytes would turn the orderly end into a reset
  }
}

void TcpLink::publish(AddressWriter& writer) const {
  writer.add(name(), section_of(routes_.endpoints()));
  if (rail_number(name()) != 0) return;
  std::array<char, 32> host{};  // for messages to the user
  ::gethostname(host.data(), host.size() - 1);
  writer.add(kNodeNameSection, std::as_bytes(std::span(host).first(std::strlen(host.data()))));
}

bool TcpLink::reach(const Address& peer, std::string& why_not) {
  if (peer.identity().name == identity_.name) {
    why_not = "it is this process itself";
    return false;
  }
  const std::optional<Route> route = routes_.reach(peer, why_not);
  if (route) unauthenticated_.expect(route->to.ip);
  return route.has_value();
}

// --- Connections ---

void TcpLink::abandon(PeerId peer) noexcept {
  Connection* connection = connections_.release(peer);
  if (connection != nullptr) connection->state = State::dead;
}

void TcpLink::close(PeerId peer) noexcept {
  Connection* connection = connections_.release(peer);
  if (connection == nullptr) return;
  if (!connection->is(State::established)) {
    connection->state = State::dead;
    return;
  }
  // The replies to the peer's gets are void now. A put of ours may not continue, because the caller
  // takes its memory back.
  connection->out.abandon_bulk();
  const SendStatus status =
      connection->out.send(connection->fd(), {0, kGoodbye, 0, 0}, nullptr, 0, Outbox::Class::reply);
  const State next = status == SendStatus::sent ? State::closing : State::dead;
  connection->state = next;
  connections_.note_deadline();
  sending_.sent_something(*connection);
}

SendStatus TcpLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  Connection* connection = connections_.established(peer);
  if (connection == nullptr) [[unlikely]]
    return connections_.setting_up(peer) ? SendStatus::again : SendStatus::broken;
  if (connection->error != 0) [[unlikely]]
    return SendStatus::broken;
  const Prefix prefix{0, static_cast<Kind>(meta.type), meta.tag, meta.credits};
  const auto what = is_data(meta.type) ? Outbox::Class::data : Outbox::Class::control;
  return sending_.send_frame(*connection, prefix, slices, count, what, meta.more);
}

bool TcpLink::drained() const noexcept { return sending_.drained(); }

// --- Polling ---

int TcpLink::poll() noexcept {
  ++ticks_;
  sending_.begin_tick();
  sending_.begin_burst();
  int events = 0;
  if (!sending_.drained()) events += sending_.flush_unsent();
  if (!active_.empty()) events += active_.poll([this](Connection& each) { return serve(each); });
  if (pace_.is_due()) events += poll_epoll_set();
  if (connections_.need_attention()) events += timeouts_.end_failed();
  if (ticks_ % kTimePeriod == 0 && connections_.timed())
    events += timeouts_.check_time(Clock::now());
  sending_.begin_burst();  // the next frames do not follow those sent in this poll
  return events;
}

int TcpLink::serve(Connection& connection) {
  switch (connection.state) {
    case State::paused: return 0;
    case State::connecting: return handshake_.finish_connect(connection);
    case State::hello_sent: {
      const int events = handshake_.receive_reply(connection);
      return connection.is(State::established) ? events + receiving_.receive(connection) : events;
    }
    case State::accepted:
    case State::waiting: return handshake_.receive_hello(connection);
    case State::established: {
      const int events = receiving_.receive(connection);
      if (events != 0 && !sending_.drained()) sending_.flush_batched(connection);
      return events;
    }
    case State::closing: return timeouts_.discard(connection);
    case State::dead: return 0;
  }
  return 0;
}

// The connections that are not read directly, and the listeners.
int TcpLink::poll_epoll_set() {
  EpollSet::Found found;
  const std::span<const epoll_event> ready = connections_.waiting.ready(found);
  int events = 0;
  for (const epoll_event& event : ready) {
    void* const what = event.data.ptr;
    if (what == nullptr || what == &connections_.waiting.timer()) {
      events += what == nullptr ? unauthenticated_.accept() : timeouts_.check_peers();
      continue;
    }
    auto* connection = static_cast<Connection*>(what);
    const int done = serve(*connection);
    events += done;
    if (done != 0 && active_.has_room()) active_.promote(*connection);
  }
  pace_.looked(!ready.empty(), !active_.empty());
  return events;
}

// While armed, each event except a timeout makes the epoll set readable, also one from before arm().
Link::Armed TcpLink::arm() noexcept {
  active_.demote_all();
  sending_.arm();
  pace_.hurry();
  if (connections_.need_attention()) {
    disarm();
    return Armed::busy;
  }
  // A deadline that no longer exists would wake the thread for nothing.
  connections_.note_deadlines(unauthenticated_.is_paused());
  return connections_.timed() ? Armed::partly : Armed::fully;
}

void TcpLink::disarm() noexcept {
  if (!sending_.armed()) return;
  ticks_ |= kTimePeriod - 1;  // time has passed that no poll has counted
  sending_.disarm();
}

// --- Remote memory ---

bool TcpLink::remote_memory(PeerId peer) const noexcept {
  if (peer >= connections_.slots().size()) return true;  // once it is connected
  const Slot::Status status = connections_.slots()[peer].status;
  return status != Slot::Status::broken && status != Slot::Status::closed;
}

bool TcpLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  out = connections_.memory.add(data, size);
  return true;
}

void TcpLink::deregister_memory(LinkRegion& region) noexcept {
  connections_.memory.remove(region);
  region = {};
}

Link::Start TcpLink::put(PeerId peer, const void* source, const LinkRegion&, std::uint64_t address,
                         const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  Connection* connection = nullptr;
  const Start start = connections_.may_start(peer, connection);
  if (start != Start::done || size == 0) return start;
  ++connection->operations;
  const OpRef reference = connections_.operations().add({operation, peer, nullptr, 0, 0});
  connection->out.push(
      {kPut, reference, remote.key, address, size, static_cast<const std::byte*>(source)});
  sending_.flush_new(*connection);
  return Start::started;
}

// The request is an ordinary frame, so that the requests of many gets can leave together.
Link::Start TcpLink::get(PeerId peer, void* destination, const LinkRegion&, std::uint64_t address,
                         const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  Connection* connection = nullptr;
  const Start start = connections_.may_start(peer, connection);
  if (start != Start::done || size == 0) return start;
  if (connection->gets >= limits::kTcpGets) return Start::again;
  const OpRef reference = connections_.operations().add(
      {operation, peer, static_cast<std::byte*>(destination), size, size});
  const BulkHead head{reference, remote.key, address, size};
  const Slice slice{&head, sizeof head};
  if (sending_.send_frame(*connection, {0, kGet, 0, 0}, &slice, 1, Outbox::Class::control) ==
      SendStatus::again) {
    connections_.operations().take(reference);
    return Start::again;
  }
  ++connection->operations;
  ++connection->gets;
  return Start::started;
}

}  // namespace lfc::tcp

namespace lfc {

std::unique_ptr<Link> make_tcp_link(const TcpOptions& options, const Identity& identity,
                                    FrameSink& sink, Counters& counters, std::string& why_not) {
  auto link = std::make_unique<tcp::TcpLink>(options, identity, sink, counters);
  if (!link->open(why_not)) return nullptr;
  return link;
}

}  // namespace lfc
