#include "link/interfaces.hpp"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>
#include <tuple>

#include "base/bytes.hpp"
#include "machine/file_descriptor.hpp"
#include "machine/local_peer.hpp"

namespace lfc {
namespace {

unsigned prefix_of(const sockaddr* mask) noexcept {
  const std::optional<IpAddress> bits = IpAddress::from(mask);
  if (!bits) return 0;
  unsigned count = 0;
  for (std::size_t i = 0; i < bits->size(); ++i)
    count += static_cast<unsigned>(std::popcount(bits->bytes[i]));
  return count;
}

// The speed that the driver reports. The socket's namespace decides, /sys may be another's.
unsigned megabits_of(int socket, const char* name) noexcept {
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

// The devices from which routes lead to gateways; and to any destination, by the default route.
struct Routes {
  std::vector<std::string> gateway, standard;
};

// A line of /proc/net/route: device destination gateway flags refs use metric mask ...
// The columns of /proc/net/ipv6_route: destination prefix source prefix gateway metric refs use flags device
Routes read_routes(sa_family_t family) {
  Routes routes;
  std::ifstream file(family == AF_INET ? "/proc/net/route" : "/proc/net/ipv6_route");
  constexpr unsigned long kUpToGateway = 3;  // RTF_UP | RTF_GATEWAY
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    const bool four = family == AF_INET;
    if (word.size() < (four ? 8 : 10)) continue;
    const std::string& device = word[four ? 0 : 9];
    const unsigned long flags = std::strtoul(word[four ? 3 : 8].c_str(), nullptr, 16);
    const std::string& mask = word[four ? 7 : 1];
    if ((flags & kUpToGateway) == kUpToGateway) routes.gateway.push_back(device);
    const bool any = mask.find_first_not_of('0') == std::string::npos;
    if ((flags & 1) != 0 && any && device != "lo") routes.standard.push_back(device);
  }
  return routes;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// One item of the user's list.
struct Item {
  std::string text;
  std::string name;                // device name, or empty
  sa_family_t family = AF_UNSPEC;  // with a name: only this family
  IpAddress net;                   // without a name
  unsigned prefix = 0;
};

bool parse_item(std::string_view text, Item& item, std::string& problem) {
  item.text = text;
  const std::size_t slash = text.find('/');
  const std::string before(text.substr(0, slash));
  if (const std::optional<IpAddress> address = IpAddress::parse(before)) {
    const unsigned bits = static_cast<unsigned>(address->size() * 8);
    item.net = *address;
    item.prefix = bits;
    if (slash == std::string_view::npos) return true;
    const std::string_view after = text.substr(slash + 1);
    const auto [end, error] =
        std::from_chars(after.data(), after.data() + after.size(), item.prefix);
    if (error == std::errc{} && end == after.data() + after.size() && item.prefix <= bits)
      return true;
    problem =
        "\"" + item.text + "\": the prefix must be a number from 0 to " + std::to_string(bits);
    return false;
  }
  if (slash != std::string_view::npos) {
    problem = "\"" + item.text + "\" is not a subnet such as 10.1.0.0/16 or fd00::/8";
    return false;
  }
  item.name = before;
  if (before.ends_with(":4") || before.ends_with(":6")) {
    item.family = before.back() == '4' ? AF_INET : AF_INET6;
    item.name.resize(before.size() - 2);
  }
  return true;
}

bool covers(const Item& item, const Interface& interface) noexcept {
  if (item.name.empty()) return interface.address.in_subnet(item.net, item.prefix);
  return item.name == interface.name &&
         (item.family == AF_UNSPEC || item.family == interface.address.family);
}

// Whether the item is the beginning of the device's name.
bool begins(const Item& item, const Interface& interface) noexcept {
  return !item.name.empty() && interface.name.starts_with(item.name) &&
         (item.family == AF_UNSPEC || item.family == interface.address.family);
}

// Whether a list with '^' excludes the interface. As without '^', a name that no device has stands for beginnings.
bool excludes(const Item& item, const Interface& interface, const std::vector<Interface>& all) {
  if (covers(item, interface)) return true;
  const bool exact = std::any_of(all.begin(), all.end(),
                                 [&](const Interface& other) { return covers(item, other); });
  return !exact && begins(item, interface);
}

bool is_excluded(const std::vector<Item>& items, const Interface& interface,
                 const std::vector<Interface>& all) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& item) { return excludes(item, interface, all); });
}

// Devices that software makes, and that lead to no other node.
bool is_virtual(const Interface& interface) noexcept {
  constexpr std::string_view kBeginnings[] = {
      "docker", "podman",    "virbr", "vmnet",  "vboxnet", "br-", "veth", "cni",   "nerdctl",
      "kube",   "flannel",   "cali",  "cilium", "weave",   "lxc", "lxd",  "tun",   "tap",
      "wg",     "tailscale", "zt",    "ppp",    "gre",     "sit", "ipip", "nebula"};
  return interface.tunnel ||
         std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [&](std::string_view each) { return interface.name.starts_with(each); });
}

// The address a device's name stands for, among those `covered` by the item.
const Interface* representative(const std::vector<const Interface*>& covered) noexcept {
  const auto find = [&](auto matches) {
    const auto at = std::find_if(covered.begin(), covered.end(), matches);
    return at == covered.end() ? nullptr : *at;
  };
  const auto find_of = [&](sa_family_t family, bool loopback) {
    return find([=](auto* i) {
      return i->address.family == family && i->address.is_loopback() == loopback &&
             (family == AF_INET || !i->address.is_link_local());
    });
  };
  for (const bool loopback : {false, true})
    for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}})
      if (const auto* found = find_of(family, loopback)) return found;
  return nullptr;
}

std::string names_of(const std::vector<Interface>& all) {
  std::string names;
  std::vector<std::string_view> seen;
  for (const Interface& interface : all) {
    if (std::find(seen.begin(), seen.end(), interface.name) != seen.end()) continue;
    seen.push_back(interface.name);
    names += (names.empty() ? "" : ", ") + interface.name;
  }
  return names.empty() ? "none" : names;
}

std::string addresses_of(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& interface : all)
    text += (text.empty() ? "" : ", ") + interface.address.text() + "/" +
            std::to_string(interface.prefix);
  return text.empty() ? "none" : text;
}

void add_unique(std::vector<Interface>& chosen, const Interface& interface) {
  const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Interface& other) {
    return other.name == interface.name && other.address == interface.address;
  });
  if (!known) chosen.push_back(interface);
}

// Chooses the interfaces that one item of a list without '^' requests.
bool choose(const Item& item, const std::vector<Interface>& all, std::vector<Interface>& chosen,
            std::string& problem) {
  std::vector<const Interface*> covered;
  for (const Interface& interface : all)
    if (covers(item, interface)) covered.push_back(&interface);
  if (covered.empty())
    for (const Interface& interface : all)
      if (begins(item, interface)) covered.push_back(&interface);
  if (covered.empty()) {
    problem = item.name.empty() ? "no address of this node is in " + item.text +
                                      " (there are: " + addresses_of(all) + ")"
                                : "no interface is named \"" + item.name +
                                      "\" with an IP address (there are: " + names_of(all) + ")";
    return false;
  }
  std::erase_if(covered, [](auto* interface) { return !interface->running; });
  if (covered.empty()) {
    problem = "the interface that \"" + item.text + "\" names is down";
    return false;
  }
  if (item.name.empty()) {
    for (const Interface* interface : covered) add_unique(chosen, *interface);
    return true;
  }
  bool any = false;
  for (const Interface* first : covered) {
    std::vector<const Interface*> device;
    for (const Interface* interface : covered)
      if (interface->name == first->name) device.push_back(interface);
    const Interface* one = representative(device);
    if (one == nullptr) continue;
    add_unique(chosen, *one);
    any = true;
  }
  if (!any) problem = "interface \"" + item.name + "\" has only link-local addresses";
  return any;
}

// Chooses one address of each running device that no item excludes.
void choose_all_but(const std::vector<Item>& excluded, const std::vector<Interface>& all,
                    std::vector<Interface>& chosen) {
  std::vector<std::string_view> devices;
  for (const Interface& interface : all)
    if (std::find(devices.begin(), devices.end(), interface.name) == devices.end())
      devices.push_back(interface.name);
  for (const std::string_view device : devices) {
    std::vector<const Interface*> usable;
    for (const Interface& interface : all) {
      if (interface.name == device && interface.running && !interface.address.is_loopback() &&
          !is_excluded(excluded, interface, all))
        usable.push_back(&interface);
    }
    if (const Interface* one = representative(usable)) add_unique(chosen, *one);
  }
  if (!std::all_of(chosen.begin(), chosen.end(), is_virtual)) std::erase_if(chosen, is_virtual);
}

// The user's list as items; false: one is malformed.
bool parse_selection(std::string_view selection, bool& exclude, std::vector<Item>& items,
                     std::string& problem) {
  selection = trimmed(selection);
  exclude = selection.starts_with('^');
  if (exclude) selection.remove_prefix(1);
  while (!selection.empty()) {
    const std::size_t comma = std::min(selection.find(','), selection.size());
    const std::string_view text = trimmed(selection.substr(0, comma));
    selection.remove_prefix(std::min(comma + 1, selection.size()));
    if (text.empty()) continue;
    if (text.starts_with('^')) {
      problem = "'^' must come first: it turns the whole list around";
      return false;
    }
    if (!parse_item(text, items.emplace_back(), problem)) return false;
  }
  return true;
}

}  // namespace

std::vector<Interface> list_interfaces() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> guard(list, ::freeifaddrs);
  const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Routes routes = read_routes(AF_INET);
  const Routes routes6 = read_routes(AF_INET6);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::optional<IpAddress> address = IpAddress::from(entry->ifa_addr);
    if (!address) continue;
    constexpr unsigned kRunning = IFF_UP | IFF_RUNNING;
    const Routes& known = address->family == AF_INET ? routes : routes6;
    found.push_back(
        {entry->ifa_name, *address, prefix_of(entry->ifa_netmask),
         megabits_of(probe.get(), entry->ifa_name), (entry->ifa_flags & kRunning) == kRunning,
         contains(known.gateway, entry->ifa_name), contains(known.standard, entry->ifa_name),
         (entry->ifa_flags & IFF_POINTOPOINT) != 0});
  }
  return found;
}

bool select_interfaces(std::string_view selection, const std::vector<Interface>& all,
                       std::vector<Interface>& chosen, std::string& problem) {
  chosen.clear();
  bool exclude = false;
  std::vector<Item> items;
  if (!parse_selection(selection, exclude, items, problem)) return false;
  // Excluding what does not exist is no mistake: one list serves nodes that differ.
  if (items.empty() || exclude) {
    choose_all_but(items, all, chosen);
  } else {
    for (const Item& item : items)
      if (!choose(item, all, chosen, problem)) return false;
  }
  if (chosen.empty()) {
    problem =
        "no interface is left (running ones, loopback excepted; there are: " + addresses_of(all) +
        ")";
    return false;
  }
  return true;
}

bool is_selection(std::string_view selection) {
  bool exclude = false;
  std::vector<Item> items;
  std::string problem;
  return parse_selection(selection, exclude, items, problem);
}

std::vector<Interface> drop_surplus(std::string_view selection, std::vector<Interface>& chosen) {
  if (chosen.size() <= kMostInterfaces) return {};
  bool exclude = false;
  std::vector<Item> items;
  std::string problem;
  (void)parse_selection(selection, exclude, items, problem);
  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (items.empty() || exclude) {
    const auto rank = [&](std::size_t i) {
      return std::tuple(!chosen[i].standard, -std::int64_t{chosen[i].megabits});
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  }
  std::sort(order.begin(), order.begin() + kMostInterfaces);
  std::vector<Interface> kept;
  std::vector<Interface> dropped;
  for (std::size_t i = 0; i < order.size(); ++i)
    (i < kMostInterfaces ? kept : dropped).push_back(std::move(chosen[order[i]]));
  chosen = std::move(kept);
  return dropped;
}

std::vector<std::string> idle_exclusions(std::string_view selection,
                                         const std::vector<Interface>& all) {
  bool exclude = false;
  std::vector<Item> items;
  std::string problem;
  std::vector<std::string> idle;
  if (!parse_selection(selection, exclude, items, problem) || !exclude) return idle;
  for (const Item& item : items)
    if (std::none_of(all.begin(), all.end(),
                     [&](const Interface& interface) { return excludes(item, interface, all); }))
      idle.push_back(item.text);
  return idle;
}

std::vector<Interface> other_addresses(std::string_view selection,
                                       const std::vector<Interface>& all, const Interface& chosen) {
  bool exclude = false;
  std::vector<Item> items;
  std::string problem;
  if (!parse_selection(selection, exclude, items, problem)) return {};
  const auto is_meant = [&](const Interface& interface) {
    if (items.empty() || exclude) return !is_excluded(items, interface, all);
    return std::any_of(items.begin(), items.end(),
                       [&](const Item& item) { return begins(item, interface); });
  };
  std::vector<Interface> found{chosen};
  for (const sa_family_t family : {sa_family_t{AF_INET}, sa_family_t{AF_INET6}})
    for (const Interface& interface : all) {
      const bool known = std::any_of(found.begin(), found.end(), [&](const Interface& other) {
        return interface.address.in_subnet(other.address, other.prefix);
      });
      if (interface.address.family == family && interface.name == chosen.name &&
          interface.running && !interface.address.is_link_local() &&
          interface.address.is_loopback() == chosen.address.is_loopback() && !known &&
          is_meant(interface) && found.size() < kMostAddresses)
        found.push_back(interface);
    }
  found.erase(found.begin());
  return found;
}

// A bit in the tag of a node for which /proc gives no boot id or no network namespace.
constexpr std::uint64_t kGuess = std::uint64_t{1} << 63;

std::uint64_t node_tag() noexcept {
  const std::uint64_t boot = boot_hash();
  struct stat network {};
  if (boot != 0 && ::stat("/proc/self/ns/net", &network) == 0) {
    const std::array<std::uint64_t, 2> names{network.st_dev, network.st_ino};
    return fnv1a(std::as_bytes(std::span(names)), boot) & ~kGuess;
  }
  std::array<char, 64> name{};
  ::gethostname(name.data(), name.size() - 1);
  return fnv1a(std::as_bytes(std::span(name))) | kGuess;
}

bool is_same_node(std::uint64_t tag, std::uint64_t other, bool same_address) noexcept {
  return tag == other || (same_address && ((tag | other) & kGuess) != 0);
}

bool can_reach(const Interface& local, const IpAddress& peer, std::uint64_t peer_node,
               std::string& why_not) {
  const auto refuse = [&](std::string_view why) {
    why_not = peer.text() + " from " + local.name + " (" + local.address.text() + "): ";
    why_not += why;
    return false;
  };
  if (peer.family != local.address.family) return refuse("one is IPv4, the other IPv6");
  if (peer.is_loopback() != local.address.is_loopback())
    return refuse("one is a loopback address, the other is not");
  const std::uint64_t node = node_tag();
  if (peer.is_loopback())
    return is_same_node(node, peer_node, true) || refuse("loopback addresses stay on their node");

  IpAddress target = peer;
  target.scope = local.address.scope;  // a link-local address is meant on this device
  sockaddr_storage to;
  const socklen_t length = target.to_sockaddr(1, to);
  const FileDescriptor probe(::socket(peer.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return refuse(std::strerror(errno));
  // Connecting a datagram socket looks up the routing table and sends nothing.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&to), length) != 0)
    return refuse(std::strerror(errno));
  sockaddr_storage from{};
  socklen_t from_length = sizeof from;
  if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&from), &from_length) != 0)
    return refuse(std::strerror(errno));
  const std::optional<IpAddress> source = IpAddress::from(reinterpret_cast<sockaddr*>(&from));
  // For a local destination the kernel uses that same address as the source.
  const bool ours = source && *source == peer;
  if (ours != is_same_node(node, peer_node, ours))
    return refuse(ours ? "this node has that address itself"
                       : "not an address of this node any more");
  if (ours || peer.in_subnet(local.address, local.prefix)) return true;
  return (source && *source == local.address) || refuse("the route goes through another interface");
}

}  // namespace lfc
