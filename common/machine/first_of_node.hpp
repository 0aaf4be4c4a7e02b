// first_of_node: whether this process is the first of its job on this node to print something, so that each node
// prints it once. The first one holds a name in the kernel (of a socket, in no folder) until it ends.
//
//   if (first_of_node(job, "rail eth1 to node n7 is left out")) print(line);
//
// It costs the first one a descriptor; if none is left, each process counts as the first. Threads: any.
// Held by tests/unit/machine/first_of_node_test.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace lfc {

bool first_of_node(std::uint32_t job, std::string_view what) noexcept;

}  // namespace lfc
