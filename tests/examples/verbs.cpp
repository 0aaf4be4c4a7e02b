// Settings for the examples in common/link/verbs
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include "given.hpp"
#include "link/verbs/api.hpp"
#include "link/verbs/buffers.hpp"
#include "link/verbs/connections.hpp"
#include "link/verbs/datagrams.hpp"
#include "link/verbs/device.hpp"
#include "link/verbs/frames.hpp"
#include "link/verbs/handshake.hpp"
#include "link/verbs/health.hpp"
#include "link/verbs/hello.hpp"
#include "link/verbs/liveness.hpp"
#include "link/verbs/ports.hpp"
#include "link/verbs/send_queue.hpp"
#include "link/verbs/transfers.hpp"
#include "link/verbs/verbs_link.hpp"

namespace lfc::verbs::examples {

using lfc::examples::Given;

extern const Given busy, bytes, choice, complain, count, deliver, end, entries, give_up, index, ip,
    key, now, offer, ok, on_hello, our_ip, patience, port, post, queue_pair, room, send, size, way,
    address;
extern std::string why_not;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;
extern const Slice* slices;

void api(ibv_context* context) {
#include "common/link/verbs/api.hpp.example"
}

void buffers() {
#include "common/link/verbs/buffers.hpp.example"
}

void connections(Connections& connections, PeerId peer, const Address& address) {
#include "common/link/verbs/connections.hpp.example"
}

void datagrams(Device& device, const ibv_wc& completion) {
#include "common/link/verbs/datagrams.hpp.example"
}

void device(const Api* api) {
#include "common/link/verbs/device.hpp.example"
}

void liveness() {
#include "common/link/verbs/liveness.hpp.example"
}

void frames(Frames& frames, PeerId peer, Meta meta, Connection& connection, std::uint64_t number,
            const ibv_wc& completion) {
#include "common/link/verbs/frames.hpp.example"
}

void handshake(Handshake& handshake, Connection& connection) {
#include "common/link/verbs/handshake.hpp.example"
}

void health(Device& device) {
#include "common/link/verbs/health.hpp.example"
}

void hello(const HelloPart& message, HelloInbox& inbox, Bytes part) {
#include "common/link/verbs/hello.hpp.example"
}

void ports(const Api* api, std::string& problem){
#include "common/link/verbs/ports.hpp.example"
}

Given send_queue(SendQueue& queue, std::uint64_t number) {
#include "common/link/verbs/send_queue.hpp.example"
  return {};
}

void transfers(Transfers& transfers, const Transfers::Request& request, Operation* operation,
               Work& work) {
#include "common/link/verbs/transfers.hpp.example"
}

void verbs_link(const Identity& identity, FrameSink& sink, Counters& counters) {
#include "common/link/verbs/verbs_link.hpp.example"
}

}  // namespace lfc::verbs::examples
