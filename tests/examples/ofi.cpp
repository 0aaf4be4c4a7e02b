// Settings for the examples in common/link, link/ofi and link/shm, but for those of link.cpp
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include "engine/ni.hpp"
#include "given.hpp"
#include "link/connections.hpp"
#include "link/far.hpp"
#include "link/ip_address.hpp"
#include "link/ofi/ofi_buffers.hpp"
#include "link/ofi/ofi_connections.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_frames.hpp"
#include "link/ofi/ofi_handshake.hpp"
#include "link/ofi/ofi_section.hpp"
#include "link/ofi/ofi_transfers.hpp"
#include "link/ofi/peer_probe.hpp"
#include "link/pairing.hpp"
#include "link/shm/incoming_places.hpp"
#include "link/shm/outgoing.hpp"

namespace lfc::examples {

using Clock = std::chrono::steady_clock;

extern const Given complain, connect_again, count, end, frame, give_up, is_data, lose, name,
    own_name, payload, send_at_once, serve_claims, use, wanted;
extern const Address address, own_address, peer_address;
extern std::string why_not;
extern const Slice* slices;

void connections(const Interface& interface) {
#include "common/link/connections.hpp.example"
}

void far(Ni& ni, PeerId peer) {
#include "common/link/far.hpp.example"
}

void ip_address(socklen_t length, sockaddr_storage& storage) {
#include "common/link/ip_address.hpp.example"
}

void buffers(OfiFabric& fabric, fid_ep* endpoint, std::size_t size, fi_addr_t to) {
#include "common/link/ofi/ofi_buffers.hpp.example"
}

void connections(OfiConnections& connections, PeerId peer) {
#include "common/link/ofi/ofi_connections.hpp.example"
}

void fabric(const OfiOptions& options, fi_cq_msg_entry* entries) {
#include "common/link/ofi/ofi_fabric.hpp.example"
}

void frames(OfiFrames& frames, PeerId peer, Meta meta, OfiConnection& connection,
            std::uint32_t sequence) {
#include "common/link/ofi/ofi_frames.hpp.example"
}

void handshake(OfiHandshake& handshake, OfiConnection& connection, Clock::time_point now) {
#include "common/link/ofi/ofi_handshake.hpp.example"
}

void section() {
#include "common/link/ofi/ofi_section.hpp.example"
}

void transfers(OfiTransfers& transfers, const OfiTransfers::Request& request, Operation* operation,
               Transfer& transfer) {
#include "common/link/ofi/ofi_transfers.hpp.example"
}

void peer_probe(std::span<const std::byte> address, std::string& why) {
#include "common/link/ofi/peer_probe.hpp.example"
}

void pairing(PairRails pair) {
#include "common/link/pairing.hpp.example"
}

void incoming_places(OwnSegment segment) {
#include "common/link/shm/incoming_places.hpp.example"
}

void outgoing(std::optional<RemotePlace> place, ProcessWatch watch, SingleCopy& single_copy,
              Meta meta) {
#include "common/link/shm/outgoing.hpp.example"
}

}  // namespace lfc::examples
