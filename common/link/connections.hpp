// How many connections between two processes an interface wants, because one flow does not fill it: in the clouds of
// Amazon (5 Gbit/s for a flow, 10 in a placement group) and Google, and where several devices are bonded, each flow
// goes over one of them.
//
//   for (unsigned strand = 1; strand < connections_for(interface.name); ++strand) connect_again(strand);
#pragma once

#include <string>

namespace lfc {

// 1 where nothing speaks for more. `root` is where the kernel tells of devices.
unsigned connections_for(const std::string& device, const std::string& root = "/sys/class/net");

}  // namespace lfc
