// Pairing: the queues that pair the k-th send of a key with the k-th receive of it, whichever exists first. A sender
// numbers all its offers to a peer, and the receiver takes them in the order of these numbers. So a key on
// which no request waits needs no memory, and a program may use ever new keys.
//
//   Pairing pairing;
//   offer.number = pairing.number_send(key.peer);                     // the sender
//   if (auto offered = pairing.expect(receive)) pair(receive, *offered);
//   if (!pairing.on_offer(peer, offer, pair)) refuse(peer);           // the receiver
//
// Held by tests/unit/services/partitioned/pairing_test.cpp. Threads: the caller serialises.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/bytes.hpp"
#include "services/partitioned/protocol/frames.hpp"
#include "services/partitioned/protocol/requests.hpp"

namespace lfc::partitioned {

class Pairing {
 public:
  static constexpr std::size_t kMostOffers =
      256 * 1024;  // of one peer that no receive is there for

  // A send, as its receiver needs to know it.
  struct Offered {
    std::uint64_t total = 0;
    std::uint64_t name = 0;
  };

  std::uint64_t number_send(PeerId peer) { return sends_[peer]++; }

  // Returns the send of the receive, if it is known; else keeps the receive until forget().
  std::optional<Offered> expect(Receiving& receive) {
    const auto line = lines_.try_emplace(receive.key).first;
    if (line->second.offers.empty()) {
      line->second.waiting.push_back(&receive);
      return std::nullopt;
    }
    const Offered offered = line->second.offers.front();
    line->second.offers.pop_front();
    --peers_[receive.key.peer].kept;
    erase_if_empty(line);
    return offered;
  }

  // Calls pair(receive, offered) for each receive whose send is known now. False: the offer is a repetition, or there
  // are too many.
  template <class Pair>
  bool on_offer(PeerId peer, const Offer& offer, Pair pair) {
    FromPeer& from = peers_[peer];
    if (offer.number < from.next || from.kept == kMostOffers ||
        !from.early.emplace(offer.number, offer).second)
      return false;
    ++from.kept;
    for (auto next = from.early.find(from.next); next != from.early.end();
         next = from.early.find(++from.next)) {
      take(from, {peer, next->second.comm, next->second.tag},
           {next->second.total, next->second.name}, pair);
      from.early.erase(next);
    }
    return true;
  }

  // Removes a receive that is freed. Its send gets no other receive.
  void forget(Receiving& receive) {
    if (const auto line = lines_.find(receive.key); line != lines_.end())
      std::ranges::replace(line->second.waiting, &receive, static_cast<Receiving*>(nullptr));
  }

  void on_lost(PeerId peer) {
    peers_.erase(peer);
    std::erase_if(lines_, [peer](const auto& each) { return each.first.peer == peer; });
  }

  // Returns the number of keys on which a request waits.
  std::size_t keys() const noexcept { return lines_.size(); }

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::uint64_t peer_and_tag =
          std::uint64_t{key.peer} << 32 | static_cast<std::uint32_t>(key.tag);
      const std::uint64_t parts[] = {key.comm, peer_and_tag};
      return fnv1a(std::as_bytes(std::span(parts)));
    }
  };
  // The receives or the sends of a key that wait for the other side, in order.
  struct Line {
    std::deque<Receiving*> waiting;  // null: a receive that has been freed
    std::deque<Offered> offers;
  };
  using Lines = std::unordered_map<Key, Line, KeyHash>;
  // The offers of a peer.
  struct FromPeer {
    std::uint64_t next = 0;                          // the number of the next offer to take
    std::unordered_map<std::uint64_t, Offer> early;  // that came before their turn
    std::size_t kept = 0;                            // offers here and in lines
  };

  template <class Pair>
  void take(FromPeer& from, const Key& key, const Offered& offered, Pair& pair) {
    const auto line = lines_.try_emplace(key).first;
    if (line->second.waiting.empty()) {
      line->second.offers.push_back(offered);
      return;
    }
    Receiving* const receive = line->second.waiting.front();
    line->second.waiting.pop_front();
    --from.kept;
    erase_if_empty(line);
    if (receive != nullptr) pair(*receive, offered);
  }

  void erase_if_empty(Lines::iterator line) {
    if (line->second.waiting.empty() && line->second.offers.empty()) lines_.erase(line);
  }

  std::unordered_map<PeerId, std::uint64_t> sends_;  // offered to each
  std::unordered_map<PeerId, FromPeer> peers_;
  Lines lines_;
};

}  // namespace lfc::partitioned
