// Interfaces: the part of lfc-info that shows interfaces and RDMA devices, and a job's use of them.
//
//   show_interfaces(options, true);   // "  eth0   192.0.2.2/24, 1000 Mbit/s, up: rail 1"
#pragma once

#include "engine/open.hpp"

namespace lfc {

// `tcp`: a job with these options opens the link tcp.
void show_interfaces(const NiOptions& options, bool tcp);

}  // namespace lfc
