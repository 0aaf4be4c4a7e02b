// BondLink: several links of one kind (rails) as one. A message uses all of them, and a rail that
// dies is left without losing or doubling anything.
//
//   auto bond = make_bond_link(options, sink, counters);
//   for (const Interface& interface : chosen)
//     bond->add_rail(interface.name, make_rail(interface, bond->rail_sink()));
//   ni.add_link(std::move(bond));
//
// - Small frames of a peer take one rail, the lead; large ones the rail with the least under way; the
//   receiver restores their order.
// - A put or get is cut into chunks, and each rail takes the next one when it has room: so rails
//   share by their speed, without being measured. It has finished when all chunks have.
// - Frames are kept until the peer acknowledges them. When a rail breaks, or makes no progress for
//   `rail_timeout` while the same peer answers on another, it is closed for good; its frames go
//   again over the others, its gets at once, its puts once the peer has closed it too, so that no
//   late byte of theirs can land on newer data.
// - With one rail left for a peer nothing is kept; the peer is broken when that one is.
// - Rails that carry chunks only are connected at the first transfer that is cut. Without them there is no less than
//   before: neither frames nor the peer depend on them.
// - A peer without a bond has one rail; its frames pass unchanged.
// Which rails of two processes pair is decided by BondOptions::pair. They must give equal keys for the same
// registrations, one after the other, as tcp and sim do.
// Source: MP_Lite's channel bonding (Chen 2001, ch. 5; design B), with failover.
// Tests: tests/unit/link/bond/bond_test.cpp, tests/conformance, tests/fault/rails.sh.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "link/link.hpp"
#include "link/pairing.hpp"
#include "stats/counters.hpp"

namespace lfc {

struct BondOptions {
  std::string name = "bond";
  // Without progress for this long, while another rail answers, a rail is given up.
  std::chrono::milliseconds rail_timeout{1500};
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
  // Which of our rails belongs to which of a peer's, the best first; null: each to that of its position.
  PairRails pair = nullptr;
  // Receives one line for the user when a rail is lost, or left out from the start.
  void (*notice)(std::string_view line) = nullptr;
};

inline constexpr std::size_t kMostRails = 8;

enum class RailUse : std::uint8_t { all, chunks };

class Bond : public Link {
 public:
  using Link::Link;
  // The sink for the next rail.
  virtual FrameSink& rail_sink() = 0;
  // Adds a rail made with that sink; at most kMostRails. `label` is for the user.
  virtual void add_rail(std::string label, std::unique_ptr<Link> rail,
                        RailUse use = RailUse::all) = 0;
  virtual std::size_t rails() const noexcept = 0;
};

std::unique_ptr<Bond> make_bond_link(const BondOptions& options, FrameSink& sink,
                                     Counters& counters);
// Bytes of buffers that a talking peer may cost at most.
std::size_t bond_peer_memory() noexcept;

}  // namespace lfc
