#include "link/bond/sessions.hpp"

namespace lfc::bond {

Session* Sessions::latest(ProcessName name) const noexcept {
  const auto found = by_name_.find(name.packed());
  return found == by_name_.end() ? nullptr : found->second;
}

Session& Sessions::add(const Address& address, PeerId peer) {
  Session& session = *all_.emplace_back(std::make_unique<Session>(address));
  session.id = static_cast<PeerId>(all_.size() - 1);
  session.names.ours = session.id + 1;
  session.peer = peer;
  if (peer >= by_peer_.size()) by_peer_.resize(std::size_t{peer} + 1);
  by_peer_[peer] = &session;
  const auto [entry, first] = by_name_.insert_or_assign(address.identity().name.packed(), &session);
  session.names.first = first;
  return session;
}

void Sessions::end(Session& session) noexcept {
  const auto entry = by_name_.find(session.address.identity().name.packed());
  if (entry != by_name_.end() && entry->second == &session) entry->second = nullptr;
  over_ = true;
}

void Sessions::forget(Session& session) noexcept {
  if (session.peer != kNoPeer) by_peer_[session.peer] = nullptr;
  session.peer = kNoPeer;
  over_ = true;
}

void Sessions::free_ended() noexcept {
  over_ = false;
  for (auto& session : all_) {
    if (session == nullptr || session->peer != kNoPeer || session->restless) continue;
    if (session->state != Session::State::over && session->state != Session::State::broken)
      continue;
    if (session->chunks != 0) {
      over_ = true;
    } else {
      session.reset();
    }
  }
}

}  // namespace lfc::bond
