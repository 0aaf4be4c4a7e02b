// VerbsLink: a link over RDMA devices (InfiniBand, RoCE) by libibverbs itself. The page is README.md of this folder.
//
//   VerbsOptions options;
//   options.selection = "mlx5_0:1";                          // as choose_ports() takes it; the first match is used
//   std::unique_ptr<Link> link = make_verbs_link(options, identity, sink, counters, why_not);
//   if (!link) complain(why_not);
//
// One reliable connection (a queue pair) for each peer that talks, made on demand; all receive from one shared queue. A
// process that does not talk costs its address.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "link/link.hpp"
#include "stats/counters.hpp"
#include "wire/address.hpp"

namespace lfc {

struct VerbsOptions {
  std::string name = "verbs";  // of the link and its section in addresses
  std::string selection;       // devices, ports, interfaces; empty: what is active
  bool remote_memory = true;   // put and get by the device
  // The device repeats what has not been acknowledged for so long, so many times; then the peer counts as lost.
  std::chrono::milliseconds timeout{500};
  std::uint8_t retries = 6;  // soft-RoCE takes 7 for `for ever`
  // Likewise what found no receive buffer, which does not happen. 7: for ever.
  std::uint8_t rnr_retries = 7;
  // After so long without an answer to the first hello the peer's kernel is asked whether the process lives.
  std::chrono::milliseconds connect_timeout{10'000};
};

// nullptr: impossible, and `why_not` says why in one line.
std::unique_ptr<Link> make_verbs_link(const VerbsOptions& options, const Identity& identity,
                                      FrameSink& sink, Counters& counters, std::string& why_not);

// Whether the kernel has an active port of an RDMA device. Loads nothing; without a device, one look into a folder.
bool has_active_rdma_port(const char* devices = "/sys/class/infiniband");

// A selection for links that know interfaces only: a device of RoCE becomes its address. As it is where it names none.
std::string without_rdma_devices(std::string_view selection);

}  // namespace lfc
