// Pairing: the pairs of rails of two processes, computed from both published addresses, so that both processes find the
// same pairs.
//
//   const Pairing pairing = pair(own_address, peer_address);     // a PairRails
//   for (const RailPair& each : pairing.pairs) use(each.ours, each.theirs);   // the best comes first
//   for (const RailLeftOut& each : pairing.left_out) complain(each.ours, each.why);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/address.hpp"

namespace lfc {

// Rails are counted from 0, in the order in which their process has opened them.
struct RailPair {
  std::uint8_t ours;
  std::uint8_t theirs;
  std::string why;  // for the user
};
struct RailLeftOut {
  std::uint8_t ours;
  std::string why;
};
struct Pairing {
  std::vector<RailPair> pairs;
  std::vector<RailLeftOut> left_out;
};

using PairRails = Pairing (*)(const Address& own, const Address& peer);

}  // namespace lfc
