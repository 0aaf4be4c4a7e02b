#include "engine/open.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "link/bond/bond_link.hpp"
#include "link/interfaces.hpp"
#include "link/loop/loop_link.hpp"
#include "link/ofi/ofi_link.hpp"
#include "link/shm/calibration.hpp"
#include "link/shm/shm_link.hpp"
#include "link/tcp/tcp_link.hpp"
#include "machine/cores.hpp"
#include "machine/placement.hpp"

namespace lfc {
namespace {

// What a receive window may be: more would only hide a receiver that does not keep up.
constexpr std::uint32_t kMaxWindow = 65536;
constexpr std::uint32_t kMaxMicroseconds = 1'000'000;

RingShape ring_shape(const NiOptions& options) noexcept {
  RingShape shape;
  shape.slots = options.shm_slots;
  shape.bulk = static_cast<std::uint32_t>(options.shm_bulk);
  shape.max_payload = std::min(shape.max_payload, shape.bulk / 4);
  return shape;
}

// One attempt to open the links of one kind.
struct Opening {
  const NiOptions& options;
  Policy policy;
  Ni& ni;
  std::vector<std::string> open;  // names of the links added so far
  std::string rails{};            // of the bond, when there is one
  const char* option_at_fault = "links";
  std::string why_not{};
  std::string single_copy{};  // when shm copies once, for the user

  bool add(std::unique_ptr<Link> link) {
    if (link == nullptr) return false;
    open.emplace_back(link->name());
    ni.add_link(std::move(link));
    return true;
  }
  bool full() const noexcept { return open.size() == kMaxLinks; }
  std::size_t choose_single_copy() {
    std::string how = "asked for";
    std::size_t from = options.single_copy_from;
    if (from == 0) {
      const Calibration calibration = calibrate();
      from = calibration.single_copy_from;
      how = calibration.how;
    }
    single_copy = from == Calibration::kNever ? "never" : "from " + std::to_string(from) + " B on";
    single_copy += " (" + how + ")";
    return from;
  }
};

bool open_loop(Opening& opening) {
  LoopOptions loop;
  loop.bell = opening.policy != Policy::single;
  return opening.add(
      make_loop_link(loop, opening.ni.identity(), opening.ni.sink(), opening.why_not));
}

bool open_shm(Opening& opening) {
  ShmOptions shm;
  shm.ring = ring_shape(opening.options);
  shm.cma = opening.options.cma;
  shm.bell = opening.policy != Policy::single;
  if (shm.cma) shm.single_copy_from = opening.choose_single_copy();
  shm.notice = opening.options.notice;
  return opening.add(make_shm_link(shm, opening.ni.sink(), opening.why_not));
}

std::unique_ptr<Link> open_tcp_on(const Interface& interface, const std::string& name,
                                  FrameSink& sink, Opening& opening) {
  TcpOptions tcp;
  tcp.name = name;
  tcp.interface = interface;
  tcp.threads = opening.options.threads;
  return make_tcp_link(tcp, opening.ni.identity(), sink, opening.ni.link_counters(),
                       opening.why_not);
}

// One link for each interface; several are bonded.
bool open_tcp(Opening& opening) {
  std::vector<Interface> chosen;
  if (!select_interfaces(opening.options.interfaces, list_interfaces(), chosen, opening.why_not)) {
    opening.option_at_fault = "interfaces";
    return false;
  }
  BondOptions options;
  options.rail_timeout = std::chrono::milliseconds(opening.options.rail_timeout);
  options.notice = opening.options.notice;
  auto bond =
      make_bond_link(options, opening.ni.identity(), opening.ni.sink(), opening.ni.link_counters());
  const Interface* last = nullptr;
  for (const Interface& interface : chosen) {
    if (chosen.size() == 1 || bond->rails() == kMostRails) break;
    const std::string number = bond->rails() == 0 ? "" : std::to_string(bond->rails());
    auto rail = open_tcp_on(interface, "tcp" + number, bond->rail_sink(), opening);
    if (rail != nullptr) {
      last = &interface;
      opening.rails += (opening.rails.empty() ? "" : ",") + interface.name;
      bond->add_rail(interface.name, std::move(rail));
    } else if (opening.options.notice != nullptr) {
      opening.options.notice("rail " + interface.name + " is left out: " + opening.why_not);
    }
  }
  if (bond->rails() > 1) return opening.add(std::move(bond));
  opening.rails.clear();
  bond.reset();
  return opening.add(
      open_tcp_on(last != nullptr ? *last : chosen.front(), "tcp", opening.ni.sink(), opening));
}

bool open_ofi(Opening& opening) {
  OfiOptions ofi;
  ofi.provider = opening.options.provider;
  ofi.interface = opening.options.interfaces;
  if (!ofi.interface.empty()) opening.option_at_fault = "interfaces";
  if (!ofi.provider.empty()) opening.option_at_fault = "provider";
  return opening.add(make_ofi_link(ofi, opening.ni.identity(), opening.ni.sink(),
                                   opening.ni.link_counters(), opening.why_not));
}

struct Kind {
  std::string_view name;
  bool (*open)(Opening& opening);
};
constexpr Kind kKinds[] = {
    {"loop", open_loop}, {"shm", open_shm}, {"tcp", open_tcp}, {"ofi", open_ofi}};

const Kind* find_kind(std::string_view name) noexcept {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [name](const Kind& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
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

std::optional<Idle> find_idle(std::string_view name) noexcept {
  if (name == "spin") return Idle::spin;
  if (name == "yield") return Idle::yield;
  if (name == "backoff") return Idle::backoff;
  if (name == "block") return Idle::block;
  return std::nullopt;
}

// What is wrong with the options that no link looks at; empty: nothing.
std::string find_fault(const NiOptions& options) {
  const auto quoted = [](std::string_view value) { return "'" + std::string(value) + "'"; };
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

  const auto items = split(options.links);
  const auto named = [&items](std::string_view name) {
    return std::count(items.begin(), items.end(), name);
  };
  if (items.empty()) return "links: none is named (accepted: loop, shm, tcp, ofi)";
  for (const std::string_view item : items) {
    if (find_kind(item) == nullptr)
      return "links: there is no link " + quoted(item) + " (accepted: loop, shm, tcp, ofi)";
    if (named(item) > 1) return "links: " + quoted(item) + " is named twice";
  }
  if (!options.provider.empty() && named("ofi") == 0)
    return "provider: " + quoted(options.provider) + " needs the link ofi, but links is " +
           quoted(options.links);
  if (!options.interfaces.empty() && named("tcp") + named("ofi") == 0)
    return "interfaces: " + quoted(options.interfaces) +
           " needs the link tcp or ofi, but links is " + quoted(options.links);
  return {};
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
    std::vector<int> fds;
    link->wait_fds(fds);
    if (fds.empty()) names += (names.empty() ? "" : " and ") + std::string(link->name());
  }
  return names.empty() ? names : " (" + names + " wakes nobody: looked at by the clock)";
}

std::string describe(const Opening& opening, const std::string& left_out) {
  const NiOptions& options = opening.options;
  std::string text = "links";
  for (const std::string& name : opening.open)
    text += " " + name + (name == "bond" ? "(" + opening.rails + ")" : "");
  if (!left_out.empty()) text += "; not open: " + left_out;
  if (!opening.single_copy.empty()) text += "; single copy in shm " + opening.single_copy;
  const std::size_t ring = ring_shape(options).bytes();
  const std::uint64_t frame = opening.ni.max_message();
  text +=
      "; frames <= " + std::to_string(frame) + " B, windows " +
      std::to_string(options.initial_window) + ".." + std::to_string(options.max_window) +
      "; receive memory with P talking peers <= max(window_cap, P * initial_window) * frame = " +
      "max(" + std::to_string(options.window_cap) + ", P * " +
      std::to_string(options.initial_window) + ") * " + std::to_string(frame) +
      " B, and per local sender a ring of " + std::to_string(ring) + " B";
  if (!opening.rails.empty())
    text += ", and per peer over several rails at most " + std::to_string(bond_peer_memory()) +
            " B for frames not acknowledged or out of order";
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
      options.links == kDefaultLinks && options.interfaces.empty() && options.provider.empty();
  Opening opening{options, config.policy, *ni, {}};
  std::string left_out;
  for (const std::string_view name : split(options.links)) {
    if (opening.full()) break;
    opening.option_at_fault = "links";
    opening.why_not.clear();
    if (find_kind(name)->open(opening)) continue;
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
