// lfc-info: LFC's choices on this node, printed without a job: links, interfaces, devices, policy, permissions of the
// kernel, and the path of each size of message. It calls the same functions as a job, so it cannot differ from one.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/build_id.hpp"
#include "base/build_stamp.hpp"
#include "base/limits.hpp"
#include "engine/link_kinds.hpp"
#include "engine/open.hpp"
#include "interfaces.hpp"
#include "lfc/lfc.h"
#include "link/far.hpp"
#include "machine/cma.hpp"
#include "machine/cores.hpp"
#include "machine/placement.hpp"
#include "plugin.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "sync/asymmetric_fence.hpp"
#include "tools/pages.hpp"

namespace {

using lfc::heading;
using lfc::row;

// The place is for the folder of the pages.
constexpr const char* kHelp =
    "lfc-info [--ranks N]: what LFC would do on this node; no job is started\n"
    "\n"
    "  --ranks N     policy for N ranks of a job on this node (default: 1 to twice the "
    "processors)\n"
    "  --parameters  all parameters: name, default, accepted values, meaning\n"
    "  --environment lines for a shell, with which jobs find the LFC of this lfc-info, and "
    "silently:\n"
    "                eval \"$(lfc-info --environment)\"\n"
    "  --version     LFC's version; build, an id of liblfc's contents; and layout, which must be "
    "the\n"
    "                same on all nodes whose ranks connect to each other\n"
    "\n"
    "Parameters count as in a job. The first of these that sets a parameter wins: Open MPI's\n"
    "openmpi-mca-params-override.conf, the environment (OMPI_MCA_btl_lfc_...),\n"
    "~/.openmpi/mca-params.conf, Open MPI's openmpi-mca-params.conf.\n"
    "\n"
    "LFC's pages: %s/README.md\n"
    "\n"
    "Exit status: 0: success; 2: invalid argument.\n";

std::string first_line_of(const char* file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

// --- the plugin that a job loads ---

void show_plugin(const lfc::Settings& settings) {
  heading("where a job finds LFC");
  const lfc::Plugin plugin = lfc::Plugin::find(settings);
  const std::string own = lfc::own_components();
  row("component path", "%s (%s)", plugin.path.c_str(), plugin.source.c_str());
  if (!plugin.unreadable.empty())
    row("unreadable", "%s: Open MPI skips all folders behind it, so jobs without LFC fail as well",
        plugin.unreadable.c_str());
  row("mca_btl_lfc.so", "%s",
      plugin.folder.empty() ? "in none of these folders" : plugin.folder.c_str());
  if (plugin.folder == own) return;
  row("WARNING", "a job %s, but this lfc-info belongs to %s",
      plugin.folder.empty() ? "does not find LFC" : "loads another LFC", own.c_str());
  row("", "to use that: eval \"$(lfc-info --environment)\"");
}

// --- parameters ---

std::vector<const lfc_parameter_table*> tables() {
  return {lfc_btl_parameter_table(), lfc_ob1_parameter_table(), lfc_coll_parameter_table(),
          lfc_osc_parameter_table(), lfc_part_parameter_table()};
}

// Whether the parameter is LFC's, or selects components of Open MPI among which LFC's are.
bool is_of_interest(std::string_view name) {
  for (const std::string_view framework : {"pml", "btl", "coll", "osc", "part"})
    if (name == framework) return true;
  const std::vector<const lfc_parameter_table*> all = tables();
  return std::any_of(all.begin(), all.end(), [name](const lfc_parameter_table* each) {
    return name.starts_with(std::string(each->component) + "_");
  });
}

void show_settings(const lfc::Settings& settings) {
  heading("parameters that are set");
  bool none = true;
  for (const lfc::Setting& each : settings.all()) {
    if (!is_of_interest(each.name)) continue;
    row(each.name.c_str(), "%s (%s)", each.value.c_str(), each.source.c_str());
    none = false;
  }
  if (none) row("none", "LFC's have their defaults (see --parameters)");
  for (const std::string& file : settings.files())
    row("file", "%s%s", file.c_str(), access(file.c_str(), R_OK) == 0 ? "" : " (not there)");
}

// The fault of a component's parameters; empty: there is none.
template <class Parameters>
std::string fault_in(const lfc::Settings& settings, const lfc_parameter_table& table) {
  Parameters parameters;
  char text[256] = "";
  settings.apply(table, &parameters);
  (void)lfc_parameters_check(&table, &parameters, text, sizeof text);
  return text;
}

template <class Parameters>
void show_fault(const lfc::Settings& settings, const lfc_parameter_table& table) {
  const std::string fault = fault_in<Parameters>(settings, table);
  if (!fault.empty()) row(table.component, "declines: %s", fault.c_str());
}

// The options with which a job of `ranks` ranks would open its engine.
lfc::NiOptions options_of(const lfc::Settings& settings, unsigned ranks) {
  lfc::NiOptions options;
  lfc_btl_parameters* const parameters = &options;
  settings.apply(*lfc_btl_parameter_table(), parameters);
  if (ranks != 0) options.local_processes = ranks;
  return options;
}

// Options to examine links: without the engine's thread, which they do not need.
lfc::NiOptions without_thread(lfc::NiOptions options) {
  options.policy = "single";
  options.upcalls = false;
  return options;
}

// The links that a job opens, in words, or why it opens none.
void show_job(const lfc::NiOptions& options, const lfc::Settings& settings) {
  heading("a job");
  std::string error = lfc::find_fault(options), notes;
  if (error.empty()) error = fault_in<lfc_ob1_parameters>(settings, *lfc_ob1_parameter_table());
  if (error.empty() && lfc::open_ni(without_thread(options), error, notes) != nullptr) {
    notes = notes.substr(notes.find("; ") + 2);
    row("btl_lfc", "%s", notes.substr(0, notes.find("; frames")).c_str());
  } else {
    row("btl_lfc", "declines: %s", error.c_str());
  }
  show_fault<lfc_coll_parameters>(settings, *lfc_coll_parameter_table());
  show_fault<lfc_osc_parameters>(settings, *lfc_osc_parameter_table());
  show_fault<lfc_part_parameters>(settings, *lfc_part_parameter_table());
}

// --- processors ---

void show_processors(lfc::NiOptions options, unsigned ranks) {
  heading("processors and policy (chosen by btl_lfc_policy)");
  const lfc::Cores cores = lfc::count_cores();
  row("allowed", "%zu, this process may run on %zu of them", cores.allowed.size(),
      cores.bound.size());
  if (cores.quota != 0) row("quota", "%d by the control group", cores.quota);
  if (lfc::is_crowded())
    row("now", "more wants to run than there are processors: times will scatter");
  if (!lfc::find_fault(options).empty()) return;  // show_job() prints why there is no policy
  const auto policy_of = [&options](unsigned number) {
    options.local_processes = number;
    const std::string name = std::to_string(number) + (number == 1 ? " rank" : " ranks");
    row(name.c_str(), "%s", lfc::describe_policy(options).c_str());
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
  std::size_t message;  // the largest
};

// The kinds of links: those that the list names in its order, then the others. `named`: how many the list names.
std::vector<const lfc::LinkKind*> sorted_links(std::string_view list, std::size_t& named) {
  std::vector<const lfc::LinkKind*> sorted;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const lfc::LinkKind* const kind = lfc::find_link_kind(list.substr(0, comma));
    if (kind != nullptr) sorted.push_back(kind);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  named = sorted.size();
  for (const lfc::LinkKind& kind : lfc::link_kinds())
    if (std::find(sorted.begin(), sorted.end(), &kind) == sorted.end()) sorted.push_back(&kind);
  return sorted;
}

bool names_tcp(const lfc::NiOptions& options) {
  std::size_t named = 0;
  const std::vector<const lfc::LinkKind*> links = sorted_links(lfc::text_of(options.links), named);
  const auto end = links.begin() + static_cast<std::ptrdiff_t>(named);
  return std::find(links.begin(), end, lfc::find_link_kind("tcp")) != end;
}

// Whether a job uses the link, in words.
const char* when_used(const lfc::LinkKind& kind, bool named, bool by_default) {
  if (!by_default) return named ? "named" : "not named";
  if (!named) return "when named";
  return kind.is_worth_trying != nullptr ? "by default, between nodes" : "by default";
}

// Opens each kind of link alone, as a job would.
std::vector<Opened> show_links(const lfc::NiOptions& of_job) {
  heading("links, in order of preference (chosen by btl_lfc_links)");
  const bool by_default = lfc::text_of(of_job.links) == lfc::default_links();
  std::vector<Opened> opened;
  std::size_t named = 0, place = 0;
  for (const lfc::LinkKind* const kind : sorted_links(lfc::text_of(of_job.links), named)) {
    const std::string name(kind->name);
    lfc::NiOptions options = without_thread(of_job);
    options.links = name.c_str();
    if (!kind->heeds_interfaces) options.interfaces = nullptr;
    if (!kind->heeds_provider) options.provider = nullptr;
    std::string error, notes;
    const bool is_named = place++ < named;
    const char* const when = when_used(*kind, is_named, by_default);
    const auto ni = lfc::open_ni(options, error, notes);
    if (ni == nullptr) {
      row(name.c_str(), "not here (%s): %s", when, error.c_str());
      continue;
    }
    notes = notes.substr(notes.find("; ") + 2);
    row(name.c_str(), "works (%s): %s; %s", when, std::string(kind->reaches).c_str(),
        notes.substr(0, notes.find("; frames")).c_str());
    // The first kind is the process itself, which sends itself few messages.
    const lfc::Link& link = *ni->peers().links().front();
    if (kind != &lfc::link_kinds().front() && (is_named || by_default))
      opened.push_back({name, link.traits(), link.max_message()});
  }
  return opened;
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
      can_make_shared_memory() ? "memfd works"
                               : "memfd is refused: ranks of a node communicate over tcp");
  row("membarrier", "%s",
      lfc::AsymmetricFence().is_asymmetric()
          ? "works: a send pays no fence for the engine's thread"
          : "missing: each send pays a fence for the engine's thread");
  const long watch = syscall(SYS_pidfd_open, getpid(), 0);
  row("process watch", "%s",
      watch >= 0 ? "pidfd works" : "no pidfd: a rank that ends is detected by polling");
  if (watch >= 0) close(static_cast<int>(watch));
}

// --- messages ---

std::string bytes(std::size_t count) {
  if (count >= 1024 && count % 1024 == 0) return std::to_string(count / 1024) + " KiB";
  return std::to_string(count) + " B";
}

// The largest message that goes at once, over this link: Open MPI's parameter, or ours for far peers.
std::size_t eager_limit(const Opened& link, const lfc::NiOptions& options,
                        const lfc::Settings& settings) {
  const bool far = lfc::is_far(link.traits);
  const std::size_t limit =
      far ? options.far_eager_limit
          : settings.number("btl_lfc_eager_limit", lfc::limits::kEagerMessage);
  return std::min(limit, link.message);
}

// Whether registrations of memory are kept: such a message is not pushed.
bool keeps_registrations(const std::vector<Opened>& links, const lfc::NiOptions& options) {
  const std::string_view cache = lfc::text_of(options.registration_cache);
  return cache == "always" ||
         (cache == "auto" && std::any_of(links.begin(), links.end(), [](const Opened& link) {
            return link.traits.registration_costs;
          }));
}

void show_messages(const std::vector<Opened>& links, const lfc::NiOptions& options,
                   const lfc::Settings& settings) {
  heading("how a contiguous message goes (MPI_Send; copies by processors of this node)");
  const std::size_t push = keeps_registrations(links, options) ? 0 : options.push_limit;
  for (const Opened& link : links) {
    const std::size_t limit = eager_limit(link, options, settings);
    const std::string eager = "up to " + bytes(limit);
    const bool on_node = link.traits.copies_at_once;
    row(link.name.c_str(), "%s: at once, with one credit; %s", eager.c_str(),
        on_node ? "2 copies: into shared memory and out of it"
                : "1 copy at the receiver, beside the link's own");
    if (!link.traits.remote_memory) {
      row("", "above: its first part, then fragments on request of the receiver%s",
          on_node ? "; 2 copies, which overlap" : "");
      continue;
    }
    std::size_t from = limit;
    if (link.traits.remote_memory_from > from) {
      from = link.traits.remote_memory_from;
      row("", "from there to %s: fragments on request of the receiver", bytes(from).c_str());
    }
    if (!on_node && push > from) {
      from = push;
      row("",
          "from there to %s: pushed: sent behind its RTS, before the receiver requests it; at "
          "most 1 copy",
          bytes(from).c_str());
    }
    const char* copies = link.traits.either_way
                             ? "1 copy by the kernel or 2 that overlap, whichever is found faster"
                         : on_node ? "1 copy, by the kernel"
                                   : "no copy beside the link's own";
    row("", "above%s: fetched by the receiver into its place; %s",
        from > limit ? (" " + bytes(from)).c_str() : "", copies);
  }
}

void show_parameters() {
  for (const lfc_parameter_table* table : tables()) {
    for (const lfc_parameter& row : std::span(table->rows, table->count)) {
      char accepted[256];
      lfc_parameter_accepted(&row, accepted, sizeof accepted);
      const std::string standard = row.type == LFC_TEXT ? row.text : std::to_string(row.number);
      std::printf("%s_%s = %s%s%s%s\n    %s\n", table->component, row.name, standard.c_str(),
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
      std::printf(kHelp, lfc::pages_folder().c_str());
      return 0;
    }
    if (word == "--version") {
      std::printf("lfc-info " LFC_VERSION ", build %s, layout %08x\n", lfc::build_id().c_str(),
                  lfc::BuildStamp::of_all());
      return 0;
    }
    if (word == "--environment") {
      std::fputs(lfc::environment().c_str(), stdout);
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
  const lfc::Settings settings = lfc::Settings::read();
  const lfc::NiOptions options = options_of(settings, ranks);
  std::printf("LFC " LFC_VERSION ", built for Open MPI " LFC_OMPI_SERIES
              ", build %s, layout %08x\n",
              lfc::build_id().c_str(), lfc::BuildStamp::of_all());
  show_plugin(settings);
  show_settings(settings);
  show_job(options, settings);
  show_processors(options, ranks);
  lfc::show_interfaces(options, names_tcp(options));
  const std::vector<Opened> links = show_links(options);
  show_kernel();
  show_messages(links, options, settings);
  return 0;
}
