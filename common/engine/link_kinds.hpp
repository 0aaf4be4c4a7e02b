// Link kinds: a table with one row for each kind of link. A row has its name, the peers that it reaches, whether it is
// used by default, the options that it heeds, and how and when it is opened. A new kind of link is its folder and a row
// here.
//
//   LinkOpening opening{options, policy, *ni};
//   if (!find_link_kind("shm")->open(opening)) complain(*opening.option_at_fault, opening.why_not);
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ni.hpp"
#include "engine/open.hpp"
#include "engine/trace.hpp"
#include "link/interfaces.hpp"
#include "link/ring.hpp"

namespace lfc {

// LinkOpening: the options with which one NI opens its links, and the result so far.
struct LinkOpening {
  const NiOptions& options;
  Policy policy;
  Ni& ni;
  std::vector<std::string> open{};  // the links added so far, in words
  const lfc_text* option_at_fault = &options.links;
  std::string why_not{};
  std::string notes{};   // how the links were opened, for the user
  std::string memory{};  // the bounds of their memory

  std::shared_ptr<Trace> trace{};  // of all links, if requested

  std::optional<std::vector<Interface>> listed{};  // by interfaces()
  std::optional<std::string> ip_selection{};       // by interface_list()

  // The interfaces of this node. They are listed once for all links of an opening.
  const std::vector<Interface>& interfaces();
  // The user's parameter of interfaces, for links that know no RDMA devices.
  const std::string& interface_list();

  // The sink to which links deliver.
  FrameSink& sink();
  // Adds the link to the NI, unless it is null; why_not has the reason then. `parts`: the parts that it consists of.
  bool add(std::unique_ptr<Link> link, const std::string& parts = {});
};

struct LinkKind {
  std::string_view name;
  std::string_view reaches;
  bool by_default;
  bool heeds_interfaces;
  bool heeds_provider;
  // Opens a link, or several as one, and adds it. False: impossible; opening.why_not has the reason.
  bool (*open)(LinkOpening& opening);
  // For kinds that few nodes have: returns whether to try it, if it was not named. If not, it is left out without a
  // notice. Null: always try.
  bool (*is_worth_trying)(const NiOptions& options) = nullptr;
};

// In order of preference.
std::span<const LinkKind> link_kinds() noexcept;
const LinkKind* find_link_kind(std::string_view name) noexcept;
// The joined names of the kinds for which `which` is true: "tcp or ofi".
std::string link_kind_names(std::string_view joint, bool (*which)(const LinkKind&));

// One of the rails that tcp opens: the first connection of an interface, or a further one.
struct TcpRail {
  Interface interface;
  unsigned strand = 0;

  std::string label() const;
};
// The interfaces in order, then their further connections in turn, while there is room. `connections` is the parameter.
std::vector<TcpRail> tcp_rails(const std::vector<Interface>& chosen, unsigned connections);

// The ring of one local sender.
RingShape ring_shape(const NiOptions& options) noexcept;

}  // namespace lfc
