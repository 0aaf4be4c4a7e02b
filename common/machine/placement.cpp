#include "machine/placement.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace lfc {
namespace {

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The core of every process, as far as one process can know it. Processes that a launcher binds to a core each are on
// the cores in the order of their numbers.
std::optional<std::size_t> own_core(const Machine& machine, const Cores& cores) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < machine.cores.size(); ++i) {
    for (const int cpu : machine.cores[i].cpus) {
      if (!contains(cores.bound, cpu)) continue;
      if (found && *found != i) return std::nullopt;  // bound to several
      found = i;
    }
  }
  return found;
}

// Assigns cores from number `first` on, one for each of as many processes; in the same L3 if it has one.
std::size_t assigned(const Machine& machine, std::size_t first, std::size_t process) {
  std::vector<bool> taken(machine.cores.size(), false);
  std::size_t choice = first;
  for (std::size_t i = 0; i <= process; ++i) {
    choice = machine.cores.size();
    for (std::size_t core = first; core < machine.cores.size(); ++core) {
      if (taken[core]) continue;
      const bool near = machine.cores[core].l3 == machine.cores[i].l3;
      if (near || choice == machine.cores.size()) choice = core;
      if (near) break;
    }
    taken[choice] = true;
  }
  return choice;
}

}  // namespace

Machine read_machine(const std::vector<int>& allowed) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> topology(
      raw, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return {};

  Machine machine;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, object)) != nullptr) {
    Machine::Core core;
    const hwloc_obj_t l3 = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_L3CACHE, object);
    core.l3 = l3 == nullptr ? 0 : static_cast<int>(l3->logical_index);
    unsigned cpu = 0;
    hwloc_bitmap_foreach_begin(cpu, object->cpuset) if (contains(allowed, static_cast<int>(cpu)))
        core.cpus.push_back(static_cast<int>(cpu));
    hwloc_bitmap_foreach_end();
    if (!core.cpus.empty()) machine.cores.push_back(core);
  }
  return machine;
}

Place place_thread(const Machine& machine, const Cores& cores, unsigned local_processes,
                   unsigned local_rank) {
  const std::size_t count = machine.cores.size();
  const std::string where = std::to_string(local_processes) +
                            (local_processes == 1 ? " process on " : " processes on ") +
                            std::to_string(count) + (count == 1 ? " core" : " cores");
  if (count == 0) return {{}, "hwloc does not find the cores of this machine"};
  if (cores.quota > 0 && cores.quota < static_cast<int>(2 * local_processes))
    return {{}, where + ", and the control group grants " + std::to_string(cores.quota)};

  const std::optional<std::size_t> own = own_core(machine, cores);
  const bool bound = cores.bound.size() < cores.allowed.size();
  if (bound && !own) {
    // The process has several cores: take the last one.
    for (std::size_t i = count; i-- > 0;) {
      const std::vector<int>& cpus = machine.cores[i].cpus;
      if (std::all_of(cpus.begin(), cpus.end(),
                      [&](int cpu) { return contains(cores.bound, cpu); }))
        return {cpus, where + ": the last core of its own binding"};
    }
  }
  if (count >= 2 * std::size_t{local_processes}) {
    if (!bound) return {cores.allowed, where + ": not bound, left to the scheduler"};
    if (own == local_rank) {
      const std::size_t core = assigned(machine, local_processes, local_rank);
      const bool near = machine.cores[core].l3 == machine.cores[*own].l3;
      return {machine.cores[core].cpus,
              where + (near ? ": an unused core in the same L3" : ": an unused core")};
    }
    std::vector<int> others;
    for (const int cpu : cores.allowed)
      if (!contains(cores.bound, cpu)) others.push_back(cpu);
    return {others, where + ": bound in an order of its own, left to the scheduler"};
  }
  if (own && machine.cores[*own].cpus.size() > 1 && count >= local_processes) {
    return {{machine.cores[*own].cpus.back()}, where + ": an SMT sibling of its own core"};
  }
  return {{}, where + ": none to spare"};
}

}  // namespace lfc
