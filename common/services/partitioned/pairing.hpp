// Pairing: the k-th send of a key is for the k-th receive of it, whichever is there first, in whatever order offers come.
//
//   Pairing pairing;
//   offer.number = pairing.number_send(key);                          // the sender
//   if (auto offered = pairing.expect(receive)) pair(receive, *offered);
//   switch (pairing.on_offer(peer, offer, receive)) { ... }           // the receiver
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/bytes.hpp"
#include "services/partitioned/frames.hpp"
#include "services/partitioned/requests.hpp"

namespace lfc::partitioned {

class Pairing {
 public:
  static constexpr std::size_t kMostOffers =
      256 * 1024;  // of one peer that no receive is there for

  // What is to be known of a send.
  struct Offered {
    std::uint64_t total = 0;
    std::uint64_t name = 0;
  };
  enum class Found : std::uint8_t {
    receive,    // this one
    later,      // there is none yet
    gone,       // it has been freed
    malformed,  // there was such an offer before, or there are too many
  };

  std::uint64_t number_send(const Key& key) { return sends_[key]++; }

  // Its send, if that is there; else the receive is remembered until forget().
  std::optional<Offered> expect(Receiving& receive) {
    Line& line = lines_[receive.key];
    const std::uint64_t number = line.made++;
    const auto found = line.offers.find(number);
    if (found == line.offers.end()) {
      line.waiting.emplace(number, &receive);
      return std::nullopt;
    }
    const Offered offered = found->second;
    line.offers.erase(found);
    --offers_[receive.key.peer];
    return offered;
  }

  Found on_offer(PeerId peer, const Offer& offer, Receiving*& receive) {
    Line& line = lines_[{peer, offer.comm, offer.tag}];
    if (const auto found = line.waiting.find(offer.number); found != line.waiting.end()) {
      receive = found->second;
      line.waiting.erase(found);
      return Found::receive;
    }
    if (offer.number < line.made) return Found::gone;
    if (++offers_[peer] > kMostOffers) return Found::malformed;
    const bool is_new = line.offers.emplace(offer.number, Offered{offer.total, offer.name}).second;
    return is_new ? Found::later : Found::malformed;
  }

  void forget(const Receiving& receive) {
    const auto line = lines_.find(receive.key);
    std::erase_if(line->second.waiting, [&](const auto& each) { return each.second == &receive; });
  }

  void on_lost(PeerId peer) {
    offers_.erase(peer);
    for (auto& [key, line] : lines_)
      if (key.peer == peer) line.offers.clear();
  }

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::uint64_t peer_and_tag =
          std::uint64_t{key.peer} << 32 | static_cast<std::uint32_t>(key.tag);
      const std::uint64_t parts[] = {key.comm, peer_and_tag};
      return fnv1a(std::as_bytes(std::span(parts)));
    }
  };
  // The receives of a key, by number.
  struct Line {
    std::uint64_t made = 0;
    std::unordered_map<std::uint64_t, Receiving*> waiting;  // no offer is there yet
    std::unordered_map<std::uint64_t, Offered> offers;      // no receive is there yet
  };

  std::unordered_map<Key, std::uint64_t, KeyHash> sends_;  // made here
  std::unordered_map<Key, Line, KeyHash> lines_;
  std::unordered_map<PeerId, std::size_t> offers_;  // of each peer, that wait for a receive
};

}  // namespace lfc::partitioned
