// Sessions: a bond's sessions, by the id that its rails know, by the NI's peer, and by process; and which of them want
// something done outside of any rail's poll().
//
//   Sessions sessions;
//   Session& session = sessions.add(address, peer);
//   sessions.stir(session);
//   for (Session* each : sessions.take_restless()) settle(*each);
//   sessions.end(session, Session::State::over);
//   sessions.forget(session);                       // the NI does not know it any more
//   if (sessions.to_bury()) sessions.bury();        // frees those that are over, forgotten and carry nothing
//
// Invariants: an id is not used again; a session lives until it is over, forgotten, without errands and without chunks
// in rails (tests/unit/link/bond/sessions_test.cpp). Threads: as the link's.
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
  // The latest with this process that is not over; null: none.
  Session* latest(ProcessName name) const noexcept;
  // Some may be null.
  const std::vector<std::unique_ptr<Session>>& all() const noexcept { return all_; }

  Session& add(const Address& address, PeerId peer);
  // Another one may be the latest with its process.
  void end(Session& session) noexcept;
  void forget(Session& session) noexcept;
  bool to_bury() const noexcept { return over_; }
  void bury() noexcept;

  // It wants something done.
  void stir(Session& session) noexcept {
    if (session.restless) return;
    session.restless = true;
    restless_.push_back(&session);
  }
  bool restless() const noexcept { return !restless_.empty(); }
  std::vector<Session*> take_restless() noexcept { return std::exchange(restless_, {}); }

 private:
  std::vector<std::unique_ptr<Session>> all_;  // by id
  std::vector<Session*> by_peer_;
  std::unordered_map<std::uint64_t, Session*> by_name_;
  std::vector<Session*> restless_;
  bool over_ = false;  // some session can be forgotten
};

}  // namespace lfc::bond
