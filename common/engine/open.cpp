#include "engine/open.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cables.hpp"
#include "machine/cores.hpp"
#include "machine/placement.hpp"

namespace lfc {
namespace {

// What a receive window may be: more would only hide a receiver that does not keep up.
constexpr std::uint32_t kMaxWindow = 65536;
constexpr std::uint32_t kMaxMicroseconds = 1'000'000;

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) items.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

std::optional<Idle> find_idle(std::string_view name) noexcept {
  if (name == "spin") return Idle::spin;
  if (name == "yield") return Idle::yield;
  if (name == "backoff") return Idle::backoff;
  if (name == "block") return Idle::block;
  return std::nullopt;
}

std::string quoted(std::string_view value) { return "'" + std::string(value) + "'"; }

// An option is given that none of the links named heeds.
std::string unheeded(const char* option, const std::string& value, const std::string& links,
                     bool (*heeds)(const Cable&)) {
  const auto items = split(links);
  const bool heeded = std::any_of(items.begin(), items.end(), [heeds](std::string_view item) {
    return heeds(*find_cable(item));
  });
  if (value.empty() || heeded) return {};
  return std::string(option) + ": " + quoted(value) + " needs the link " +
         cable_names(" or ", heeds) + ", but links is " + quoted(links);
}

std::string find_fault_in_links(const NiOptions& options) {
  const auto items = split(options.links);
  if (items.empty()) return "links: none is named (accepted: " + accepted_links() + ")";
  for (const std::string_view item : items) {
    if (find_cable(item) == nullptr)
      return "links: there is no link " + quoted(item) + " (accepted: " + accepted_links() + ")";
    if (std::count(items.begin(), items.end(), item) > 1)
      return "links: " + quoted(item) + " is named twice";
  }
  const std::string fault = unheeded("provider", options.provider, options.links,
                                     [](const Cable& cable) { return cable.heeds_provider; });
  if (!fault.empty()) return fault;
  return unheeded("interfaces", options.interfaces, options.links,
                  [](const Cable& cable) { return cable.heeds_interfaces; });
}

// What is wrong with the options that no link looks at; empty: nothing.
std::string find_fault(const NiOptions& options) {
  const std::string bounds = " (accepted: 1 to " + std::to_string(kMaxWindow) + ")";
  constexpr std::string_view kPolicies[] = {"single", "fixed", "floating", "auto"};
  if (std::find(std::begin(kPolicies), std::end(kPolicies), options.policy) == std::end(kPolicies))
    return "policy: there is no policy " + quoted(options.policy) +
           " (accepted: single, fixed, floating, auto)";
  if (!find_idle(options.idle))
    return "idle: there is no strategy " + quoted(options.idle) +
           " (accepted: spin, yield, backoff, block)";
  if (options.longest_rest > kMaxMicroseconds)
    return "watch_interval: " + std::to_string(options.longest_rest) + " (accepted: 0 to 1000000)";
  if (options.delay > kMaxMicroseconds)
    return "intr_delay: " + std::to_string(options.delay) + " (accepted: 0 to 1000000)";
  if (options.upcalls && options.policy == "single")
    return "upcalls: need the NI thread, but policy is 'single'";
  if (options.initial_window == 0 || options.initial_window > kMaxWindow)
    return "initial_window: " + std::to_string(options.initial_window) + bounds;
  if (options.max_window < options.initial_window || options.max_window > kMaxWindow)
    return "max_window: " + std::to_string(options.max_window) + " (accepted: initial_window, " +
           std::to_string(options.initial_window) + ", to " + std::to_string(kMaxWindow) + ")";
  if (options.rail_timeout == 0) return "rail_timeout: 0 (accepted: 1 or more milliseconds)";
  if (options.window_cap == 0) return "window_cap: 0 (accepted: 1 or more)";
  if (options.shm_bulk > UINT32_MAX / 2)
    return "shm_bulk: " + std::to_string(options.shm_bulk) + " (accepted: up to 1 GiB)";

  std::string why;
  if (!ring_shape(options).valid(why)) return "shm_" + why;

  return find_fault_in_links(options);
}

// Fills the part of the configuration that says who drives the NI; returns it in words.
std::string decide_policy(const NiOptions& options, Config& config) {
  config.idle = *find_idle(options.idle);
  config.upcalls = options.upcalls;
  config.delay = std::chrono::microseconds(options.delay);
  config.queue_memory = options.queue_memory;
  if (options.policy == "single") return "policy single";
  const Cores cores = count_cores();
  if (options.longest_rest != 0) {
    config.longest_rest = std::chrono::microseconds(options.longest_rest);
  } else {
    config.longest_rest = watch_interval(cores, options.neighbours);
    config.crowded_rest = kRareWatch;
  }
  config.patience = absence(cores, options.neighbours);
  // With a processor to spare the thread need not stay on its host's.
  if (has_spare(cores, options.neighbours)) config.cpus = cores.allowed;
  config.policy = Policy::floating;
  if (options.policy == "auto") {
    const Choice choice = choose_policy(cores, options.neighbours);
    if (!choice.floating) config.policy = Policy::single;
    return std::string("policy ") + (choice.floating ? "floating" : "single") +
           " (auto: " + choice.reason + ")";
  }
  if (options.policy == "floating") return "policy floating";
  const Place place =
      place_thread(read_machine(cores.allowed), cores, options.neighbours, options.neighbour);
  if (place.cpus.empty()) {
    std::string refusal = "policy fixed refused (" + place.reason + "), floating instead";
    if (options.notice != nullptr) options.notice(refusal);
    return refusal;
  }
  config.policy = Policy::fixed;
  config.cpus = place.cpus;
  return "policy fixed (" + place.reason + ")";
}

// The links whose arrivals wake nobody.
std::string not_waking(const Ni& ni) {
  std::string names;
  for (const auto& link : ni.links()) {
    if (!link->traits().wakes) names += (names.empty() ? "" : " and ") + std::string(link->name());
  }
  return names.empty() ? names : " (" + names + " wakes nobody: looked at by the clock)";
}

std::string describe(const CableOpening& opening, const std::string& left_out) {
  const NiOptions& options = opening.options;
  std::string text = "links";
  for (const std::string& name : opening.open) text += " " + name;
  if (!left_out.empty()) text += "; not open: " + left_out;
  text += opening.notes;
  const std::uint64_t frame = opening.ni.max_message();
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

std::unique_ptr<Ni> open_ni(const NiOptions& options, std::string& error, std::string& notes) {
  error = find_fault(options);
  if (!error.empty()) return nullptr;

  Config config;
  config.name = options.name;
  config.initial_window = options.initial_window;
  config.maximum_window = options.max_window;
  config.window_cap = options.window_cap;
  config.threads = options.threads;
  const std::string policy = decide_policy(options, config);
  auto ni = std::make_unique<Ni>(config);

  const bool by_default =
      options.links == default_links() && options.interfaces.empty() && options.provider.empty();
  CableOpening opening{options, config.policy, *ni};
  std::string left_out;
  for (const std::string_view name : split(options.links)) {
    if (opening.full()) break;
    opening.option_at_fault = "links";
    opening.why_not.clear();
    if (find_cable(name)->open(opening)) continue;
    const std::string reason = std::string(name) + ": " + opening.why_not;
    if (!by_default) {
      error = std::string(opening.option_at_fault) + ": " + reason;
      return nullptr;
    }
    left_out += (left_out.empty() ? "" : ", ") + reason;
  }
  if (opening.open.empty()) {
    error = "links: none can be opened: " + left_out;
    return nullptr;
  }
  if (config.policy != Policy::single) notes = not_waking(*ni);
  notes = policy + notes + "; " + describe(opening, left_out);
  return ni;
}

}  // namespace lfc
