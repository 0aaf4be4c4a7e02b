// PortRange: the user's range of ports on which processes may listen.
//
//   PortRange ports;
//   if (!parse_ports("5000-5100", ports, problem)) complain(problem);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lfc {

struct PortRange {
  std::uint16_t first = 0;  // 0: any port, as the kernel chooses
  std::uint16_t last = 0;
};

// "A-B", or "A" for one port; empty: any. False: it is neither; `problem` is one line.
bool parse_ports(std::string_view text, PortRange& ports, std::string& problem);

}  // namespace lfc
