// Ports: the RDMA devices of this node and their ports, and the choice of a port and GID for a link.
//
//   const std::vector<Port> ports = list_ports(*api);
//   std::vector<Choice> chosen;
//   if (!choose_ports("mlx5_0:1", ports, list_interfaces(), chosen, problem)) complain(problem);
//
// The selection is the user's (btl_lfc_interfaces). An item that names a device ("mlx5_0") or one of its ports
// ("mlx5_0:1") stands for it; every other one is an item of select_interfaces(), and stands for the ports of RoCE whose
// GID has an address that this chooses. Empty: every active port; of RoCE, those with a GID on an interface that tcp
// would choose. On Ethernet only GIDs of RoCE v2 are used, because only those are routed: so the rule of IP addresses
// applies to them.
//
// choose_ports() is a pure function. Held by tests/unit/link/verbs_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/interfaces.hpp"
#include "link/verbs/api.hpp"

namespace lfc::verbs {

using RawGid = std::array<std::uint8_t, 16>;

struct Gid {
  enum class Kind : std::uint8_t { infiniband, roce1, roce2 };
  std::uint8_t index = 0;
  Kind kind = Kind::infiniband;
  RawGid raw{};

  // Returns the address of a GID of RoCE v2: IPv4 addresses stand in the last four bytes.
  IpAddress ip() const noexcept;
};

struct Port {
  std::string device;
  std::uint8_t number = 1;
  bool ethernet = false;
  bool active = false;
  std::uint16_t lid = 0;
  unsigned megabits = 0;
  std::vector<Gid> gids;

  std::string name() const { return device + ":" + std::to_string(number); }
};

// Reads the port's attributes. False: the device does not report them.
bool query_port(const Api& api, ibv_context* context, std::uint8_t number, ibv_port_attr& out);

// Returns all ports of all devices, in the library's order.
std::vector<Port> list_ports(const Api& api);

struct Choice {
  Port port;
  Gid gid;
  std::optional<Interface> interface;  // RoCE: the one of the GID's address
};

// False: nothing is left, or an item matches nothing; `problem` is one line.
bool choose_ports(std::string_view selection, const std::vector<Port>& ports,
                  const std::vector<Interface>& interfaces, std::vector<Choice>& chosen,
                  std::string& problem);

// Returns the selection for links that know interfaces only: a RoCE device becomes the address of its GID.
std::string without_devices(std::string_view selection, const std::vector<Port>& ports,
                            const std::vector<Interface>& interfaces);

}  // namespace lfc::verbs
