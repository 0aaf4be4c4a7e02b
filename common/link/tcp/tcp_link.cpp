#include "link/tcp/tcp_link.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "link/tcp/tcp_link_impl.hpp"

namespace lfc::tcp {
namespace {

// Larger frames gain less by company than their copy costs.
constexpr std::size_t kKeptFrame = 20 * 1024;
constexpr std::chrono::milliseconds kLinger{1000};  // for frames not yet written, at the very end

SocketOptions socket_options(const TcpOptions& options) noexcept {
  return {options.send_buffer, options.receive_buffer,
          std::max(std::chrono::seconds(1),
                   std::chrono::duration_cast<std::chrono::seconds>(options.peer_timeout))};
}

// Replaces kByInterface by what it means here.
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
            .wakes = true,
            .remote_memory = true,
            .placed_payload = limits::kTcpPlaced}),
      options_(resolved(options)),
      socket_options_(socket_options(options_)),
      identity_(identity),
      sink_(sink),
      counters_(counters),
      memory_(options.threads),
      lock_(options.threads) {}

bool TcpLink::open(std::string& why_not) {
  std::vector<Interface> addresses{options_.interface};
  if (options_.other) addresses.push_back(*options_.other);
  for (const Interface& each : addresses) {
    Endpoint endpoint{
        each.address,  0,          each.prefix,    options_.interface.megabits, each.gateway,
        each.standard, host_tag(), options_.strand};
    Socket listener = Socket::listening(each.address, options_.ports, endpoint.port, why_not);
    if (!listener && listeners_.empty()) return false;
    if (!listener) break;
    listeners_.push_back(std::move(listener));
    endpoints_.push_back(endpoint);
  }
  epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  const auto watch_for = [this](int fd, void* what) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = what;
    return ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  const bool listens =
      std::all_of(listeners_.begin(), listeners_.end(),
                  [&](const Socket& listener) { return watch_for(listener.fd(), nullptr); });
  if (epoll_ && timer_.open() && listens && watch_for(timer_.fd(), &timer_)) return true;
  why_not = std::string("epoll: ") + std::strerror(errno);
  return false;
}

// Says goodbye to all, and gives what is still to be written a moment to go.
TcpLink::~TcpLink() {
  for (PeerId peer = 0; peer < slots_.size(); ++peer) close(peer);
  const auto deadline = Clock::now() + kLinger;
  while (!drained() && Clock::now() < deadline) {
    ++ticks_;  // a stuck outbox is not tried at every tick
    if (flush_unsent() == 0) ::usleep(100);
  }
  for (const auto& connection : connections_) {
    ::shutdown(connection->fd(), SHUT_WR);
    drain(*connection);  // unread bytes would turn the orderly end into a reset
  }
}

void TcpLink::publish(AddressWriter& writer) const {
  writer.add(name(), section_of(endpoints_));
  if (rail_number(name()) != 0) return;
  std::array<char, 32> host{};  // for people to read
  ::gethostname(host.data(), host.size() - 1);
  writer.add("host", std::as_bytes(std::span(host).first(std::strlen(host.data()))));
}

void TcpLink::set_own_address(std::span<const std::byte> address) {
  own_address_.assign(address.begin(), address.end());
}

// Between this rail and one of the peer's.
std::optional<TcpLink::Route> TcpLink::route_to(const Address& peer, std::string& why_not) const {
  const std::size_t number = rail_number(name());
  const auto own = Address::parse(own_address_);
  Rails ours = own ? published_rails(*own) : Rails{};
  if (ours.size() <= number) ours.resize(number + 1);
  ours[number] = endpoints_;
  const Rails theirs = published_rails(peer);
  if (theirs.empty()) {
    why_not = "the peer has no tcp address";
    return std::nullopt;
  }
  const Pairs found = pair_rails(ours, theirs);
  for (const Pair& pair : found.pairs)
    if (pair.ours == number)
      return Route{endpoints_[pair.from].ip, theirs[pair.theirs][pair.to], rail_name(pair.theirs),
                   pair.why};
  for (const RailLeftOut& each : found.left_out)
    if (each.ours == number) why_not = options_.interface.address.text() + ": " + each.why;
  return std::nullopt;
}

bool TcpLink::reach(const Address& peer, std::string& why_not) {
  if (peer.identity().name == identity_.name) {
    why_not = "it is this process itself";
    return false;
  }
  const std::optional<Route> route = route_to(peer, why_not);
  if (!route) return false;
  const bool second = options_.other && !(route->from == options_.interface.address);
  return can_reach(second ? *options_.other : options_.interface, route->to.ip, route->to.host,
                   why_not);
}

// --- Connections ---

TcpLink::Slot& TcpLink::slot(PeerId peer) {
  if (peer >= slots_.size()) slots_.resize(std::size_t{peer} + 1);
  return slots_[peer];
}

Connection* TcpLink::established(PeerId peer) const noexcept {
  if (peer >= slots_.size()) return nullptr;
  Connection* connection = slots_[peer].connection;
  return connection != nullptr && connection->is(State::established) ? connection : nullptr;
}

bool TcpLink::setting_up(PeerId peer) const noexcept {
  if (peer >= slots_.size()) return false;
  const Slot& slot = slots_[peer];
  if (slot.status == Slot::Status::crossed) return true;
  return slot.status == Slot::Status::live && !slot.connection->is(State::established);
}

Connection& TcpLink::adopt(Socket socket, State state) {
  if (connections_.empty())
    timer_.run(std::max(Silence::interval(options_.peer_timeout), Silence::Duration(1)));
  return *connections_.emplace_back(
      std::make_unique<Connection>(std::move(socket), state, memory_));
}

void TcpLink::watch(Connection& connection, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &connection;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, connection.fd(), &event) == 0) return;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, connection.fd(), &event) != 0)
    fail(connection, errno);
}

bool TcpLink::connect(PeerId peer, const Address& address, std::string& why_not) {
  const SendLock::Guard guard(lock_);
  Slot& target = slot(peer);
  if (target.status == Slot::Status::live || target.status == Slot::Status::crossed) return true;
  if (target.status == Slot::Status::broken) {
    why_not = "the connection was lost before";
    return false;
  }
  if (!address.has_key() || own_address_.empty()) {
    why_not = !address.has_key() ? "the peer's key is not known"
                                 : "the link does not know its own process's address yet";
    return false;
  }
  const std::optional<Route> route = route_to(address, why_not);
  if (!route) return false;
  Socket socket =
      Socket::connecting(route->from, route->to.ip, route->to.port, socket_options_, why_not);
  if (!socket) return false;
  Connection& connection = adopt(std::move(socket), State::connecting);
  connection.peer = peer;
  connection.address = address;
  connection.link = route->link;
  connection.to = route->to.text();
  connection.from = route->from.text();
  if (options_.notice != nullptr)
    options_.notice("connecting to " + connection.ends() + ": " + route->why);
  connection.deadline = Clock::now() + options_.connect_timeout;
  timed_.store(true, std::memory_order_relaxed);
  target = {Slot::Status::live, &connection, {}};
  watch(connection, EPOLLOUT);
  return true;
}

// Forgets the peer; its operations end with the next poll(). Returns its connection, if it has one.
Connection* TcpLink::release(PeerId peer) noexcept {
  if (peer >= slots_.size()) return nullptr;
  operations_.take_all(peer, cancelled_);
  attention_.store(true, std::memory_order_relaxed);
  return std::exchange(slots_[peer], Slot{}).connection;
}

void TcpLink::abandon(PeerId peer) noexcept {
  const SendLock::Guard guard(lock_);
  Connection* connection = release(peer);
  if (connection != nullptr) connection->state.store(State::dead, std::memory_order_release);
}

void TcpLink::close(PeerId peer) noexcept {
  const SendLock::Guard guard(lock_);
  Connection* connection = release(peer);
  if (connection == nullptr) return;
  if (!connection->is(State::established)) {
    connection->state.store(State::dead, std::memory_order_release);
    return;
  }
  // A get that we were to answer is void now; a put of ours may not go on from memory that the
  // caller takes back.
  connection->out.abandon_bulk();
  const SendStatus status = connection->out.send(connection->fd(), {0, kGoodbye, 0, 0}, nullptr, 0,
                                                 Outbox::Class::answer);
  const State next = status == SendStatus::sent ? State::closing : State::dead;
  connection->state.store(next, std::memory_order_release);
  timed_.store(true, std::memory_order_relaxed);
  sent_something(*connection);
}

SendStatus TcpLink::send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept {
  const SendLock::Guard guard(lock_);
  Connection* connection = established(peer);
  if (connection == nullptr) [[unlikely]]
    return setting_up(peer) ? SendStatus::again : SendStatus::broken;
  if (connection->error != 0) [[unlikely]]
    return SendStatus::broken;
  const Prefix prefix{0, static_cast<Kind>(meta.type), meta.tag, meta.credits};
  const auto what = is_data(meta.type) ? Outbox::Class::data : Outbox::Class::control;
  return send_frame(*connection, prefix, slices, count, what, meta.more);
}

// Those that follow may be kept back.
SendStatus TcpLink::send_on(Connection& connection, Prefix prefix, const Slice* slices, int count,
                            Outbox::Class what, bool more) noexcept {
  const bool large = total_size(slices, count) > kKeptFrame;
  const Keep answer =
      armed_ || large || more ? Keep::no : sink_.may_keep(connection.burst.is_stream());
  if (answer == Keep::never) connection.burst.pause();
  const bool timed = answer == Keep::watched && prefix.kind != kGet;  // whose answer is waited for
  const std::chrono::nanoseconds now = timed ? Clock::now().time_since_epoch() : Clock::duration{};
  const bool keep =
      answer == Keep::turn || (timed && is_worth_keeping(connection, now)) || (more && !armed_);
  const bool joins = connection.out.keeps();
  const SendStatus status = connection.out.send(connection.fd(), prefix, slices, count, what, keep);
  if (status == SendStatus::broken) fail(connection, errno);
  sent_something(connection);
  if (joins && status == SendStatus::sent) counters_.add(Counter::writes_saved);
  if (!timed) return status;
  if (connection.out.keeps()) {
    if (kept_since().count() == 0) kept_since_.store(now, std::memory_order_relaxed);
    return status;
  }
  connection.burst.wrote(now, Clock::now().time_since_epoch());
  // Others may have kept some for longer.
  if (unsent_.size() <= 1) kept_since_.store({}, std::memory_order_relaxed);
  return status;
}

bool TcpLink::is_worth_keeping(Connection& connection, std::chrono::nanoseconds now) noexcept {
  const std::chrono::nanoseconds since = kept_since();
  return connection.burst.follow(now) && (since.count() == 0 || now - since < kKeptFor);
}

// After each use of an outbox: the rest is for poll() to write.
void TcpLink::sent_something(Connection& connection) noexcept {
  if (connection.unsent || connection.out.idle()) return;
  connection.unsent = true;
  unsent_.push_back(&connection);
  any_unsent_.store(true, std::memory_order_relaxed);
  if (armed_) watch_both(connection);
}

void TcpLink::fail(Connection& connection, int error) noexcept {
  connection.error = error;
  attention_.store(true, std::memory_order_relaxed);
}

bool TcpLink::drained() const noexcept {
  const SendLock::Guard guard(lock_);
  return unsent_.empty();
}

// --- Remote memory ---

bool TcpLink::remote_memory(PeerId peer) const noexcept {
  const SendLock::Guard guard(lock_);
  if (peer >= slots_.size()) return true;  // once it is connected
  const Slot::Status status = slots_[peer].status;
  return status != Slot::Status::broken && status != Slot::Status::closed;
}

bool TcpLink::register_memory(void* data, std::size_t size, LinkRegion& out) {
  out = memory_.add(data, size);
  return true;
}

void TcpLink::deregister_memory(LinkRegion& region) noexcept {
  memory_.remove(region);
  region = {};
}

// `done`: a connection with room for one more operation.
Link::Start TcpLink::may_start(PeerId peer, Connection*& connection) const noexcept {
  connection = established(peer);
  if (connection == nullptr) return setting_up(peer) ? Start::again : Start::failed;
  if (connection->error != 0) return Start::failed;
  return connection->operations < limits::kTcpOperations ? Start::done : Start::again;
}

Link::Start TcpLink::put(PeerId peer, const void* source, const LinkRegion&, std::uint64_t address,
                         const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  const SendLock::Guard guard(lock_);
  Connection* connection = nullptr;
  const Start start = may_start(peer, connection);
  if (start != Start::done || size == 0) return start;
  ++connection->operations;
  const OpRef reference = operations_.add({operation, peer, nullptr, 0, 0});
  connection->out.push(
      {kPut, reference, remote.key, address, size, static_cast<const std::byte*>(source)});
  if (connection->out.flush(connection->fd()) < 0) fail(*connection, errno);
  sent_something(*connection);
  return Start::started;
}

// Its request is a frame like others, so that those of many gets leave together.
Link::Start TcpLink::get(PeerId peer, void* destination, const LinkRegion&, std::uint64_t address,
                         const LinkRegion& remote, std::size_t size,
                         Operation* operation) noexcept {
  const SendLock::Guard guard(lock_);
  Connection* connection = nullptr;
  const Start start = may_start(peer, connection);
  if (start != Start::done || size == 0) return start;
  if (connection->gets >= limits::kTcpGets) return Start::again;
  const OpRef reference =
      operations_.add({operation, peer, static_cast<std::byte*>(destination), size, size});
  const BulkHead head{reference, remote.key, address, size};
  const Slice slice{&head, sizeof head};
  if (send_frame(*connection, {0, kGet, 0, 0}, &slice, 1, Outbox::Class::control) ==
      SendStatus::again) {
    operations_.take(reference);
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
