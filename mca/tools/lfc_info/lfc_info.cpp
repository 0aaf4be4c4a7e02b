// lfc-info: what LFC would do on this node, without a job: links, interfaces, devices, policy, what the kernel permits,
// and how a message of which size goes. Told from the same functions that a job uses, so it cannot differ from one.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "engine/cables.hpp"
#include "engine/open.hpp"
#include "lfc/lfc.h"
#include "link/connections.hpp"
#include "link/far.hpp"
#include "link/interfaces.hpp"
#ifdef LFC_VERBS
#include "link/verbs/ports.hpp"
#include "link/verbs/verbs_link.hpp"
#endif
#include "machine/cma.hpp"
#include "machine/cores.hpp"
#include "machine/placement.hpp"
#include "sync/asymmetric_fence.hpp"

namespace {

constexpr const char* kHelp =
    "lfc-info [--ranks N]: what LFC would do on this node; no job is started\n"
    "\n"
    "  --ranks N    the policy for N ranks of a job on this node (shown anyway: 1 to twice the "
    "processors)\n"
    "  --parameters all parameters: name, default, what is accepted, what it is for\n"
    "  --version    LFC's version\n"
    "\n"
    "Parameters of the environment (OMPI_MCA_btl_lfc_interfaces, OMPI_MCA_btl_lfc_provider) count, "
    "as in a job.\n";

void heading(const char* title) { std::printf("\n%s\n", title); }

template <class... Values>
void row(const char* name, const char* format, Values... values) {
  std::printf("  %-18s ", name);
  if constexpr (sizeof...(values) == 0) {
    std::fputs(format, stdout);
  } else {
    std::printf(format, values...);
  }
  std::putchar('\n');
}

std::string parameter(const char* name) {
  const char* value = std::getenv(("OMPI_MCA_btl_lfc_" + std::string(name)).c_str());
  return value == nullptr ? std::string() : value;
}

std::string first_line_of(const char* file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

// --- processors ---

void show_processors(unsigned ranks) {
  heading("processors and policy");
  const lfc::Cores cores = lfc::count_cores();
  row("allowed", "%zu, this process may run on %zu of them", cores.allowed.size(),
      cores.bound.size());
  if (cores.quota != 0) row("quota", "%d by the control group", cores.quota);
  if (lfc::is_crowded())
    row("now", "more wants to run than there are processors: times will scatter");
  const auto policy_of = [&cores](unsigned number) {
    const lfc::Choice choice = lfc::choose_policy(cores, number);
    const std::string name = std::to_string(number) + (number == 1 ? " rank" : " ranks");
    row(name.c_str(), "auto takes %s: %s", choice.floating ? "floating" : "single",
        choice.reason.c_str());
  };
  if (ranks != 0) {
    policy_of(ranks);
    const lfc::Place place = lfc::place_thread(lfc::read_machine(cores.allowed), cores, ranks, 0);
    row("fixed", "%s: %s", place.cpus.empty() ? "refused" : "possible", place.reason.c_str());
    return;
  }
  const unsigned usable = cores.usable() > 0 ? static_cast<unsigned>(cores.usable()) : 1;
  for (unsigned number = 1; number <= 2 * usable; number *= 2) policy_of(number);
}

// --- links ---

struct Opened {
  std::string name;
  lfc::LinkTraits traits;
};

// Opens each kind of link alone, as a job would.
std::vector<Opened> show_links() {
  heading("links, in order of preference");
  std::vector<Opened> opened;
  for (const lfc::Cable& cable : lfc::cables()) {
    const std::string name(cable.name);
    const std::string interfaces = cable.heeds_interfaces ? parameter("interfaces") : "";
    const std::string provider = cable.heeds_provider ? parameter("provider") : "";
    lfc::NiOptions options;
    options.links = name.c_str();
    options.interfaces = interfaces.c_str();
    options.provider = provider.c_str();
    options.policy = "single";
    std::string error, notes;
    const auto ni = lfc::open_ni(options, error, notes);
    const char* when = !cable.by_default                  ? "when named"
                       : cable.is_worth_trying != nullptr ? "by default, between nodes"
                                                          : "by default";
    if (ni == nullptr) {
      row(name.c_str(), "not here (%s): %s", when, error.c_str());
      continue;
    }
    notes = notes.substr(notes.find("; ") + 2);
    row(name.c_str(), "works (%s): %s; %s", when, std::string(cable.reaches).c_str(),
        notes.substr(0, notes.find("; frames")).c_str());
    // The first kind is the process itself, which sends itself few messages.
    if (&cable != &lfc::cables().front())
      opened.push_back({name, ni->peers().links().front()->traits()});
  }
  return opened;
}

// --- interfaces ---

#ifdef LFC_VERBS
// Each port, and whether the link verbs would use it.
void show_devices(const std::vector<lfc::Interface>& interfaces) {
  std::string problem;
  const lfc::verbs::Api* api = lfc::verbs::load_api(problem);
  const std::vector<lfc::verbs::Port> ports =
      api == nullptr ? std::vector<lfc::verbs::Port>() : lfc::verbs::list_ports(*api);
  std::vector<lfc::verbs::Choice> chosen;
  if (!lfc::verbs::choose_ports(parameter("interfaces"), ports, interfaces, chosen, problem))
    row("RDMA devices", "%s", problem.c_str());
  for (const lfc::verbs::Port& port : ports) {
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
void show_devices(const std::vector<lfc::Interface>&) {
  row("RDMA devices", "not looked for: this is built without libibverbs");
}
#endif

void show_interfaces() {
  heading("interfaces and devices (chosen by btl_lfc_interfaces)");
  const std::vector<lfc::Interface> all = lfc::list_interfaces();
  std::vector<lfc::Interface> chosen;
  std::string problem;
  std::string wanted = parameter("interfaces");
#ifdef LFC_VERBS
  wanted = lfc::without_rdma_devices(wanted);
#endif
  if (!lfc::select_interfaces(wanted, all, chosen, problem)) row("none", "%s", problem.c_str());
  static_cast<void>(lfc::drop_surplus(wanted, chosen));
  for (const std::string& item : lfc::idle_exclusions(wanted, all))
    row("excluded", "\"%s\" is no interface of this node", item.c_str());
  show_devices(all);
  for (const lfc::Interface& interface : all) {
    std::size_t rail = 0;
    while (rail < chosen.size() &&
           !(chosen[rail].name == interface.name && chosen[rail].address == interface.address))
      ++rail;
    const std::string speed =
        interface.megabits == 0 ? "unknown speed" : std::to_string(interface.megabits) + " Mbit/s";
    std::string use = rail < chosen.size() ? "rail " + std::to_string(rail + 1) : "not used";
    const unsigned connections = lfc::connections_for(interface.name);
    if (rail < chosen.size() && connections > 1)
      use += ", up to " + std::to_string(connections) + " connections to a peer";
    row(interface.name.c_str(), "%s/%u, %s, %s: %s", interface.address.text().c_str(),
        interface.prefix, speed.c_str(), interface.running ? "up" : "down", use.c_str());
  }
}

// --- kernel ---

// Whether a process may copy from a sister's memory, as ranks of one node do: tried between two of our own.
std::string single_copy() {
  static std::uint64_t word = 0x6c66632d696e666f;
  int go[2];
  if (pipe(go) != 0) return "cannot be tried";
  const pid_t child = fork();
  if (child == 0) {
    close(go[1]);
    char end = 0;
    const ssize_t count = read(go[0], &end, 1);  // until the parent has looked
    _exit(count == 0 ? 0 : 1);
  }
  close(go[0]);
  std::string why;
  const bool permitted =
      child > 0 && lfc::cma_permitted(static_cast<std::uint32_t>(child),
                                      reinterpret_cast<std::uintptr_t>(&word), word, why);
  close(go[1]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (!permitted) return "not permitted: " + why;
  const std::string scope = first_line_of("/proc/sys/kernel/yama/ptrace_scope");
  return "permitted" + (scope.empty() || scope == "0"
                            ? ""
                            : " (ptrace_scope " + scope + ": ranks allow each other)");
}

bool can_make_shared_memory() {
  const int descriptor = memfd_create("lfc-info", MFD_CLOEXEC);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0;
}

void show_kernel() {
  heading("kernel");
  row("single copy", "%s", single_copy().c_str());
  row("shared memory", "%s",
      can_make_shared_memory() ? "memfd works" : "memfd is refused: ranks of a node talk over tcp");
  row("membarrier", "%s",
      lfc::AsymmetricFence().is_asymmetric()
          ? "works: a send pays no fence for the engine's thread"
          : "missing: each send pays a fence for the engine's thread");
  const long watch = syscall(SYS_pidfd_open, getpid(), 0);
  row("process watch", "%s",
      watch >= 0 ? "pidfd works" : "no pidfd: a rank that dies is noticed by polling");
  if (watch >= 0) close(static_cast<int>(watch));
}

// --- messages ---

std::string bytes(std::size_t count) {
  if (count >= 1024 && count % 1024 == 0) return std::to_string(count / 1024) + " KiB";
  return std::to_string(count) + " B";
}

void show_messages(const std::vector<Opened>& links) {
  heading("how a contiguous message goes (MPI_Send; copies by processors of this node)");
  for (const Opened& link : links) {
    const std::size_t limit =
        lfc::asks_far(link.traits) ? lfc::limits::kTcpMessage : lfc::limits::kEagerMessage;
    const std::string eager = "up to " + bytes(limit);
    const bool on_node = link.traits.copies_at_once;
    const bool fetched = link.traits.remote_memory;
    row(link.name.c_str(), "%s: at once, with one credit; %s", eager.c_str(),
        on_node ? "2 copies: into shared memory and out of it"
                : "1 copy at the receiver, beside the link's own");
    if (!fetched) {
      row("", "above: its first part, then fragments when the receiver has asked%s",
          on_node ? "; 2 copies, which overlap" : "");
      continue;
    }
    const std::size_t from = link.traits.remote_memory_from;
    if (from > limit)
      row("", "from there to %s: fragments when the receiver has asked", bytes(from).c_str());
    const char* copies = link.traits.either_way
                             ? "1 copy by the kernel or 2 that overlap, whichever is found faster"
                         : on_node ? "1 copy, by the kernel"
                                   : "no copy beside the link's own";
    row("", "above%s: fetched by the receiver into its place; %s",
        from > limit ? (" " + bytes(from)).c_str() : "", copies);
  }
}

void show_parameters() {
  const struct {
    const char* component;
    const lfc_parameter_table* table;
  } components[] = {{"btl_lfc", lfc_btl_parameter_table()},
                    {"coll_lfc", lfc_coll_parameter_table()},
                    {"osc_neon", lfc_osc_parameter_table()},
                    {"part_lfc", lfc_part_parameter_table()}};
  for (const auto& [component, table] : components) {
    for (const lfc_parameter& row : std::span(table->rows, table->count)) {
      char accepted[256];
      lfc_parameter_accepted(&row, accepted, sizeof accepted);
      const std::string standard = row.type == LFC_TEXT ? row.text : std::to_string(row.number);
      std::printf("%s_%s = %s%s%s%s\n    %s\n", component, row.name, standard.c_str(),
                  *accepted == '\0' ? "" : " (", accepted, *accepted == '\0' ? "" : ")", row.help);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  unsigned ranks = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (word == "--version") {
      std::puts("lfc-info " LFC_VERSION);
      return 0;
    }
    if (word == "--parameters") {
      show_parameters();
      return 0;
    }
    char* end = nullptr;
    const unsigned long number =
        word == "--ranks" && i + 1 < argc ? std::strtoul(argv[++i], &end, 10) : 0;
    if (number == 0 || number > 1'000'000 || *end != '\0') {
      std::fprintf(stderr, "lfc-info: '%s'? (see --help)\n", argv[i]);
      return 2;
    }
    ranks = static_cast<unsigned>(number);
  }
  std::puts("LFC " LFC_VERSION ", built for Open MPI " LFC_OMPI_SERIES);
  show_processors(ranks);
  show_interfaces();
  const std::vector<Opened> links = show_links();
  show_kernel();
  show_messages(links);
  return 0;
}
