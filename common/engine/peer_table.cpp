#include "engine/peer_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <utility>

#include "link/far.hpp"
#include "machine/file_descriptor.hpp"

namespace lfc {
namespace {

// Descriptors that a process may need: its own, and for each peer one, or one for each rail.
constexpr std::size_t kOwnDescriptors = 256;
constexpr std::size_t kPeerDescriptors = 8;

// Prints which link carries the peer's frames, and why the one before does not.
void report_once(void (*&notice)(std::string_view line), const Peer& peer,
                 const std::string& reasons) {
  if (notice == nullptr) return;
  const ProcessName name = peer.address.identity().name;
  std::exchange(notice, nullptr)("not every rank is reached by the first of its links: rank " +
                                 std::to_string(name.rank) + " is reached by " +
                                 std::string(peer.link->name()) + ": " + reasons +
                                 "; further ranks of this kind are not reported");
}

}  // namespace

PeerTable::PeerTable(const Config& config, const Identity& identity, Counters& counters,
                     Activity& activity, Outcomes& outcomes)
    : window_(identity.initial_window),
      detour_(config.detour),
      notice_(config.notice),
      counters_(counters),
      activity_(activity),
      outcomes_(outcomes),
      budget_(std::max(config.maximum_window, identity.initial_window), config.window_cap) {}

void PeerTable::add_link(std::unique_ptr<Link> link) {
  // Handles of regions have one part for each kind.
  assert(std::none_of(links_.begin(), links_.end(), [&](const auto& other) {
    return other->traits().kind == link->traits().kind;
  }));
  max_payload_ = links_.empty() ? link->max_payload() : std::min(max_payload_, link->max_payload());
  links_.push_back(std::move(link));
}

std::size_t PeerTable::max_far_message() const noexcept {
  std::size_t least = 0;
  for (const auto& link : links_)
    if (is_far(link->traits()))
      least = least == 0 ? link->max_message() : std::min(least, link->max_message());
  return least == 0 ? max_payload_ : least;
}

PeerId PeerTable::find(ProcessName name) const noexcept {
  const auto known = by_name_.find(name.packed());
  return known == by_name_.end() ? kNoPeer : known->second;
}

Peer& PeerTable::insert(const Address& address) {
  const auto id = static_cast<PeerId>(peers_.size());
  Peer& peer = *peers_.emplace_back(std::make_unique<Peer>(id, address, window_));
  if (const std::size_t count = peers_.size(); std::has_single_bit(count))
    permit_descriptors(kOwnDescriptors + kPeerDescriptors * 2 * count);
  by_name_[address.identity().name.packed()] = id;
  return peer;
}

PeerId PeerTable::add(const Address& address, std::string& why_not) {
  if (const PeerId known = find(address.identity().name); known != kNoPeer) {
    // A peer that connected first: its hello did not contain its key.
    Peer& peer = at(known);
    const bool same_process = peer.address.identity().tag == address.identity().tag;
    if (same_process && !peer.address.has_key()) peer.address = address;
    return known;
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::string why;
    if (links_[i]->reach(address, why)) {
      Peer& peer = insert(address);
      peer.link = links_[i].get();
      peer.link_index = static_cast<std::uint8_t>(i);
      return peer.id;
    }
    why_not += (why_not.empty() ? "" : "; ") + std::string(links_[i]->name()) + ": " + why;
  }
  if (links_.empty()) why_not = "no link is open";
  return kNoPeer;
}

void PeerTable::remove(PeerId id) {
  Peer& peer = at(id);
  if (peer.state == Peer::State::removed) return;
  if (peer.link != nullptr) peer.link->close(id);
  lose(peer, Peer::State::removed, "removed");
  const auto entry = by_name_.find(peer.address.identity().name.packed());
  if (entry != by_name_.end() && entry->second == id) by_name_.erase(entry);
}

PeerId PeerTable::admit(Link& link, const Address& from) {
  if (const PeerId known = find(from.identity().name); known != kNoPeer) {
    Peer& peer = at(known);
    const bool same_process = peer.address.identity().tag == from.identity().tag;
    if (!same_process || peer.state == Peer::State::broken) return kNoPeer;
    charge(peer, link);
    return peer.id;
  }
  Peer& peer = insert(from);
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].get() == &link) peer.link_index = static_cast<std::uint8_t>(i);
  peer.link = &link;
  charge(peer, link);
  return peer.id;
}

const Address* PeerTable::published(const Address& claimed) const noexcept {
  const PeerId known = find(claimed.identity().name);
  if (known == kNoPeer) return nullptr;
  const Address& address = at(known).address;
  const bool same_process = address.identity().tag == claimed.identity().tag;
  return same_process && address.has_key() ? &address : nullptr;
}

// The peer communicates, or is about to: its receive buffers are promised from now on.
void PeerTable::charge(Peer& peer, Link& link) {
  if (std::find(busy_links_.begin(), busy_links_.end(), &link) == busy_links_.end())
    busy_links_.push_back(&link);
  activity_.note_use();
  if (peer.admitted) return;
  peer.admitted = true;
  budget_.admit(peer.flow.window().window());
  counters_.add(Counter::connections);
}

bool PeerTable::connect_anew(Peer& peer) {
  if (peer.state != Peer::State::known) return false;
  std::string reasons;
  const bool was_shared_memory = peer.link->traits().arrives_in_send;
  if (!connect_from(peer.link_index, peer, reasons)) {
    lose(peer, Peer::State::broken, "no link connects: " + reasons);
    return false;
  }
  if (reasons.empty()) return true;
  if (!was_shared_memory) {
    report_once(notice_, peer, reasons);
  } else if (detour_ != nullptr) {
    detour_(peer.link->name(), reasons);
  }
  return true;
}

bool PeerTable::connect_from(std::size_t index, Peer& peer, std::string& reasons) {
  for (std::size_t i = index; i < links_.size(); ++i) {
    std::string why;
    Link& link = *links_[i];
    if (&link != peer.link && !link.reach(peer.address, why)) continue;
    if (link.connect(peer.id, peer.address, why)) {
      peer.link = &link;
      peer.ring = link.ring(peer.id);
      peer.link_index = static_cast<std::uint8_t>(i);
      peer.state = Peer::State::connected;
      charge(peer, link);
      return true;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(link.name()) + ": " + why;
    if (link.has_ended(peer.address)) break;
  }
  return false;
}

// Waiting items are retried soon, because the link that has sent none of them was expected to have room some time.
bool PeerTable::turn_from(Peer& peer, Link& link, std::string_view why) {
  if (peer.state != Peer::State::connected || peer.link != &link) return true;
  std::string reasons;
  if (!connect_from(peer.link_index + std::size_t{1}, peer, reasons)) return false;
  for (Watcher* watcher : watchers_) watcher->on_turned(peer);
  report_once(notice_, peer, std::string(link.name()) + ": " + std::string(why));
  return true;
}

void PeerTable::lose(Peer& peer, Peer::State state, std::string_view why) {
  const bool lost_before = peer.is_lost();
  peer.state = state;
  peer.ring = nullptr;
  if (lost_before) return;
  peer.flow.end(budget_, peer.admitted);
  for (Watcher* watcher : watchers_) watcher->on_lost(peer);
  if (state != Peer::State::broken) return;
  counters_.add(Counter::peers_broken);
  outcomes_.add_loss(peer.id, why);
}

void PeerTable::describe(std::string& out) const {
  static constexpr const char* kStates[] = {"known", "connected", "broken", "removed"};
  for (const auto& peer : peers_) {
    const ProcessName name = peer->address.identity().name;
    const std::string_view link = peer->link == nullptr ? "none" : peer->link->name();
    char line[256];
    std::snprintf(line, sizeof line,
                  "peer %u:%u %s link=%.*s credits=%u window=%u owed=%u waiting=%zu services=%zu "
                  "control=%zu outstanding=%zu\n",
                  name.job, name.rank, kStates[static_cast<int>(peer->state)],
                  static_cast<int>(link.size()), link.data(), peer->flow.credits().available(),
                  peer->flow.window().window(), peer->flow.window().owed(), peer->waiting.size(),
                  peer->services.size(), peer->control.size(), peer->outstanding);
    out += line;
  }
}

}  // namespace lfc
