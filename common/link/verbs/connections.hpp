// Connections: the connections of a verbs link with their queue pairs, from their making to their end.
//
//   Connection* connection = connections.make(peer, address, why_not);
//   connection->theirs = offer;
//   if (!connections.connect(*connection, why_not)) connections.break_off(*connection, why_not);
//   connections.add_pending(*connection);                                  // something is due: it is pending
//
// Threads: as Link.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "link/verbs/shared.hpp"

namespace lfc::verbs {

class Connections {
 public:
  using Clock = Connection::Clock;
  using State = Connection::State;

  explicit Connections(Shared& shared) noexcept : shared_(shared) {}
  // Tries to make a queue pair, which also determines how many bytes a request carries inline. False: not possible.
  bool open(std::string& why_not);
  std::size_t inline_size() const noexcept { return inline_; }
  int pieces_inline() const noexcept { return pieces_inline_; }

  Connection* of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  Connection* of_pair(std::uint32_t number) const noexcept {
    const auto found = by_pair_.find(number);
    return found == by_pair_.end() ? nullptr : found->second;
  }
  Connection& at(std::uint32_t slot) const noexcept { return *connections_[slot]; }
  const std::vector<std::unique_ptr<Connection>>& all() const noexcept { return connections_; }
  PeerId peers() const noexcept { return static_cast<PeerId>(by_peer_.size()); }

  Connection* make(PeerId peer, const Address& address, std::string& why_not);
  // Makes another connection in place of this one, on which nothing has been sent. Null: the peer has none any more.
  Connection* replace(Connection& connection, std::string& why_not);
  bool connect(Connection& connection, std::string& why_not);
  // From now on of() finds no connection of the peer.
  void detach(PeerId peer) noexcept { by_peer_[peer] = nullptr; }

  // Returns device, port and both addresses, for the user.
  std::string ends_of(const Connection& connection) const;

  // --- Deadlines ---

  void add_pending(Connection& connection) noexcept;
  const std::vector<Connection*>& pending() const noexcept { return pending_; }
  // Calls each(connection) for each pending connection. False: it needs no more attention.
  template <class Each>
  void for_each_pending(Each each) {
    attending_.swap(pending_);
    for (Connection* connection : attending_) {
      connection->pending = false;
      if (each(*connection)) add_pending(*connection);
    }
    attending_.clear();
  }

  // --- The end ---

  // Remembers a failure, for poll() to report.
  void fail(Connection& connection, std::string_view why) noexcept;
  void break_off(Connection& connection, std::string_view why) noexcept;
  void end_if_done(Connection& connection) noexcept;
  // Destroys its queue pair, and frees the buffers and transfers that this holds.
  void dispose(Connection& connection) noexcept;
  // Disposes of the connection, and of() does not find it any more.
  void forget(Connection& connection) noexcept;

 private:
  Connection* make(PeerId peer, const Identity& identity, const Endpoint& there,
                   std::string& why_not);
  bool make_pair(Connection& connection, std::string& why_not);

  Shared& shared_;
  std::size_t inline_ = 0;
  int pieces_inline_ = 1;
  std::vector<std::unique_ptr<Connection>> connections_;  // by slot; never shrinks
  std::vector<Connection*> by_peer_;
  std::unordered_map<std::uint32_t, Connection*> by_pair_;  // by number of our queue pair
  std::vector<Connection*> pending_;
  std::vector<Connection*> attending_;
};

// Returns the peer's section. None: its address has no valid one.
std::optional<Endpoint> endpoint_of(const Address& peer, std::string_view link);

}  // namespace lfc::verbs
