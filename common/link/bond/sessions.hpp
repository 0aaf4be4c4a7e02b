// Sessions: the sessions of a bond, by the id that its rails know, by the NI's peer and by process, with a list of
// those that have deferred calls, and one of those that have lost rails.
//
//   Sessions sessions;
//   Session& session = sessions.add(address, peer);
//   sessions.make_restless(session);
//   for (Session* each : sessions.take_restless()) settle(*each);
//   sessions.end(session);
//   sessions.forget(session);                       // the NI does not know it any more
//   if (sessions.has_ended()) sessions.free_ended();        // frees those that are over, forgotten and at rest
//
// Invariants: an id is not used again; a session exists until it is over, forgotten, and has neither deferred calls
// nor chunks in rails (tests/unit/link/bond/sessions_test.cpp). Threads: as the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "link/bond/session.hpp"

namespace lfc::bond {

class Sessions {
 public:
  Session* of(PeerId peer) const noexcept {
    return peer < by_peer_.size() ? by_peer_[peer] : nullptr;
  }
  Session* by_id(PeerId id) const noexcept { return id < all_.size() ? all_[id].get() : nullptr; }
  // Returns the latest session with this process that is not over; null: none.
  Session* latest(ProcessName name) const noexcept;
  // Some may be null.
  const std::vector<std::unique_ptr<Session>>& all() const noexcept { return all_; }

  Session& add(const Address& address, PeerId peer);
  // Takes the session out of the lookup by process, unless a later one stands there.
  void end(Session& session) noexcept;
  void forget(Session& session) noexcept;
  bool has_ended() const noexcept { return over_; }
  void free_ended() noexcept;

  // Puts the session into the list of those with deferred calls.
  void make_restless(Session& session) noexcept {
    if (session.restless) return;
    session.restless = true;
    restless_.push_back(&session);
  }
  bool restless() const noexcept { return !restless_.empty(); }
  std::vector<Session*> take_restless() noexcept { return std::exchange(restless_, {}); }

  // Puts the session into the list of those with lost rails, by id.
  void note_incomplete(Session& session) {
    if (session.incomplete || session.plain) return;
    session.incomplete = true;
    incomplete_.push_back(session.id);
  }
  bool incomplete() const noexcept { return !incomplete_.empty(); }
  std::vector<PeerId> take_incomplete() noexcept { return std::exchange(incomplete_, {}); }

 private:
  std::vector<std::unique_ptr<Session>> all_;  // by id
  std::vector<Session*> by_peer_;
  // null: all sessions of the process are over
  std::unordered_map<std::uint64_t, Session*> by_name_;
  std::vector<Session*> restless_;
  std::vector<PeerId> incomplete_;  // some may be freed
  bool over_ = false;               // some session can be forgotten
};

}  // namespace lfc::bond
