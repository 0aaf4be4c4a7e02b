// Settings for the examples in common/link/tcp, but for those of link.cpp
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include <cstring>

#include "given.hpp"
#include "link/tcp/active_connections.hpp"
#include "link/tcp/admission_limits.hpp"
#include "link/tcp/burst.hpp"
#include "link/tcp/connections.hpp"
#include "link/tcp/epoll_set.hpp"
#include "link/tcp/handshake.hpp"
#include "link/tcp/inbox.hpp"
#include "link/tcp/memory.hpp"
#include "link/tcp/operations.hpp"
#include "link/tcp/outbox.hpp"
#include "link/tcp/pace.hpp"
#include "link/tcp/pairs.hpp"
#include "link/tcp/receiving.hpp"
#include "link/tcp/retries.hpp"
#include "link/tcp/routes.hpp"
#include "link/tcp/sending.hpp"
#include "link/tcp/stream.hpp"
#include "link/tcp/timeouts.hpp"
#include "link/tcp/unauthenticated.hpp"

namespace lfc::tcp::examples {

using lfc::examples::Given;

extern const Given accept, address, complain, connect, copy, destination, endpoint, fd, interface,
    key, look_at, meta_prefix, name, others, pair_of, polls, port, ports, prefix_of, protocol_error,
    receive, region, send, size, socket_options, flush_is_promised, source, begun, ended, use,
    warning, write;
extern int events, n;
extern Slice* slices;
extern std::uint64_t sequence, expected;

void burst(Burst& burst, Given frame, Burst::Time now) {
#include "common/link/tcp/burst.hpp.example"
}

void connections(Connections& connections, Socket socket, PeerId peer, void (*gone)(Connection&)) {
#include "common/link/tcp/connections.hpp.example"
}

void epoll_set(Socket& socket, Connection& connection, EpollSet::Found& found) {
#include "common/link/tcp/epoll_set.hpp.example"
}

void handshake(Handshake& handshake, PeerId peer, std::string& why_not, Connection& connection) {
#include "common/link/tcp/handshake.hpp.example"
}

void active_connections(ActiveConnections& active, Connection& connection) {
#include "common/link/tcp/active_connections.hpp.example"
}

void inbox(Inbox& inbox, std::size_t need, std::size_t& taken, std::span<const std::byte> payload) {
#include "common/link/tcp/inbox.hpp.example"
}

void memory(RegisteredMemory& memory, void* data) {
#include "common/link/tcp/memory.hpp.example"
}

void operations(OperationTable& table, Operation* operation, PeerId peer, std::byte* destination,
                std::size_t size) {
#include "common/link/tcp/operations.hpp.example"
}

void outbox(Outbox& outbox, std::uint32_t operation, std::uint32_t region, std::uint64_t address,
            std::uint32_t size) {
#include "common/link/tcp/outbox.hpp.example"
}

void pace(Pace& pace, int count, ActiveConnections& active) {
#include "common/link/tcp/pace.hpp.example"
}

void pairs(const Address& own_address, const Address& peer_address) {
#include "common/link/tcp/pairs.hpp.example"
}

void receiving(Connections& connections, Sending& sending, ActiveConnections& active,
               FrameSink& sink, Counters& counters, Connection& connection) {
#include "common/link/tcp/receiving.hpp.example"
}

void retries(Retries& retries, bool was_prompt, Clock::time_point now,
             void (*connect_at)(Clock::time_point), void (*give_up)()) {
#include "common/link/tcp/retries.hpp.example"
}

void routes(const Address& peer_address, std::string& why_not) {
#include "common/link/tcp/routes.hpp.example"
}

void sending(Sending& sending, Connections& connections, Connection& connection, Prefix prefix) {
#include "common/link/tcp/sending.hpp.example"
}

void admission_limits(AdmissionLimits& limits, Clock::time_point now) {
#include "common/link/tcp/admission_limits.hpp.example"
}

bool unauthenticated(Connections& connections, Counters& counters, std::string& why_not,
                     Connection& connection, const IpAddress& ip) {
#include "common/link/tcp/unauthenticated.hpp.example"
  return true;
}

void stream(Prefix prefix, std::uint32_t length, Kind kind, std::uint16_t tag,
            std::uint16_t credits) {
#include "common/link/tcp/stream.hpp.example"
}

void timeouts(Timeouts& timeouts, Connections& connections, bool time_to_look) {
#include "common/link/tcp/timeouts.hpp.example"
}

}  // namespace lfc::tcp::examples
