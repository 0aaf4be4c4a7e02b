// Settings for the examples in common/look, the tools and libmpix_neon
// (scripts/checks/examples): the types of their variables. Nothing here is ever run.
#include <cstddef>
#include <mutex>

#include "given.hpp"
#include "look/published.hpp"
#include "look/states.hpp"
#include "mca/libraries/mpix_neon/datatype_pieces.hpp"
#include "mca/libraries/mpix_neon/drain.hpp"
#include "mca/libraries/mpix_neon/endpoint.hpp"
#include "mca/libraries/mpix_neon/extents.hpp"
#include "mca/libraries/mpix_neon/handles.hpp"
#include "mca/libraries/mpix_neon/jobs.hpp"
#include "mca/libraries/mpix_neon/native.hpp"
#include "mca/libraries/mpix_neon/spin_lock.hpp"
#include "mca/libraries/mpix_neon/window.hpp"
#include "mca/tools/lfc_info/interfaces.hpp"
#include "mca/tools/lfc_info/plugin.hpp"
#include "mca/tools/lfc_info/report.hpp"
#include "mca/tools/lfc_info/settings.hpp"
#include "mca/tools/lfc_look/job.hpp"
#include "mca/tools/lfc_look/memory.hpp"
#include "mca/tools/lfc_look/process.hpp"
#include "mca/tools/lfc_look/reader.hpp"
#include "mca/tools/lfc_look/snapshot.hpp"
#include "mca/tools/lfc_look/verdict.hpp"

#define LFC_PAGES_FROM_BIN "../share/doc/lfc"  // of the build
#define LFC_SOURCE_TREE ""
#include "mca/tools/pages.hpp"

namespace lfc::examples {

extern const Given print;

struct Windows {
  std::span<const char> windows;
  void all() {
#include "common/look/published.hpp.example"
  }
};

void states(std::uint64_t number, void (*show)(const char*)) {
#include "common/look/states.hpp.example"
  static_cast<void>(state);
}

void plugin_of() {
#include "mca/tools/lfc_info/plugin.hpp.example"
}

void pages() {
#include "mca/tools/pages.hpp.example"
}

void interfaces(const NiOptions& options) {
#include "mca/tools/lfc_info/interfaces.hpp.example"
}

void report() {
#include "mca/tools/lfc_info/report.hpp.example"
}

void settings_of() {
#include "mca/tools/lfc_info/settings.hpp.example"
}

}  // namespace lfc::examples

namespace look::examples {

void job_of() {
#include "mca/tools/lfc_look/job.hpp.example"
}

void memory_of(int pid, std::uint64_t address, std::string& problem) {
#include "mca/tools/lfc_look/memory.hpp.example"
}

void process(int pid, Rank& rank) {
#include "mca/tools/lfc_look/process.hpp.example"
}

void reader_of(int pid) {
#include "mca/tools/lfc_look/reader.hpp.example"
}

void snapshot() {
#include "mca/tools/lfc_look/snapshot.hpp.example"
}

void verdict_of(const Job& job) {
  using look::verdict;
#include "mca/tools/lfc_look/verdict.hpp.example"
}

}  // namespace look::examples

namespace lfc::neon::examples {

using lfc::examples::Given;

extern const Given base, begin, bytes, data, disp, dynamic, end, progress, rank, sent, n, tag,
    target;

void datatype_pieces(MPI_Datatype type, int count, std::byte* packed, const std::byte* data) {
#include "mca/libraries/mpix_neon/datatype_pieces.hpp.example"
}

void drain_of(MPI_Comm comm, bool (*quiet)(), int (*received)()) {
#include "mca/libraries/mpix_neon/drain.hpp.example"
}

void endpoint(Endpoint& endpoint, Operation& op) {
#include "mca/libraries/mpix_neon/endpoint.hpp.example"
}

int extents_of(Rank rank, Rank ranks, std::uint64_t (*size_of)(Rank),
               std::ptrdiff_t (*unit_of)(Rank)) {
#include "mca/libraries/mpix_neon/extents.hpp.example"
  return MPI_SUCCESS;
}

struct neon_job {};
void handles() {
#include "mca/libraries/mpix_neon/handles.hpp.example"
}

void jobs(Jobs& jobs, Window& window, Endpoint& endpoint) {
#include "mca/libraries/mpix_neon/jobs.hpp.example"
}

void native(MPI_Win win, MPI_Comm comm, const Exposure& memory) {
#include "mca/libraries/mpix_neon/native.hpp.example"
}

int spin_lock(SpinLock& lock) {
#include "mca/libraries/mpix_neon/spin_lock.hpp.example"
  return 1;
}

void window(MPI_Win win) {
#include "mca/libraries/mpix_neon/window.hpp.example"
}

}  // namespace lfc::neon::examples
