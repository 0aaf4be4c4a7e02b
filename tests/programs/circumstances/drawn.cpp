// Draws circumstances. A job has one to three kinds of circumstances, so that a failure has few causes. Ranks draw
// each kind on their own, and some draw nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "../draw.hpp"
#include "words.hpp"

namespace circumstances {
namespace {

using programs::Draw;
using programs::mixed;

// A value between the two, as likely in each decade.
double spread(Draw& draw, double low, double high) {
  const double place = static_cast<double>(draw.below(10000)) / 10000;
  return low * std::pow(high / low, place);
}
std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}
// The number of a call of MPI: mostly one of the first, in which connections and windows are made.
std::string call(Draw& draw) { return std::to_string(static_cast<int>(spread(draw, 1, 1500))); }

// All ranks of a job have one transport in common, at different places of their lists.
void draw_links(Draw& job, Draw& draw, Words& words) {
  const std::string common = job.pick<std::string>({"tcp", "tcp", "tcp", "shm", "ofi"});
  std::vector<std::string> links;
  for (const char* name : {"shm", "ofi", "tcp"})
    if (name == common || draw.one_in(name[0] == 'o' ? 4 : 2)) links.push_back(name);
  if (draw.one_in(4)) std::swap(links.front(), links.back());
  links.insert(draw.one_in(8) ? links.end() : links.begin(), "loop");
  std::string list;
  for (const std::string& name : links) list += (list.empty() ? "" : ",") + name;
  words.push_back("btl_lfc_links=" + list);
}

// The transport `ofi` is tested over one provider. A rank without this transport refuses the parameter.
void name_provider(Words& words) {
  const bool ofi = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.rfind("btl_lfc_links=", 0) == 0 && word.find("ofi") != std::string::npos;
  });
  if (ofi) words.push_back("btl_lfc_provider=tcp;ofi_rxm");
}

void draw_policy(Draw&, Draw& draw, Words& words) {
  words.push_back("btl_lfc_policy=" + draw.pick<std::string>({"single", "floating", "fixed"}));
  if (draw.one_in(4)) words.push_back("btl_lfc_upcalls=1");
  if (draw.one_in(4))
    words.push_back("btl_lfc_idle=" + draw.pick<std::string>({"spin", "yield", "backoff"}));
}

constexpr const char* kParameters[] = {"btl_lfc_eager_limit=1024",
                                       "btl_lfc_eager_limit=4096",
                                       "btl_lfc_far_eager_limit=256",
                                       "btl_lfc_max_send_size=64",
                                       "btl_lfc_max_send_size=256",
                                       "btl_lfc_max_send_size=1024",
                                       "btl_lfc_rndv_eager_limit=1024",
                                       "btl_lfc_queue_memory=1",
                                       "btl_lfc_queue_memory=65536",
                                       "btl_lfc_initial_window=1",
                                       "btl_lfc_initial_window=64",
                                       "btl_lfc_max_window=8",
                                       "btl_lfc_window_cap=1",
                                       "btl_lfc_shm_slots=16",
                                       "btl_lfc_shm_slots=1024",
                                       "btl_lfc_shm_bulk=4096",
                                       "btl_lfc_shm_bulk=1048576",
                                       "btl_lfc_peer_fragments=1",
                                       "btl_lfc_peer_fragments=7",
                                       "btl_lfc_push_limit=0",
                                       "btl_lfc_push_limit=70000",
                                       "btl_lfc_cma=0",
                                       "btl_lfc_single_copy_from=1",
                                       "btl_lfc_get_limit=4096",
                                       "btl_lfc_get_limit=65536",
                                       "btl_lfc_put_limit=4096",
                                       "btl_lfc_get_alignment=64",
                                       "btl_lfc_put_alignment=64",
                                       "btl_lfc_min_rdma_pipeline_size=70000",
                                       "btl_lfc_rdma_pipeline_send_length=0",
                                       "btl_lfc_rdma_pipeline_frag_size=65536",
                                       "btl_lfc_registration_cache=always",
                                       "btl_lfc_registration_cache=never",
                                       "btl_lfc_watch_interval=1",
                                       "btl_lfc_watch_interval=1000000",
                                       "btl_lfc_intr_delay=1",
                                       "btl_lfc_intr_delay=100000",
                                       "btl_lfc_connections=3",
                                       "btl_lfc_trace=64",
                                       "coll_lfc_fan=1",
                                       "coll_lfc_packet=256",
                                       "coll_lfc_window=65536",
                                       "coll_lfc_forwarding=host",
                                       "coll_lfc_tree=chain",
                                       "coll_lfc_channels=bind",
                                       "osc_neon_eager=0",
                                       "osc_neon_budget=16448",
                                       "mpi_yield_when_idle=1",
                                       "mpi_leave_pinned=1",
                                       "coll=^lfc",
                                       "pml_ob1_max_rdma_per_request=1"};

void draw_parameters(Draw&, Draw& draw, Words& words) {
  for (int count = draw.in(1, 3); count > 0; --count)
    words.push_back(kParameters[draw.below(std::size(kParameters))]);
}

void draw_limits(Draw&, Draw& draw, Words& words) {
  constexpr std::size_t kMiB = 1 << 20;
  const std::string drawn[] = {
      "address:" + std::to_string(draw.pick({450 * kMiB, 700 * kMiB, 2000 * kMiB})),
      "file:" + std::to_string(draw.pick({std::size_t{0}, std::size_t{51200}, kMiB, 20 * kMiB})),
      "files:" + std::to_string(draw.in(28, 64))};
  words.push_back("limit=" + drawn[draw.below(std::size(drawn))]);
}

void draw_refusals(Draw&, Draw& draw, Words& words) {
  for (int count = draw.in(1, 2); count > 0; --count)
    words.push_back(
        "refuse=" +
        draw.pick<std::string>({"memfd_create", "membarrier", "pidfd_open", "process_vm_readv",
                                "process_vm_writev", "timerfd_create", "fallocate",
                                "sched_setaffinity", "F_GET_SEALS", "F_ADD_SEALS"}) +
        draw.pick<std::string>({":EPERM", ":EPERM", ":ENOSYS"}));
}

// Timeouts are those of connections, which ranks of one host have only without shared memory.
void perhaps_connect(Draw& job, Words& words) {
  if (job.one_in(2)) words.push_back("btl_lfc_links=loop,tcp");
}

void draw_pauses(Draw& job, Draw& draw, Words& words) {
  perhaps_connect(job, words);
  for (int count = draw.in(0, 2); count > 0; --count) {
    const std::string when = draw.one_in(10) ? "start" : draw.one_in(10) ? "end" : call(draw);
    words.push_back("pause=" + when + ":" + seconds(spread(draw, 0.01, 3)));
  }
}

void draw_stops(Draw& job, Draw& draw, Words& words) {
  perhaps_connect(job, words);
  if (draw.one_in(2)) return;
  const std::string delay = draw.one_in(2) ? "0" : seconds(spread(draw, 0.001, 0.1));
  words.push_back("stop=" + call(draw) + ":" + delay + ":" + seconds(spread(draw, 0.02, 3)));
}

void draw_privileges(Draw&, Draw& draw, Words& words) {
  words.push_back(draw.one_in(2) ? "then=undumpable" : "then=uid");
}

struct Kind {
  bool of_all;  // each rank must draw it, because all have something in common
  void (*draw)(Draw& job, Draw& own, Words& words);
};
constexpr Kind kKinds[] = {{true, draw_links},   {false, draw_policy},    {false, draw_parameters},
                           {false, draw_limits}, {false, draw_refusals},  {true, draw_pauses},
                           {true, draw_stops},   {false, draw_privileges}};

// Whether the word, or a parameter of Open MPI, has been drawn already. Other words may stand side by side.
bool is_drawn(const Words& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  const std::string beginning = word.substr(0, word.find('=') + 1);
  for (const char* repeated : {"refuse=", "pause=", "stop=", "limit="})
    if (beginning == repeated) return false;
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& each) { return each.rfind(beginning, 0) == 0; });
}

}  // namespace

Words drawn(std::uint64_t seed, int rank) {
  // If the timeout is short, pauses of some seconds are long.
  Words words = {"btl_lfc_connect_timeout=1"};
  Draw job(mixed(seed, 0));
  for (int count = job.in(1, 3); count > 0; --count) {
    const std::uint64_t kind = job.below(std::size(kKinds));
    Draw own(mixed(mixed(seed, 1 + kind), static_cast<std::uint64_t>(rank)));
    Draw common(mixed(seed, 100 + kind));
    Words more;
    if (kKinds[kind].of_all || !own.one_in(3)) kKinds[kind].draw(common, own, more);
    for (const std::string& word : more)
      if (!is_drawn(words, word)) words.push_back(word);
  }
  name_provider(words);
  return words;
}

}  // namespace circumstances
