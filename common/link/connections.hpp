// connections_for: the number of connections between two processes that fill an interface. One flow does not fill it in
// the clouds of Amazon (5 Gbit/s for a flow, 10 in a placement group) and Google. Where several devices are bonded,
// each flow goes over one of them.
//
//   for (unsigned strand = 1; strand < connections_for(interface.name); ++strand) connect_again(strand);
#pragma once

#include <string>

namespace lfc {

// Returns 1 where there is no reason for more. `root` is the kernel's directory of devices.
unsigned connections_for(const std::string& device, const std::string& root = "/sys/class/net");

}  // namespace lfc
