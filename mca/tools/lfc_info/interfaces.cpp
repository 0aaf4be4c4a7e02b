#include "interfaces.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/link_kinds.hpp"
#include "link/interfaces.hpp"
#ifdef LFC_VERBS
#include "link/verbs/ports.hpp"
#include "link/verbs/verbs_link.hpp"
#endif
#include "report.hpp"

namespace lfc {
namespace {

#ifdef LFC_VERBS
// Each port, and whether the link verbs would use it.
void show_devices(const std::string& wanted, const std::vector<Interface>& interfaces) {
  std::string problem;
  const verbs::Api* api = verbs::load_api(problem);
  const std::vector<verbs::Port> ports =
      api == nullptr ? std::vector<verbs::Port>() : verbs::list_ports(*api);
  std::vector<verbs::Choice> chosen;
  if (!verbs::choose_ports(wanted, ports, interfaces, chosen, problem))
    row("RDMA devices", "%s", problem.c_str());
  for (const verbs::Port& port : ports) {
    const bool used = !chosen.empty() && chosen.front().port.name() == port.name();
    const std::string gid = used                ? chosen.front().gid.ip().text()
                            : port.gids.empty() ? "none"
                                                : port.gids.back().ip().text();
    row(port.name().c_str(), "%s, GID %s, %u Mbit/s, %s: %s", port.ethernet ? "RoCE" : "InfiniBand",
        gid.c_str(), port.megabits, port.active ? "active" : "not active",
        used ? "used between nodes" : "not used");
  }
}
#else
void show_devices(const std::string&, const std::vector<Interface>&) {
  row("RDMA devices", "not looked for: this is built without libibverbs");
}
#endif

bool is_same(const Interface& one, const Interface& other) {
  return one.name == other.name && one.address == other.address;
}

bool is_among(const std::vector<Interface>& some, const Interface& one) {
  return std::any_of(some.begin(), some.end(),
                     [&one](const Interface& each) { return is_same(each, one); });
}

// A job's use of the interface by tcp, in words.
class InterfaceUse {
 public:
  InterfaceUse(const std::string& wanted, const std::vector<Interface>& all,
               std::vector<Interface> chosen, unsigned connections)
      : dropped_(drop_surplus(wanted, chosen)), rails_(tcp_rails(chosen, connections)) {
    for (const TcpRail& rail : rails_) {
      const auto others = other_addresses(wanted, all, rail.interface);
      others_.insert(others_.end(), others.begin(), others.end());
    }
  }

  std::string of(const Interface& interface) const {
    std::size_t first = rails_.size(), connections = 0;
    for (std::size_t i = rails_.size(); i-- > 0;) {
      if (!is_same(rails_[i].interface, interface)) continue;
      first = i;
      ++connections;
    }
    if (connections > 1)
      return "rail " + std::to_string(first + 1) + ", up to " + std::to_string(connections) +
             " connections to a peer";
    if (connections == 1) return "rail " + std::to_string(first + 1);
    if (is_among(dropped_, interface))
      return "no rail: a job uses " + std::to_string(kMostInterfaces) +
             " interfaces at most (btl_lfc_interfaces names others)";
    return is_among(others_, interface) ? "further address of a rail" : "not used";
  }

 private:
  std::vector<Interface> dropped_;
  std::vector<TcpRail> rails_;
  std::vector<Interface> others_;
};

}  // namespace

void show_interfaces(const NiOptions& options, bool tcp) {
  heading("interfaces and devices (chosen by btl_lfc_interfaces)");
  const std::vector<Interface> all = list_interfaces();
  std::vector<Interface> chosen;
  std::string problem;
  std::string wanted(text_of(options.interfaces));
  show_devices(wanted, all);
#ifdef LFC_VERBS
  wanted = without_rdma_devices(wanted, all);
#endif
  if (!select_interfaces(wanted, all, chosen, problem)) row("none", "%s", problem.c_str());
  for (const std::string& item : idle_exclusions(wanted, all))
    row("excluded", "\"%s\" is no interface of this node", item.c_str());
  if (!tcp) {
    row("no rails", "btl_lfc_links does not name tcp");
    chosen.clear();
  }
  const InterfaceUse use(wanted, all, chosen, options.connections);
  for (const Interface& interface : all) {
    const std::string speed =
        interface.megabits == 0 ? "unknown speed" : std::to_string(interface.megabits) + " Mbit/s";
    row(interface.name.c_str(), "%s/%u, %s, %s: %s", interface.address.text().c_str(),
        interface.prefix, speed.c_str(), interface.running ? "up" : "down",
        use.of(interface).c_str());
  }
}

}  // namespace lfc
