// OfiLink: the link over libfabric, with frames and remote memory over any provider with reliable datagrams (RDM).
//
//   OfiOptions options;
//   options.provider = "tcp;ofi_rxm";       // empty: the best one present
//   options.interface = "10.77.0.0/24";     // for providers over IP
//   options.interfaces = list_interfaces();
//   std::unique_ptr<Link> link = make_ofi_link(options, identity, sink, counters, why_not);
//   if (!link) complain(why_not);
//
// One endpoint serves all peers, so every frame carries a wire::Header. A connection to a peer is a numbered slot on
// either side; `hello` and `hello_ack` carry it to the other side. A slot is never used twice, so a frame of an earlier
// connection cannot be mistaken for one of a later. The frames of a connection are numbered from 1 (handshake frames
// are 0). A gap means that the provider lost a connection with frames in it, and breaks the connection: at once where
// frames cannot overtake one another, otherwise when it does not close for 5 s.
//
// Invariants (tests/unit/link/ofi):
//  - A frame is never larger than the provider's eager limit, because larger messages overtake one another in most
//    providers. Frames that do so nevertheless are put in order again.
//  - A hello is repeated until the reply arrives, because providers lose frames when two processes connect to each
//    other at the same time.
//  - put() is native only if its completion proves that the target's memory has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "link/interfaces.hpp"
#include "link/link.hpp"
#include "stats/counters.hpp"
#include "wire/address.hpp"

namespace lfc {

// PutProof: how the origin of a put detects that the target's memory has changed.
enum class PutProof : std::uint8_t {
  automatic,
  delivery_complete,  // the provider's completion means so
  read_back,          // a read of the last byte, which the provider orders after the write
  none,               // no proof: the NI carries puts in frames
};

struct OfiOptions {
  std::string name = "ofi";  // of the link and its section in addresses; one per rail
  std::string provider;      // libfabric's name; empty: automatic
  std::string interface;     // over IP: as select_interfaces() takes it, the first match is used
  std::vector<Interface> interfaces{};  // of this node, from list_interfaces()
  std::string domain;                 // otherwise: libfabric's domain ("mlx5_0"); empty: the first
  std::size_t frame_size = 32768;     // header included; providers may limit it further
  std::uint32_t send_frames = 64;     // buffers of frames on their way out
  std::uint32_t receive_frames = 64;  // buffers of frames on their way in
  bool remote_memory = true;          // put and get by the provider, where it can
  PutProof put_proof = PutProof::automatic;
};

// Opens the link. Null: impossible, and `why_not` is one line with the reason.
std::unique_ptr<Link> make_ofi_link(const OfiOptions& options, const Identity& identity,
                                    FrameSink& sink, Counters& counters, std::string& why_not);

// True: libfabric has deprecated this provider. The provider reads nothing from a connection until 24 bytes of header
// have arrived. So a receive buffer that fills in the middle of a header stays full, and both ends wait for ever. No
// test judges the link over it, and a user who names it is warned.
inline constexpr std::string_view kHangingOfiProvider = "sockets";

// Returns the names of the present providers with reliable datagrams, in libfabric's order.
std::vector<std::string> ofi_providers();

}  // namespace lfc
