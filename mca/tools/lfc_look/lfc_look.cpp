// lfc-look: the activity of a job's ranks on this node, and the rank that holds it up. It reads from outside: no rank
// is stopped, and no code runs in them for it (common/look/records.hpp).
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "job.hpp"
#include "print.hpp"
#include "process.hpp"
#include "tools/pages.hpp"
#include "verdict.hpp"

namespace {

// The place is for the folder of the pages.
constexpr const char* kHelp =
    "lfc-look PID ... | --job [NUMBER]: what ranks that use LFC do, and which rank holds up the "
    "job\n"
    "\n"
    "  PID ...         the ranks that are these processes\n"
    "  --job           all ranks on this node, job by job\n"
    "  --job NUMBER    the ranks of one job\n"
    "  --verdict       only the verdict: which rank waits for what, and which rank has to act\n"
    "  --wait SECONDS  how long to watch for progress (default: 0.3)\n"
    "  --version       LFC's version\n"
    "\n"
    "The ranks may be running, hung or stopped. Nothing is stopped, and no debugger is needed.\n"
    "lfc-look reads the memory of the ranks, which the job's user and root may do; if the "
    "kernel's\n"
    "kernel.yama.ptrace_scope is 1 or more, perhaps only root. The verdict covers the ranks of a "
    "job\n"
    "on this node; lfc-look on another node covers the ranks there.\n"
    "\n"
    "For each rank it prints what the rank does; LFC's counters; each peer with its transport,\n"
    "credits (messages that the rank may send), window (messages that the peer may send), owed\n"
    "(credits to be returned) and waiting messages; windows, collectives, announced buffers and\n"
    "ordered broadcasts; connections with bytes on the way.\n"
    "\n"
    "The verdict says in sentences which rank holds up which: \"rank 3 waits for a credit of rank "
    "5;\n"
    "rank 5 has not called MPI for 12 s: it computes\". This page has an example of each kind:\n"
    "%s/mca/tools/lfc_look/README.md\n"
    "\n"
    "Exit status: 0: success; 1: no rank was seen; 2: invalid argument.\n";

// If no rank was seen, at most so many processes that may not be read are reported.
constexpr std::size_t kMostRefusals = 3;

struct Wish {
  std::vector<int> pids;
  bool all = false;
  std::uint32_t job = 0;  // 0: any
  bool only_verdict = false;
  double seconds = 0.3;

  bool names(int pid) const {
    return pids.empty() || std::find(pids.begin(), pids.end(), pid) != pids.end();
  }
};

[[noreturn]] void refuse(const char* word) {
  std::fprintf(stderr, "lfc-look: '%s'? (see --help)\n", word);
  std::exit(2);
}

double number_or_refuse(const char* word, double most) {
  char* end = nullptr;
  const double number = std::strtod(word, &end);
  if (end == word || *end != '\0' || !(number > 0) || number > most) refuse(word);
  return number;
}

bool is_number(const char* word) { return word != nullptr && *word >= '0' && *word <= '9'; }

Wish read_words(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::printf(kHelp, lfc::pages_folder().c_str());
      std::exit(0);
    } else if (word == "--version") {
      std::puts("lfc-look " LFC_VERSION);
      std::exit(0);
    } else if (word == "--verdict") {
      wish.only_verdict = true;
    } else if (word == "--wait") {
      if (i + 1 == argc) refuse(argv[i]);
      wish.seconds = number_or_refuse(argv[++i], 3600);
    } else if (word == "--job") {
      wish.all = true;
      if (is_number(argv[i + 1]))
        wish.job = static_cast<std::uint32_t>(number_or_refuse(argv[++i], 4294967295.0));
    } else {
      if (!is_number(argv[i])) refuse(argv[i]);
      wish.pids.push_back(static_cast<int>(number_or_refuse(argv[i], 1 << 30)));
    }
  }
  if (wish.all != wish.pids.empty()) {
    std::fputs("lfc-look: give either process ids or --job (see --help)\n", stderr);
    std::exit(2);
  }
  return wish;
}

bool concerns(const look::Job& job, const Wish& wish) {
  if (wish.job != 0) return job.front().job() == wish.job;
  return std::any_of(job.begin(), job.end(),
                     [&](const look::Rank& rank) { return wish.names(rank.pid); });
}

void show(std::uint32_t number, const look::Job& job, const Wish& wish) {
  if (!wish.only_verdict) {
    std::printf("job %u, %zu %s on this node\n", number, job.size(),
                job.size() == 1 ? "rank" : "ranks");
    for (const look::Rank& rank : job)
      if (wish.names(rank.pid)) look::print(rank);
    std::putchar('\n');
  }
  for (const std::string& line : look::verdict(job)) std::printf("verdict: %s\n", line.c_str());
}

// Why a process that was named is not among those seen; others' refusals are none of its business.
void explain(int pid, const std::vector<std::string>& problems) {
  const std::string who = "process " + std::to_string(pid) + " ";
  const auto own = std::find_if(problems.begin(), problems.end(),
                                [&](const std::string& line) { return line.rfind(who, 0) == 0; });
  const bool exists = ::kill(pid, 0) == 0 || errno != ESRCH;
  const std::string text = own != problems.end() ? *own
                           : exists              ? who + "has not opened LFC"
                                                 : who + "does not exist on this node";
  std::fprintf(stderr, "lfc-look: %s\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish = read_words(argc, argv);
  const look::Found found = look::look_at(look::processes(), wish.seconds);
  bool any = false;
  for (const auto& [number, job] : found.jobs) {
    if (!concerns(job, wish)) continue;
    if (any && !wish.only_verdict) std::putchar('\n');
    show(number, job, wish);
    any = true;
  }
  if (any) return 0;
  for (const int pid : wish.pids) explain(pid, found.problems);
  if (!wish.pids.empty()) return 1;
  std::fprintf(stderr, "lfc-look: no rank on this node has opened LFC%s\n",
               wish.job != 0 ? " in that job" : "");
  for (std::size_t i = 0; i < std::min(found.problems.size(), kMostRefusals); ++i)
    std::fprintf(stderr, "lfc-look: %s\n", found.problems[i].c_str());
  if (found.problems.size() > kMostRefusals)
    std::fprintf(stderr, "lfc-look: (likewise %zu more)\n", found.problems.size() - kMostRefusals);
  return 1;
}
