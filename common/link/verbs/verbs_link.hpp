// VerbsLink: a cable over RDMA devices (InfiniBand, RoCE) by libibverbs itself. The page is README.md of this folder.
//
//   VerbsOptions options;
//   options.selection = "mlx5_0:1";                          // as choose_ports() takes it; the first match is used
//   std::unique_ptr<Link> link = make_verbs_link(options, identity, sink, counters, why_not);
//   if (!link) complain(why_not);
//
// One reliable connection (a queue pair) for each peer that talks, made on demand; all receive from one shared queue. A
// process that does not talk costs its address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "link/link.hpp"
#include "stats/counters.hpp"
#include "wire/address.hpp"

namespace lfc {

struct VerbsOptions {
  std::string name = "verbs";  // of the link and its section in addresses
  std::string selection;       // devices, ports, interfaces; empty: what is active
  bool remote_memory = true;   // put and get by the device
  // Of the device's own repetition of what nobody acknowledges: 4.096 us << timeout each, so many times.
  std::uint8_t timeout = 17;
  std::uint8_t retries = 7;
};

// nullptr: impossible, and `why_not` says why in one line.
std::unique_ptr<Link> make_verbs_link(const VerbsOptions& options, const Identity& identity,
                                      FrameSink& sink, Counters& counters, std::string& why_not);

}  // namespace lfc
