// Interfaces of this node: the list of them, the user's choice among them, and the
// decision which of a peer's addresses can be reached from which of ours. Used by every link that
// runs over IP (tcp, ofi).
//
//   std::vector<Interface> rails;
//   if (!select_interfaces("eth0,10.77.0.0/24", list_interfaces(), rails, problem))
//     complain(problem);        // "no interface is named eth0 (there are: lo, eth1)"
//   ...
//   if (!can_reach(rails[0], peer_ip, peer_node_tag, why_not)) use_another_link(why_not);
//
// An Interface is one address: a device with three addresses is listed three times. No packet is
// ever sent from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "link/ip_address.hpp"

namespace lfc {

struct Interface {
  std::string name;
  IpAddress address;
  unsigned prefix = 0;    // bits of the network part
  unsigned megabits = 0;  // speed that the driver reports; 0: unknown
  bool running = false;   // up, and it has a carrier
  bool gateway = false;   // a route of this family leads from it to a gateway
  bool standard = false;  // the default route of this family does
  bool tunnel = false;    // it leads to one other end only, as tunnels and modems do
};

// Devices that tcp uses at once, and addresses of each.
inline constexpr std::size_t kMostInterfaces = 8;
inline constexpr std::size_t kMostAddresses = 4;

// Every address of every device, in the kernel's order, also of devices that are down.
std::vector<Interface> list_interfaces();

// Chooses from `all` by the user's comma-separated list. An item is a device's name
// (optionally "name:4" or "name:6" for that family only), an address, or a CIDR ("10.77.0.0/24",
// "fd00::/8"). A leading '^' turns the list around: everything but those. Empty: everything.
//
// A name stands for one address of the device: its first IPv4 address, else its first IPv6 address
// that is not link-local, loopback addresses last. A name that no device has stands for all devices whose names
// begin so, also behind a '^'. An address or CIDR stands for every address it contains. Loopback is chosen only when
// an item of a list without '^' names it. A device that containers, virtual machines or tunnels make
// (docker0, wg0, ...) is chosen only then, or when nothing else is left. The result keeps the order of the
// user's list, without duplicates.
//
// False: an item matches nothing or is malformed, or nothing is left; `problem` is one line.
bool select_interfaces(std::string_view selection, const std::vector<Interface>& all,
                       std::vector<Interface>& chosen, std::string& problem);

// Whether the list is well-formed, independent of this node's devices.
bool is_selection(std::string_view selection);

// Removes the interfaces beyond kMostInterfaces from `chosen`, and returns them. Those named first stay; where the list
// names none, that of the default route and the fastest ones stay.
std::vector<Interface> drop_surplus(std::string_view selection, std::vector<Interface>& chosen);

// The items of a list with '^' that exclude nothing here.
std::vector<std::string> idle_exclusions(std::string_view selection,
                                         const std::vector<Interface>& all);

// Further addresses of the chosen device, at most kMostAddresses with the chosen one: one of each other subnet, IPv4
// first. None if the list contains an address or a CIDR; those of one family if it names one.
std::vector<Interface> other_addresses(std::string_view selection,
                                       const std::vector<Interface>& all, const Interface& chosen);

// A number that is the same for all processes that share this node's network (loopback included)
// and differs between nodes and between network namespaces. Publish it beside an address: with it
// the peer knows whether a loopback address means this node, or its own. Without /proc it is a guess: then processes
// with the same addresses count as one node.
std::uint64_t node_tag() noexcept;
bool is_same_node(std::uint64_t tag, std::uint64_t other, bool same_address) noexcept;

// Whether packets to `peer` would leave through `local`: same subnet, or by the kernel's routing
// table. `peer_node` is the node_tag() the peer published. Loopback addresses, and addresses that
// this node has itself, reach only peers on this node.
bool can_reach(const Interface& local, const IpAddress& peer, std::uint64_t peer_node,
               std::string& why_not);

}  // namespace lfc
