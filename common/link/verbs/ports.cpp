#include "link/verbs/ports.hpp"

#include <algorithm>
#include <cstring>

namespace lfc::verbs {
namespace {

constexpr std::size_t kMostGids = 256;

// Returns the speed from the codes for lanes and speed in the port's attributes.
unsigned megabits_of(const ibv_port_attr& port) noexcept {
  static constexpr struct {
    unsigned code;
    unsigned megabits;
  } kSpeeds[] = {{1, 2500},    {2, 5000},    {4, 10'000},  {8, 10'000},
                 {16, 14'000}, {32, 25'000}, {64, 50'000}, {128, 100'000}};
  const unsigned lanes = port.active_width == 1   ? 1
                         : port.active_width == 2 ? 4
                         : port.active_width == 4 ? 8
                         : port.active_width == 8 ? 12
                                                  : 2;
  for (const auto& speed : kSpeeds)
    if (speed.code == port.active_speed) return lanes * speed.megabits;
  return 0;
}

Gid::Kind kind_of(std::uint32_t type) noexcept {
  return type == IBV_GID_TYPE_ROCE_V2   ? Gid::Kind::roce2
         : type == IBV_GID_TYPE_ROCE_V1 ? Gid::Kind::roce1
                                        : Gid::Kind::infiniband;
}

void add_ports(const Api& api, ibv_device* device, std::vector<Port>& out) {
  const Handle<ibv_context> context = own(api.open_device(device), api.close_device);
  ibv_device_attr attributes{};
  if (!context || api.query_device(context.get(), &attributes) != 0) return;
  std::vector<ibv_gid_entry> gids(kMostGids);
  const ssize_t count =
      api.query_gid_table(context.get(), gids.data(), gids.size(), 0, sizeof gids.front());
  gids.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  for (std::uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
    ibv_port_attr found{};
    if (!query_port(api, context.get(), number, found)) continue;
    Port& port = out.emplace_back();
    port.device = api.get_device_name(device);
    port.number = number;
    port.ethernet = found.link_layer == IBV_LINK_LAYER_ETHERNET;
    port.active = found.state == IBV_PORT_ACTIVE;
    port.lid = found.lid;
    port.megabits = megabits_of(found);
    for (const ibv_gid_entry& entry : gids) {
      if (entry.port_num != number || entry.gid_index > 255) continue;
      Gid& gid = port.gids.emplace_back();
      gid.index = static_cast<std::uint8_t>(entry.gid_index);
      gid.kind = kind_of(entry.gid_type);
      std::memcpy(gid.raw.data(), entry.gid.raw, gid.raw.size());
    }
  }
}

struct Selection {
  bool inverted = false;
  std::vector<std::string> ports;  // items that name a device or a port
  std::string rest;                // items for select_interfaces()

  bool empty() const noexcept { return ports.empty() && rest.empty(); }
  bool names(const Port& port) const {
    return std::any_of(ports.begin(), ports.end(), [&](const std::string& item) {
      return item == port.device || item == port.name();
    });
  }
};

Selection parse(std::string_view text, const std::vector<Port>& ports) {
  Selection selection;
  selection.inverted = text.starts_with('^');
  if (selection.inverted) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string item(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const bool is_port = std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
      return item == port.device || item == port.name();
    });
    if (is_port) {
      selection.ports.push_back(item);
    } else if (!item.empty()) {
      selection.rest += (selection.rest.empty() ? "" : ",") + item;
    }
  }
  if (selection.inverted && !selection.rest.empty()) selection.rest.insert(0, "^");
  return selection;
}

// Returns the port's GID that belongs to the earliest of the interfaces, if any does.
std::optional<Choice> match(const Port& port, const std::vector<Interface>& interfaces) {
  for (const Interface& interface : interfaces)
    for (const Gid& gid : port.gids)
      if (gid.kind == Gid::Kind::roce2 && gid.ip() == interface.address)
        return Choice{port, gid, interface};
  return std::nullopt;
}

// Sorts the addresses of the node: IPv4, IPv6, link-local ones.
std::vector<Interface> by_reach(std::vector<Interface> all) {
  const auto rank = [](const Interface& each) {
    return each.address.is_link_local() ? 2 : each.address.family == AF_INET ? 0 : 1;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Interface& a, const Interface& b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace

IpAddress Gid::ip() const noexcept {
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  IpAddress address;
  const bool four = std::equal(kMapped.begin(), kMapped.end(), raw.begin());
  address.family = four ? AF_INET : AF_INET6;
  if (four) {
    std::copy_n(raw.begin() + 12, 4, address.bytes.begin());
  } else {
    address.bytes = raw;
  }
  return address;
}

bool query_port(const Api& api, ibv_context* context, std::uint8_t number, ibv_port_attr& out) {
  out = {};
  verbs_context* extended = verbs_get_ctx_op(context, query_port);
  if (extended != nullptr) return extended->query_port(context, number, &out, sizeof out) == 0;
  return api.query_port(context, number, reinterpret_cast<_compat_ibv_port_attr*>(&out)) == 0;
}

std::vector<Port> list_ports(const Api& api) {
  std::vector<Port> ports;
  int count = 0;
  ibv_device** devices = api.get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) add_ports(api, devices[i], ports);
  if (devices != nullptr) api.free_device_list(devices);
  return ports;
}

bool choose_ports(std::string_view text, const std::vector<Port>& ports,
                  const std::vector<Interface>& interfaces, std::vector<Choice>& chosen,
                  std::string& problem) {
  chosen.clear();
  const Selection selection = parse(text, ports);
  std::vector<Interface> wanted;
  const bool by_interface =
      !selection.rest.empty() || selection.ports.empty() || selection.inverted;
  if (by_interface && !select_interfaces(selection.rest, interfaces, wanted, problem)) {
    const bool any_without =
        std::any_of(ports.begin(), ports.end(), [](const Port& port) { return !port.ethernet; });
    if (!selection.rest.empty() || !any_without) return false;
  }
  const std::vector<Interface> all = by_reach(interfaces);
  for (const Port& port : ports) {
    const bool named = selection.names(port);
    if (!port.active || (selection.inverted && named)) continue;
    const bool by_name = named && !selection.inverted;
    if (port.ethernet) {
      if (auto found = match(port, by_name ? all : wanted)) chosen.push_back(std::move(*found));
    } else if ((by_name || selection.empty() || selection.inverted) && !port.gids.empty()) {
      chosen.push_back({port, port.gids.front(), std::nullopt});
    }
  }
  if (!chosen.empty()) return true;
  const bool active =
      std::any_of(ports.begin(), ports.end(), [](const Port& port) { return port.active; });
  problem = ports.empty() ? "there is no RDMA device"
            : !active     ? "no port of an RDMA device is active"
                          : "no active RDMA port has a RoCE v2 address on an interface chosen";
  return false;
}

std::string without_devices(std::string_view text, const std::vector<Port>& ports,
                            const std::vector<Interface>& interfaces) {
  const Selection selection = parse(text, ports);
  if (selection.ports.empty()) return std::string(text);
  std::string result = selection.rest;
  const std::vector<Interface> all = by_reach(interfaces);
  for (const Port& port : ports) {
    if (!selection.names(port)) continue;
    const std::optional<Choice> found = match(port, all);
    if (!found) continue;
    const std::string ip = found->interface->address.text();
    result += (!result.empty() ? "," : selection.inverted ? "^" : "") + ip;
  }
  return result;
}

}  // namespace lfc::verbs
