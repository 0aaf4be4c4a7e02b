// BondLink: several links of one kind (rails) as one link. A message uses all rails. When a rail breaks, nothing is
// lost or doubled.
//
//   auto bond = make_bond_link(options, sink, counters);
//   for (const Interface& interface : chosen)
//     bond->add_rail(interface.name, make_rail(interface, bond->rail_sink()));
//   ni.add_link(std::move(bond));
//
// - Small frames of a peer take one rail, the lead. Large ones take the rail with the least under way. The receiver
//   restores their order.
// - A put or get is cut into chunks, and each rail takes the next one when it has room. So rails share the work by
//   their speed, without being measured. The transfer has finished when all chunks have.
// - Frames are kept until the peer acknowledges them. A rail is closed when it breaks, or when it makes no
//   progress for `rail_timeout` while the same peer replies on another one. Its frames are sent again over the others,
//   and its gets at once. Its puts wait until the peer has closed the rail too, so that no late byte of them can land
//   on newer data.
// - A rail that was lost, or could not be connected, is connected again while another one works (returns.hpp).
// - The peer is broken when its last rail is.
// - Rails that carry chunks only are connected at the first transfer that is cut. Neither frames nor the peer depend on
//   them.
// - A peer without a bond has one rail; its frames pass unchanged.
// BondOptions::pair decides which rails of two processes pair. Rails must give equal keys for the same sequence of
// registrations, as tcp and sim do.
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
  // A rail is given up after so long without progress while another rail of the peer replies.
  std::chrono::milliseconds rail_timeout{1500};
  std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;
  // Pairs our rails with those of a peer, the best first. Null: rails of the same position pair.
  PairRails pair = nullptr;
  // Receives one line for the user when a rail is lost, or left out from the start, and when it is used again.
  void (*notice)(std::string_view line) = nullptr;
};

inline constexpr std::size_t kMostRails = 8;

enum class RailUse : std::uint8_t { all, chunks };

class Bond : public Link {
 public:
  using Link::Link;
  // Returns the sink for the next rail.
  virtual FrameSink& rail_sink() = 0;
  // Adds a rail made with that sink; at most kMostRails. `label` is for the user.
  virtual void add_rail(std::string label, std::unique_ptr<Link> rail,
                        RailUse use = RailUse::all) = 0;
  virtual std::size_t rails() const noexcept = 0;
};

std::unique_ptr<Bond> make_bond_link(const BondOptions& options, FrameSink& sink,
                                     Counters& counters);
// Returns how many bytes of buffers a connected peer takes at most.
std::size_t bond_peer_memory() noexcept;

}  // namespace lfc
