// RailChoice: the pairing of rails with those of a peer, as both publish them, and the reasons that have been reported
// to the user for rails left out.
//
//   RailChoice choice(options.pair);
//   choice.set_own(address);
//   for (const RailPair& pair : choice.pairs_with(peer, rails).pairs) connect(pair.ours);
//   if (choice.is_news(rail, why)) report_to_user(rail, why);   // once for each reason, not once for each peer
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "link/pairing.hpp"

namespace lfc::bond {

class RailChoice {
 public:
  explicit RailChoice(PairRails pair) : pair_(pair) {}

  void set_own(std::span<const std::byte> address) { own_ = Address::parse(address); }
  // Pairs our `rails` with the peer's. Without a PairRails function, rails of the same position pair.
  Pairing pairs_with(const Address& peer, std::uint8_t rails) const {
    if (pair_ != nullptr && own_) return pair_(*own_, peer);
    Pairing by_position;
    for (std::uint8_t i = 0; i < rails; ++i) by_position.pairs.push_back({i, i, {}});
    return by_position;
  }
  // True: the peer may begin a session with us over this rail.
  bool may_call(const Address& peer, std::uint8_t rail, std::uint8_t rails) const {
    const Pairing pairing = pairs_with(peer, rails);
    return std::any_of(pairing.pairs.begin(), pairing.pairs.end(),
                       [rail](const RailPair& pair) { return pair.ours == rail; });
  }
  bool is_news(std::uint8_t rail, const std::string& why) {
    if (pair_ == nullptr) return false;
    std::string text = std::to_string(rail) + why;
    if (std::find(reported_.begin(), reported_.end(), text) != reported_.end()) return false;
    reported_.push_back(std::move(text));
    return true;
  }

 private:
  PairRails pair_;
  std::optional<Address> own_;
  std::vector<std::string> reported_;
};

}  // namespace lfc::bond
