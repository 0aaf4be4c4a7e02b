// VerbsLink: the link over RDMA devices (InfiniBand, RoCE) by libibverbs. Its page is README.md of this folder.
//
//   VerbsOptions options;
//   options.selection = "mlx5_0:1";                          // as choose_ports() takes it; the first match is used
//   options.interfaces = list_interfaces();
//   std::unique_ptr<Link> link = make_verbs_link(options, identity, sink, counters, why_not);
//   if (!link) complain(why_not);
//
// It makes one reliable connection (a queue pair) for each peer that communicates, on demand. All connections receive
// from one shared queue. A peer that does not communicate costs its address.
#pragma once

#include <chrono>
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

struct VerbsOptions {
  std::string name = "verbs";           // of the link and its section in addresses
  std::string selection;                // devices, ports, interfaces; empty: active ports
  std::vector<Interface> interfaces{};  // of this node, from list_interfaces()
  bool remote_memory = true;            // put and get by the device
  // The device retransmits unacknowledged packets after so long, so many times. Then the peer counts as lost.
  std::chrono::milliseconds timeout{500};
  std::uint8_t retries = 6;  // soft-RoCE treats 7 as unlimited
  // Retransmissions to a receiver without a receive buffer, which does not occur. 7: unlimited.
  std::uint8_t rnr_retries = 7;
  // After so long without a reply to the first request, the peer's kernel is probed whether the process is running.
  std::chrono::milliseconds connect_timeout{10'000};
};

// Opens the link. Null: impossible, and `why_not` is one line with the reason.
std::unique_ptr<Link> make_verbs_link(const VerbsOptions& options, const Identity& identity,
                                      FrameSink& sink, Counters& counters, std::string& why_not);

// Returns whether the kernel has an active port of an RDMA device. Loads no library; without a device it reads one
// folder.
bool has_active_rdma_port(const char* devices = "/sys/class/infiniband");

// Returns the selection for links that know interfaces only: a RoCE device becomes its address; the rest is unchanged.
// `all`: the interfaces of this node.
std::string without_rdma_devices(std::string_view selection, const std::vector<Interface>& all);

}  // namespace lfc
