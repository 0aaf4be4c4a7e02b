// Connections: all connections of a tcp link, the table from peers to connections, and the operations that wait for
// peers. end() ends a connection: its operations end, its peer is broken or closed, and poll() frees it at its end.
//
//   Connection& made = connections.adopt(std::move(socket), State::connecting);
//   connections.slot(peer) = {Slot::Status::live, &made};
//   if (Connection* own = connections.established(peer)) ...;
//   connections.end(made, "the peer ended without a goodbye");   // calls the sink
//   connections.free_dead(gone);                       // in poll(), where no pointer to a connection is in use
//
// Threads: as Link.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "link/link.hpp"
#include "link/tcp/connection.hpp"
#include "link/tcp/epoll_set.hpp"
#include "link/tcp/operations.hpp"

namespace lfc::tcp {

// The state of a peer in this link.
struct Slot {
  enum class Status : std::uint8_t { none, live, closed, broken };
  Status status = Status::none;
  Connection* connection = nullptr;  // with `live`
};

class Connections final : public FrameLender {
 public:
  struct Options {
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds peer_timeout;
  };
  Connections(Link& link, FrameSink& sink, const Options& given)
      : options(given), link_(link), sink_(sink) {}

  const Options options;
  RegisteredMemory memory;
  EpollSet waiting;  // connections that are not read directly, listeners, and a timer

  Slot& slot(PeerId peer);
  const std::vector<Slot>& slots() const noexcept { return slots_; }
  const std::vector<std::unique_ptr<Connection>>& all() const noexcept { return connections_; }
  Connection* established(PeerId peer) const noexcept {
    if (peer >= slots_.size()) return nullptr;
    Connection* connection = slots_[peer].connection;
    return connection != nullptr && connection->is(State::established) ? connection : nullptr;
  }
  SharedBytes lend(PeerId peer, std::span<const std::byte> bytes) override;
  bool setting_up(PeerId peer) const noexcept;
  // `done`: a connection with room for one more operation.
  Link::Start may_start(PeerId peer, Connection*& connection) const noexcept;
  Connection& adopt(Socket socket, State state);
  // Forgets the peer; its operations end in the next poll(). Returns its connection, or null.
  Connection* release(PeerId peer) noexcept;
  void watch(Connection& connection, std::uint32_t events) noexcept;
  // The next poll() ends the connection with this errno.
  void fail(Connection& connection, int error) noexcept;
  void kill(Connection& connection) noexcept;  // dead at once; the sink is not called
  OperationTable& operations() noexcept { return operations_; }
  // A deadline has been set. note_deadlines() finds out whether any is left; `others`: one is, elsewhere.
  void note_deadline() noexcept { timed_ = true; }
  void note_deadlines(bool others) noexcept;
  // A `waiting` connection has none, but check_time() looks whether the older one has ended.
  static bool needs_time(const Connection& connection) noexcept {
    const bool has_deadline = connection.deadline != Clock::time_point::max();
    return (has_deadline && !connection.is(State::dead)) || connection.is(State::waiting);
  }
  std::vector<Operation*> take_cancelled() noexcept { return std::exchange(cancelled_, {}); }
  // Calls gone(connection) for each dead connection, then frees it.
  template <class Gone>
  void free_dead(Gone gone) {
    const auto dead = [&](const auto& connection) {
      if (!connection->is(State::dead)) return false;
      gone(*connection);
      return true;
    };
    std::erase_if(connections_, dead);
  }

  // Ends a connection. With a reason its peer is broken; without one the peer has closed.
  void end(Connection& connection, std::string_view why);
  void end_with_errno(Connection& connection, int error);
  void report_broken(PeerId peer, std::string_view why) { sink_.on_broken(peer, link_, why); }

  // --- Work that is left to poll() ---

  bool need_attention() const noexcept { return attention_; }
  void call_attention() noexcept { attention_ = true; }
  void clear_attention() noexcept { attention_ = false; }
  bool timed() const noexcept { return timed_; }

 private:
  Link& link_;
  FrameSink& sink_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Slot> slots_;
  OperationTable operations_;
  std::vector<Operation*> cancelled_;  // to be completed by poll(): their peer was closed
  bool attention_ = false;             // a failed send, a closed peer, a dead connection
  bool timed_ = false;                 // something has a deadline
};

}  // namespace lfc::tcp
