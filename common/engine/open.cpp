#include "engine/open.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "base/choice.hpp"
#include "engine/link_kinds.hpp"
#include "link/ports.hpp"
#include "machine/cores.hpp"
#include "machine/placement.hpp"
#include "machine/thread_probe.hpp"

namespace lfc {
namespace {

// Returns the fault of a member of the options: one line that begins with the parameter's name.
template <class Member>
std::string fault(const NiOptions& options, const Member& member, const std::string& what) {
  const lfc_btl_parameters* const parameters = &options;
  const lfc_parameter_table* const table = lfc_btl_parameter_table();
  return std::string(table->component) + "_" + lfc_parameter_name(table, parameters, &member) +
         ": " + what;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) items.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

bool names_no_link(const NiOptions& options) { return text_of(options.links) == default_links(); }

// A list that excludes devices names none either, because one list serves nodes that differ.
bool names_no_device(const NiOptions& options) {
  const std::string_view interfaces = text_of(options.interfaces);
  return (interfaces.empty() || interfaces.front() == '^') && text_of(options.provider).empty();
}

std::string quoted(std::string_view value) { return "'" + std::string(value) + "'"; }

// Returns an error if an option is set that none of the named links heeds.
std::string unheeded(const NiOptions& options, const lfc_text& option,
                     bool (*heeds)(const LinkKind&)) {
  const auto items = split(text_of(options.links));
  const bool heeded = std::any_of(items.begin(), items.end(), [heeds](std::string_view item) {
    return heeds(*find_link_kind(item));
  });
  if (text_of(option).empty() || heeded) return {};
  return fault(options, option,
               quoted(option) + " needs the link " + link_kind_names(" or ", heeds) +
                   ", but links is " + quoted(text_of(options.links)));
}

std::string find_fault_in_links(const NiOptions& options) {
  const std::string accepted = " (accepted: " + accepted_links() + ")";
  const auto items = split(text_of(options.links));
  if (items.empty()) return fault(options, options.links, "none is named" + accepted);
  for (const std::string_view item : items) {
    if (find_link_kind(item) == nullptr)
      return fault(options, options.links, "there is no link " + quoted(item) + accepted);
    if (std::count(items.begin(), items.end(), item) > 1)
      return fault(options, options.links, quoted(item) + " is named twice");
  }
  std::string found =
      unheeded(options, options.provider, [](const LinkKind& kind) { return kind.heeds_provider; });
  if (!found.empty()) return found;
  return unheeded(options, options.interfaces,
                  [](const LinkKind& kind) { return kind.heeds_interfaces; });
}

}  // namespace

std::string find_fault(const NiOptions& options) {
  char text[256];
  const lfc_btl_parameters* const parameters = &options;
  if (!lfc_parameters_check(lfc_btl_parameter_table(), parameters, text, sizeof text)) return text;
  if (options.upcalls && text_of(options.policy) == "single")
    return fault(options, options.upcalls, "need the engine's thread, but policy is 'single'");
  PortRange ports;
  std::string problem;
  if (!parse_ports(text_of(options.ports), ports, problem))
    return fault(options, options.ports, problem);
  if (options.max_window < options.initial_window)
    return fault(options, options.max_window,
                 std::to_string(options.max_window) + " is less than initial_window, " +
                     std::to_string(options.initial_window));
  return find_fault_in_links(options);
}

namespace {

// Fills the part of the configuration that determines who drives the NI; returns it in words.
std::string decide_policy(const NiOptions& options, Config& config) {
  const std::string_view policy = text_of(options.policy);
  config.idle = *find_choice<Idle>(kIdleNames, text_of(options.idle));
  config.upcalls = options.upcalls;
  config.delay = std::chrono::microseconds(options.intr_delay);
  config.queue_memory = options.queue_memory;
  if (policy == "single") return "policy single";
  const Cores cores = count_cores();
  if (options.watch_interval != 0) {
    config.longest_rest = std::chrono::microseconds(options.watch_interval);
  } else {
    config.longest_rest = watch_interval(cores, options.local_processes);
    config.crowded_rest = kRareWatch;
  }
  config.away_after = absence(cores, options.local_processes);
  // With a spare processor the thread need not stay on its host's.
  if (has_spare(cores, options.local_processes)) config.cpus = cores.allowed;
  config.policy = Policy::floating;
  if (policy == "auto") {
    const Choice choice = choose_policy(cores, options.local_processes);
    if (!choice.floating) config.policy = Policy::single;
    return std::string("policy ") + (choice.floating ? "floating" : "single") +
           " (auto: " + choice.reason + ")";
  }
  if (policy == "floating") return "policy floating";
  const Place place =
      place_thread(read_machine(cores.allowed), cores, options.local_processes, options.local_rank);
  if (place.cpus.empty()) {
    std::string refusal = "policy fixed refused (" + place.reason + "), floating instead";
    if (options.notice != nullptr) options.notice(refusal);
    return refusal;
  }
  config.policy = Policy::fixed;
  config.cpus = place.cpus;
  return "policy fixed (" + place.reason + ")";
}

// If the kernel refuses the thread that the policy needs, `auto` becomes `single`, with a notice. Otherwise returns the
// fault.
std::string fall_back_without_thread(const NiOptions& options, Config& config,
                                     std::string& policy) {
  if (config.policy == Policy::single) return {};
  const std::string refusal = why_no_thread();
  if (refusal.empty()) return {};
  if (text_of(options.policy) != "auto")
    return fault(options, options.policy, refusal + "; 'single' needs none");
  config.policy = Policy::single;
  policy = "policy single (auto: " + refusal + ")";
  if (options.notice != nullptr) options.notice(policy);
  return {};
}

// Returns the names of the links that cannot wake the thread.
std::string not_waking(const Ni& ni) {
  std::string names;
  for (const auto& link : ni.peers().links()) {
    if (!link->traits().wakes) names += (names.empty() ? "" : " and ") + std::string(link->name());
  }
  return names.empty() ? names
                       : " (without events that wake the thread: " + names + "; polled by a timer)";
}

// The reasons why links are not open: all links, shared memory, and links to other nodes that every node should have.
struct LeftOut {
  std::string all;
  std::string local_peers;
  std::string other_nodes;
};

void add_reason(std::string& reasons, const std::string& reason) {
  reasons += (reasons.empty() ? "" : ", ") + reason;
}

// False: the link is required, and `error` has the reason why it cannot open.
bool open_link(const LinkKind& kind, LinkOpening& opening, LeftOut& left_out, std::string& error) {
  const NiOptions& options = opening.options;
  const bool optional = names_no_link(options) && kind.is_worth_trying != nullptr;
  if (optional && !kind.is_worth_trying(options)) return true;
  opening.option_at_fault = &options.links;
  opening.why_not.clear();
  if (kind.open(opening)) return true;
  const std::string reason = std::string(kind.name) + ": " + opening.why_not;
  const bool tolerated = names_no_link(options) && names_no_device(options) &&
                         opening.option_at_fault == &options.links;
  if (!optional && !tolerated) {
    error = fault(options, *opening.option_at_fault, reason);
    return false;
  }
  add_reason(left_out.all, reason);
  if (!optional)
    add_reason(kind.name == "shm" ? left_out.local_peers : left_out.other_nodes, reason);
  return true;
}

std::string describe(const LinkOpening& opening, const std::string& left_out) {
  const NiOptions& options = opening.options;
  std::string text = "links";
  for (const std::string& name : opening.open) text += " " + name;
  if (!left_out.empty()) text += "; not open: " + left_out;
  text += opening.notes;
  const std::uint64_t frame =
      std::max(opening.ni.peers().max_payload(), opening.ni.peers().max_far_message());
  text +=
      "; frames <= " + std::to_string(frame) + " B, windows " +
      std::to_string(options.initial_window) + ".." + std::to_string(options.max_window) +
      "; receive memory with P talking peers <= max(window_cap, P * initial_window) * frame = " +
      "max(" + std::to_string(options.window_cap) + ", P * " +
      std::to_string(options.initial_window) + ") * " + std::to_string(frame) +
      " B, and per local sender a ring of " + std::to_string(ring_shape(options).bytes()) + " B" +
      opening.memory;
  return text;
}

}  // namespace

NiOptions::NiOptions() noexcept {
  lfc_btl_parameters* const parameters = this;
  lfc_parameters_reset(lfc_btl_parameter_table(), parameters);
}

std::string describe_policy(const NiOptions& options) {
  Config config;
  return decide_policy(options, config);
}

std::unique_ptr<Ni> open_ni(const NiOptions& options, std::string& error, std::string& notes) {
  error = find_fault(options);
  if (!error.empty()) return nullptr;

  Config config;
  config.name = options.name;
  config.initial_window = options.initial_window;
  config.maximum_window = options.max_window;
  config.window_cap = options.window_cap;
  config.threads = options.threads;
  config.detour = options.detour;
  config.notice = options.notice;
  std::string policy = decide_policy(options, config);
  error = fall_back_without_thread(options, config, policy);
  if (!error.empty()) return nullptr;
  auto ni = std::make_unique<Ni>(config);

  LinkOpening opening{options, config.policy, *ni};
  LeftOut left_out;
  for (const std::string_view name : split(text_of(options.links)))
    if (!open_link(*find_link_kind(name), opening, left_out, error)) return nullptr;
  if (opening.open.empty()) {
    error = fault(options, options.links, "none can be opened: " + left_out.all);
    return nullptr;
  }
  if (!left_out.local_peers.empty() && options.local_processes > 1 && options.detour != nullptr)
    options.detour(opening.open.back(), left_out.local_peers);
  // Only one rank of a node prints it.
  if (!left_out.other_nodes.empty() && options.other_nodes && options.local_rank == 0 &&
      options.notice != nullptr)
    options.notice("this node reaches no other one: " + left_out.other_nodes);
  if (config.policy != Policy::single) notes = not_waking(*ni);
  notes = policy + notes + "; " + describe(opening, left_out.all);
  return ni;
}

}  // namespace lfc
