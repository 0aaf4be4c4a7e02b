#include "engine/link_kinds.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lfc/notices.h"
#include "link/bond/bond_link.hpp"
#include "link/connections.hpp"
#include "link/interfaces.hpp"
#include "link/loop/loop_link.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/shm/shm_link.hpp"
#include "link/tcp/pairs.hpp"
#include "link/tcp/tcp_link.hpp"
#ifdef LFC_VERBS
#include "link/verbs/verbs_link.hpp"
#endif

namespace lfc {
namespace {

bool open_loop(LinkOpening& opening) {
  LoopOptions loop;
  loop.bell = opening.policy != Policy::single;
  return opening.add(make_loop_link(loop, opening.ni.identity(), opening.sink(), opening.why_not));
}

bool open_shm(LinkOpening& opening) {
  ShmOptions shm;
  shm.ring = ring_shape(opening.options);
  // All processes of the node, and as many that they may spawn.
  shm.places = std::max(shm.places, 2 * opening.options.local_processes);
  shm.cma = opening.options.cma;
  shm.bell = opening.policy != Policy::single;
  shm.single_copy_from = opening.options.single_copy_from;
  if (shm.cma)
    opening.notes += "; single copy in shm " +
                     (shm.single_copy_from == 0
                          ? std::string("where it is found faster")
                          : "from " + std::to_string(shm.single_copy_from) + " B on (asked for)");
  shm.notice = opening.options.notice;
  return opening.add(make_shm_link(shm, opening.sink(), opening.why_not));
}

static_assert(kMostInterfaces == kMostRails);

std::unique_ptr<Link> open_tcp_on(const TcpRail& rail, const std::string& name, FrameSink& sink,
                                  LinkOpening& opening) {
  TcpOptions tcp;
  tcp.name = name;
  tcp.strand = rail.strand;
  tcp.interface = rail.interface;
  tcp.others = other_addresses(opening.interface_list(), opening.interfaces(), rail.interface);
  if (lfc_is_verbose(opening.options.verbose, opening.options.local_rank))
    tcp.notice = opening.options.remark;
  tcp.warning = opening.options.notice;
  tcp.connect_timeout = std::chrono::seconds(opening.options.connect_timeout);
  tcp.peer_timeout = std::chrono::seconds(opening.options.peer_timeout);
  if (!text_of(opening.options.ports).empty()) opening.option_at_fault = &opening.options.ports;
  if (!parse_ports(text_of(opening.options.ports), tcp.ports, opening.why_not)) return nullptr;
  return make_tcp_link(tcp, opening.ni.identity(), sink, opening.ni.counters(), opening.why_not);
}

// Bonds the links of all rails that can be opened. `parts`: their names; `last`: the last one.
std::unique_ptr<Bond> bond_tcp(const std::vector<TcpRail>& rails, LinkOpening& opening,
                               std::string& parts, const TcpRail*& last) {
  BondOptions options;
  options.rail_timeout = std::chrono::milliseconds(opening.options.rail_timeout);
  options.notice = opening.options.notice;
  options.pair = tcp::pair_addresses;
  auto bond = make_bond_link(options, opening.sink(), opening.ni.counters());
  for (const TcpRail& each : rails) {
    auto rail = open_tcp_on(each, tcp::rail_name(bond->rails()), bond->rail_sink(), opening);
    if (rail != nullptr) {
      last = &each;
      parts += (parts.empty() ? "" : ",") + each.label();
      bond->add_rail(each.label(), std::move(rail),
                     each.strand == 0 ? RailUse::all : RailUse::chunks);
    } else if (opening.options.notice != nullptr) {
      opening.options.notice("rail " + each.label() + " is left out: " + opening.why_not);
    }
  }
  return bond;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Prints the facts about the choice that the user may not expect. One rank of a node prints it.
void report_choice(const std::vector<Interface>& dropped, LinkOpening& opening) {
  const NiOptions& options = opening.options;
  if (options.notice == nullptr || options.local_rank != 0) return;
  const std::string& list = opening.interface_list();
  const auto idle = idle_exclusions(list, opening.interfaces());
  const auto items = 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
  // One list serves nodes that differ, so an item without effect is no mistake, but a whole list may be one.
  if (!idle.empty() && (idle.size() == items || options.verbose > 0))
    options.notice("btl_lfc_interfaces: no interface here is named, or begins with, " +
                   joined(idle) + ": nothing is excluded by that");
  std::vector<std::string> names;
  names.reserve(dropped.size());
  for (const Interface& each : dropped) names.push_back(each.name);
  if (!names.empty())
    options.notice("tcp uses " + std::to_string(kMostInterfaces) +
                   " interfaces at most, and leaves out " + joined(names) +
                   " (btl_lfc_interfaces names others)");
}

// Opens a link for each interface and connection; several are bonded.
bool open_tcp(LinkOpening& opening) {
  std::vector<Interface> chosen;
  const std::string& list = opening.interface_list();
  if (!select_interfaces(list, opening.interfaces(), chosen, opening.why_not)) {
    // A node without a network is no mistake if the list names no interface.
    if (!is_selection(list) || !(list.empty() || list.front() == '^'))
      opening.option_at_fault = &opening.options.interfaces;
    return false;
  }
  report_choice(drop_surplus(list, chosen), opening);
  const std::vector<TcpRail> rails = tcp_rails(chosen, opening.options.connections);
  const TcpRail* last = &rails.front();
  if (rails.size() > 1) {
    std::string parts;
    auto bond = bond_tcp(rails, opening, parts, last);
    if (bond->rails() > 1) {
      opening.memory += ", and per peer over several rails at most " +
                        std::to_string(bond_peer_memory()) +
                        " B for frames not acknowledged or out of order";
      return opening.add(std::move(bond), parts);
    }
  }
  return opening.add(open_tcp_on({last->interface}, "tcp", opening.sink(), opening));
}

bool open_ofi(LinkOpening& opening) {
  OfiOptions ofi;
  ofi.provider = text_of(opening.options.provider);
  ofi.interface = opening.interface_list();
  ofi.interfaces = opening.interfaces();
  if (!ofi.interface.empty()) opening.option_at_fault = &opening.options.interfaces;
  if (!ofi.provider.empty()) opening.option_at_fault = &opening.options.provider;
  const Identity& identity = opening.ni.identity();
  const bool added = opening.add(
      make_ofi_link(ofi, identity, opening.sink(), opening.ni.counters(), opening.why_not));
  if (added && ofi.provider == kHangingOfiProvider && identity.name.rank == 0 &&
      opening.options.notice != nullptr)  // once for a job
    opening.options.notice(
        "provider sockets of libfabric is deprecated, and hangs when a connection is full: set "
        "btl_lfc_provider to net or tcp;ofi_rxm");
  return added;
}

#ifdef LFC_VERBS
bool open_verbs(LinkOpening& opening) {
  VerbsOptions verbs;
  verbs.selection = text_of(opening.options.interfaces);
  verbs.interfaces = opening.interfaces();
  verbs.timeout = std::chrono::milliseconds(opening.options.verbs_timeout);
  verbs.retries = static_cast<std::uint8_t>(opening.options.verbs_retries);
  verbs.rnr_retries = static_cast<std::uint8_t>(opening.options.verbs_rnr_retries);
  verbs.connect_timeout = std::chrono::seconds(opening.options.connect_timeout);
  if (!verbs.selection.empty()) opening.option_at_fault = &opening.options.interfaces;
  return opening.add(make_verbs_link(verbs, opening.ni.identity(), opening.sink(),
                                     opening.ni.counters(), opening.why_not));
}

// On one node no rank needs it, and it would pin memory.
bool has_use_for_verbs(const NiOptions& options) {
  return options.other_nodes && has_active_rdma_port();
}
#endif

constexpr LinkKind kLinkKinds[] = {
    // name, peers that it reaches, by default, interfaces, provider
    {"loop", "the process itself", true, false, false, open_loop},
    {"shm", "processes of this node", true, false, false, open_shm},
#ifdef LFC_VERBS
    {"verbs", "other nodes, by RDMA devices", true, true, false, open_verbs, has_use_for_verbs},
#endif
    {"tcp", "other nodes, by LFC's own TCP", true, true, false, open_tcp},
    {"ofi", "other nodes, by a provider of libfabric", false, true, true, open_ofi},
};

}  // namespace

bool LinkOpening::add(std::unique_ptr<Link> link, const std::string& parts) {
  if (link == nullptr) return false;
  open.push_back(std::string(link->name()) + (parts.empty() ? "" : "(" + parts + ")"));
  ni.add_link(trace == nullptr ? std::move(link) : trace->around(std::move(link)));
  return true;
}

FrameSink& LinkOpening::sink() {
  if (options.trace == 0) return ni.sink();
  if (trace == nullptr) trace = std::make_shared<Trace>(ni.sink(), options.trace);
  return trace->sink();
}

const std::vector<Interface>& LinkOpening::interfaces() {
  if (!listed) listed = list_interfaces();
  return *listed;
}

const std::string& LinkOpening::interface_list() {
  if (ip_selection) return *ip_selection;
  const std::string_view list = text_of(options.interfaces);
#ifdef LFC_VERBS
  return ip_selection.emplace(without_rdma_devices(list, interfaces()));
#else
  return ip_selection.emplace(list);
#endif
}

std::span<const LinkKind> link_kinds() noexcept { return kLinkKinds; }

const LinkKind* find_link_kind(std::string_view name) noexcept {
  const auto* found = std::find_if(std::begin(kLinkKinds), std::end(kLinkKinds),
                                   [name](const LinkKind& kind) { return kind.name == name; });
  return found == std::end(kLinkKinds) ? nullptr : found;
}

std::string link_kind_names(std::string_view joint, bool (*which)(const LinkKind&)) {
  std::string names;
  for (const LinkKind& kind : kLinkKinds)
    if (which(kind)) names += std::string(names.empty() ? "" : joint) + std::string(kind.name);
  return names;
}

std::string default_links() {
  return link_kind_names(",", [](const LinkKind& kind) { return kind.by_default; });
}

std::string accepted_links() {
  return link_kind_names(", ", [](const LinkKind&) { return true; });
}

std::string explained_links() {
  std::string text;
  for (const LinkKind& kind : kLinkKinds)
    text += std::string(text.empty() ? "" : ", ") + std::string(kind.name) + " (" +
            std::string(kind.reaches) + ")";
  return text;
}

std::string TcpRail::label() const {
  return interface.name + (strand == 0 ? "" : " (connection " + std::to_string(strand + 1) + ")");
}

std::vector<TcpRail> tcp_rails(const std::vector<Interface>& chosen, unsigned connections) {
  std::vector<unsigned> wanted(chosen.size(), connections);
  if (connections == 0)
    std::transform(chosen.begin(), chosen.end(), wanted.begin(),
                   [](const Interface& each) { return connections_for(each.name); });
  std::vector<TcpRail> rails;
  for (unsigned strand = 0; strand < kMostRails; ++strand)
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (strand < wanted[i] && rails.size() < kMostRails) rails.push_back({chosen[i], strand});
  return rails;
}

RingShape ring_shape(const NiOptions& options) noexcept {
  RingShape shape;
  shape.slots = options.shm_slots;
  shape.bulk = static_cast<std::uint32_t>(options.shm_bulk);
  shape.max_payload = std::min(shape.max_payload, shape.bulk / 4);
  return shape;
}

}  // namespace lfc
