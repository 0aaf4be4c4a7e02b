#include "engine/ni.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/own_section.hpp"

namespace lfc {
namespace {

SendLock::Kind lock_kind(const Config& config) noexcept {
  if (config.threads || config.policy == Policy::fixed) return SendLock::Kind::shared;
  return config.policy == Policy::floating ? SendLock::Kind::biased : SendLock::Kind::none;
}

HostQueue::Mode delivery(const Config& config) noexcept {
  return lock_kind(config) == SendLock::Kind::shared ? HostQueue::Mode::queued : config.delivery;
}

Identity make_identity(const Config& config) {
  return {config.name, config.key ? config.key : random_key(), std::max(1u, config.initial_window)};
}

}  // namespace

Ni::Ni(const Config& config)
    : Published(ni_schema(), this),
      config_(config),
      identity_(make_identity(config)),
      lock_(lock_kind(config)),
      outcomes_(lock_),
      turn_(config_, lock_, counters_, {peers_, sender_, receiver_, services_, outcomes_}),
      host_(turn_, lock_),
      peers_(config_, identity_, counters_, turn_.activity(), outcomes_),
      sender_(peers_, counters_, turn_.activity(), outcomes_, remote_),
      remote_(lock_, peers_, sender_, counters_, outcomes_),
      services_(lock_, identity_, counters_, peers_, sender_, turn_.activity(), outcomes_),
      receiver_(lock_, peers_, sender_, remote_, services_, counters_, turn_.activity(),
                delivery(config_), config_.queue_memory) {}

// The thread and the links end before the parts that they use.
Ni::~Ni() {
  turn_.end();
  peers_.close_links();
}

std::vector<std::byte> Ni::open() {
  AddressWriter writer(identity_);
  write_own_section(writer, peers_.max_payload());
  for (const auto& link : peers_.links()) link->publish(writer);
  std::vector<std::byte> address = std::move(writer).finish();
  address_ = address;
  for (const auto& link : peers_.links()) link->set_own_address(without_key(address));
  turn_.start();
  return address;
}

// --- Peers ---

PeerId Ni::add_peer(const Address& address, std::string& why_not) {
  const SendLock::Guard guard(lock_);
  return peers_.add(address, why_not);
}

void Ni::remove_peer(PeerId id) {
  {
    const SendLock::Guard guard(lock_);
    peers_.remove(id);
  }
  outcomes_.call_back();
}

void Ni::set_peer_context(PeerId id, void* context) noexcept {
  const SendLock::Guard guard(lock_);
  peers_.at(id).context = context;
}

bool Ni::idle(PeerId id) noexcept {
  const SendLock::Guard guard(lock_);
  const Peer& peer = peers_.at(id);
  return peer.state != Peer::State::connected || peer.waiting.empty();
}

const LinkTraits& Ni::link_traits(PeerId id) const noexcept {
  const SendLock::Guard guard(lock_);
  return peers_.at(id).traits();
}

// --- Messages ---

void Ni::post(PeerId id, Message& message) noexcept {
  bool lost = false;
  {
    const SendLock::Guard guard(lock_);
    Peer& peer = peers_.at(id);
    sender_.post(peer, peer.waiting, message);
    lost = peer.is_lost();
  }
  if (lost) outcomes_.call_back();
}

bool Ni::drained() const noexcept {
  const SendLock::Guard guard(lock_);
  for (PeerId id = 0; id < peers_.size(); ++id) {
    const Peer& peer = peers_.at(id);
    if (peer.state == Peer::State::connected && (!peer.waiting.empty() || !peer.services.empty() ||
                                                 !peer.control.empty() || peer.credit_overdue))
      return false;
  }
  return std::all_of(peers_.links().begin(), peers_.links().end(),
                     [](const auto& link) { return link->drained(); });
}

// --- Observation ---

std::size_t Ni::memory() const noexcept {
  const SendLock::Guard guard(lock_);
  std::size_t bytes =
      receiver_.host().memory() + sender_.packets().memory() + peers_.size() * sizeof(Peer);
  for (const auto& link : peers_.links()) bytes += link->memory();
  return bytes;
}

void Ni::describe(std::string& out) const {
  const SendLock::Guard guard(lock_);
  peers_.describe(out);
  char line[160];
  std::snprintf(line, sizeof line, "windows granted=%llu cap=%llu queued=%zu\n",
                static_cast<unsigned long long>(peers_.budget().granted()),
                static_cast<unsigned long long>(peers_.budget().cap()), receiver_.host().waiting());
  out += line;
}

}  // namespace lfc
