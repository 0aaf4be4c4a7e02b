#include "link/tcp/connections.hpp"

#include <algorithm>

#include "base/limits.hpp"

namespace lfc::tcp {

Slot& Connections::slot(PeerId peer) {
  if (peer >= slots_.size()) slots_.resize(std::size_t{peer} + 1);
  return slots_[peer];
}

bool Connections::setting_up(PeerId peer) const noexcept {
  if (peer >= slots_.size()) return false;
  const Slot& slot = slots_[peer];
  return slot.status == Slot::Status::live && !slot.connection->is(State::established);
}

Link::Start Connections::may_start(PeerId peer, Connection*& connection) const noexcept {
  connection = established(peer);
  if (connection == nullptr) return setting_up(peer) ? Link::Start::again : Link::Start::failed;
  if (connection->error != 0) return Link::Start::failed;
  return connection->operations < limits::kTcpOperations ? Link::Start::done : Link::Start::again;
}

SharedBytes Connections::lend(PeerId peer, std::span<const std::byte> bytes) {
  Connection* const connection = established(peer);
  return connection == nullptr ? SharedBytes() : connection->in.lend(bytes);
}

Connection& Connections::adopt(Socket socket, State state) {
  if (connections_.empty())
    waiting.timer().run(std::max(Silence::interval(options.peer_timeout), Silence::Duration(1)));
  return *connections_.emplace_back(std::make_unique<Connection>(std::move(socket), state, memory));
}

Connection* Connections::release(PeerId peer) noexcept {
  if (peer >= slots_.size()) return nullptr;
  operations_.take_all(peer, cancelled_);
  call_attention();
  return std::exchange(slots_[peer], Slot{}).connection;
}

void Connections::watch(Connection& connection, std::uint32_t events) noexcept {
  if (!waiting.watch(connection.fd(), &connection, events)) fail(connection, errno);
}

void Connections::fail(Connection& connection, int error) noexcept {
  connection.error = error;
  call_attention();
}

void Connections::kill(Connection& connection) noexcept {
  connection.state = State::dead;
  call_attention();
}

void Connections::note_deadlines(bool others) noexcept {
  timed_ = others || std::any_of(connections_.begin(), connections_.end(),
                                 [](const auto& each) { return needs_time(*each); });
}

void Connections::end(Connection& connection, std::string_view why) {
  if (connection.is(State::dead)) return;
  kill(connection);
  const PeerId peer = connection.peer;
  if (peer >= slots_.size() || slots_[peer].connection != &connection) return;
  const bool lost = !why.empty();
  slots_[peer] = {lost ? Slot::Status::broken : Slot::Status::closed, nullptr};
  std::vector<Operation*> unfinished;
  operations_.take_all(peer, unfinished);
  for (Operation* operation : unfinished) operation->done(operation, Result::unreachable);
  if (lost) report_broken(peer, why);
}

// ETIMEDOUT comes from the kernel's keep-alive, which watches connections without data on the way.
void Connections::end_with_errno(Connection& connection, int error) {
  if (error == ETIMEDOUT)
    end(connection, no_reply_text(connection, options.peer_timeout,
                                  "although the kernel has sent probes again and again"));
  else if (error == ECONNRESET || error == EPIPE)
    end(connection, no_goodbye(connection, std::strerror(error)));
  else
    end(connection, no_way(connection, error));
}

}  // namespace lfc::tcp
