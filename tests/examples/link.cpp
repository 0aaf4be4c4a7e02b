// Settings for the examples at the top of the headers in common/link (scripts/checks/examples): the types of their
// variables. Nothing here is ever run.
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ni.hpp"
#include "link/bond/arrivals.hpp"
#include "link/bond/bond_link.hpp"
#include "link/bond/retained.hpp"
#include "link/interfaces.hpp"
#include "link/link.hpp"
#include "link/loop/loop_link.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/ofi/peer_probe.hpp"
#include "link/present_time.hpp"
#include "link/region.hpp"
#include "link/ring.hpp"
#include "link/shm/segment.hpp"
#include "link/shm/shm_link.hpp"
#include "link/sim/random.hpp"
#include "link/sim/sim_fabric.hpp"
#include "link/tcp/endpoint.hpp"
#include "link/tcp/socket.hpp"
#include "link/tcp/stream.hpp"
#include "link/tcp/tcp_link.hpp"
#include "link/tcp/timer.hpp"
#include "link/traits.hpp"

namespace lfc {

void complain(std::string_view why);

void link(const ShmOptions& options, FrameSink& sink, std::string& why_not,
          AddressWriter& address_writer, PeerId peer, const Address& peer_address, Meta meta,
          const Slice* slices, int n) {
#include "common/link/link.hpp.example"
}

void ring(std::byte* memory, Meta meta, const Slice* slices, int n, void (*use)(const RingFrame&)) {
#include "common/link/ring.hpp.example"
}

void region(RegionTable& table, std::byte* buffer, std::size_t size, std::uint64_t address) {
#include "common/link/region.hpp.example"
}

void present_time(PresentTime& present, PresentTime::Time asked_at,
                  std::chrono::milliseconds patience, void (*give_up)()) {
#include "common/link/present_time.hpp.example"
}

void interfaces(std::string& problem, std::string& why_not, const IpAddress& peer_ip,
                std::uint64_t peer_node_tag, void (*use_another_link)(std::string_view)) {
#include "common/link/interfaces.hpp.example"
}

void loop(const Identity& identity, FrameSink& sink, std::string& why_not) {
#include "common/link/loop/loop_link.hpp.example"
}

void shm(FrameSink& sink) {
#include "common/link/shm/shm_link.hpp.example"
}

void segment(RingShape shape, std::uint32_t places, std::span<const std::byte> address,
             std::string& why_not) {
#include "common/link/shm/segment.hpp.example"
}

void tcp_link(const std::vector<Interface>& rails, const Identity& identity, FrameSink& sink,
              Counters& counters, std::string& why_not) {
#include "common/link/tcp/tcp_link.hpp.example"
}

void a_socket(const IpAddress& address, const IpAddress& local, const IpAddress& remote,
              PortRange ports, std::uint16_t port, std::uint16_t remote_port, std::string& why) {
  using tcp::Socket, tcp::SocketOptions;
#include "common/link/tcp/socket.hpp.example"
}

void silence(const tcp::Socket& socket, std::chrono::milliseconds timeout,
             void (*complain)(std::chrono::milliseconds)) {
  using namespace tcp;
  using Clock = Silence::Clock;
#include "common/link/tcp/silence.hpp.example"
}

void timers(std::chrono::milliseconds period, void (*complain)(const char*),
            void (*check_peers)()) {
  using tcp::Timer;
#include "common/link/tcp/timer.hpp.example"
}

void endpoints(AddressWriter& writer, const std::vector<tcp::Endpoint>& endpoints,
               const Address& peer_address, void (*complain)(const std::string&)) {
  using namespace tcp;
#include "common/link/tcp/endpoint.hpp.example"
}

void ports(void (*complain)(const std::string&), std::string& problem) {
#include "common/link/ports.hpp.example"
}

void ofi(const Identity& identity, FrameSink& sink, Counters& counters, std::string& why_not) {
#include "common/link/ofi/ofi_link.hpp.example"
}

void bond_link(const BondOptions& options, FrameSink& sink, Counters& counters, Ni& ni,
               const std::vector<Interface>& chosen,
               std::unique_ptr<Link> (*make_rail)(const Interface&, FrameSink&)) {
#include "common/link/bond/bond_link.hpp.example"
}

void random_numbers(std::uint64_t seed) {
#include "common/link/sim/random.hpp.example"
}

void sim(const Config& config_a, const Config& config_b, bool finished) {
#include "common/link/sim/sim_fabric.hpp.example"
}

}  // namespace lfc
