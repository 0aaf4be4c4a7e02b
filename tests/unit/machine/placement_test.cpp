// Placement and the choice of `auto`, on invented machines.
#include "machine/placement.hpp"

#include <sched.h>

#include <set>

#include "catch.hpp"

namespace {

using namespace lfc;

// `count` cores of `threads` hardware threads; `per_l3` cores share an L3.
Machine machine_of(int count, int threads, int per_l3) {
  Machine machine;
  for (int core = 0; core < count; ++core) {
    Machine::Core item;
    item.l3 = core / per_l3;
    for (int thread = 0; thread < threads; ++thread) item.cpus.push_back(core + thread * count);
    machine.cores.push_back(item);
  }
  return machine;
}

Cores all_of(const Machine& machine) {
  Cores cores;
  for (const Machine::Core& core : machine.cores)
    cores.allowed.insert(cores.allowed.end(), core.cpus.begin(), core.cpus.end());
  cores.bound = cores.allowed;
  return cores;
}

Cores bound_to(const Machine& machine, std::size_t core) {
  Cores cores = all_of(machine);
  cores.bound = machine.cores[core].cpus;
  return cores;
}

TEST_CASE("placement: each process gets an unused core of its own, near if there is one") {
  const Machine machine = machine_of(8, 1, 4);
  std::set<int> used;
  for (unsigned process = 0; process < 4; ++process) {
    const Place place = place_thread(machine, bound_to(machine, process), 4, process);
    INFO(place.reason);
    REQUIRE(place.cpus.size() == 1);
    CHECK(place.cpus.front() >= 4);
    CHECK(used.insert(place.cpus.front()).second);
  }
  // Two processes run on cores 0 and 1 of an L3 of four cores: cores 2 and 3 are near.
  for (unsigned process = 0; process < 2; ++process) {
    const Place place = place_thread(machine, bound_to(machine, process), 2, process);
    INFO(place.reason);
    CHECK(place.cpus == std::vector<int>{static_cast<int>(2 + process)});
    CHECK(place.reason.find("same L3") != std::string::npos);
  }
}

TEST_CASE("placement: refused where no core is to spare") {
  const Machine two = machine_of(2, 1, 2);
  CHECK(place_thread(two, bound_to(two, 0), 2, 0).cpus.empty());
  CHECK(place_thread(two, all_of(two), 2, 0).cpus.empty());
  CHECK_FALSE(place_thread(two, bound_to(two, 0), 1, 0).cpus.empty());
  const Machine none;
  CHECK(place_thread(none, {}, 1, 0).cpus.empty());
  // The quota of the control group counts as well.
  const Machine eight = machine_of(8, 1, 8);
  Cores limited = bound_to(eight, 0);
  limited.quota = 3;
  CHECK(place_thread(eight, limited, 2, 0).cpus.empty());
  CHECK_FALSE(place_thread(eight, limited, 1, 0).cpus.empty());
}

TEST_CASE("placement: an SMT sibling where all cores compute") {
  const Machine machine = machine_of(4, 2, 4);
  const Place place = place_thread(machine, bound_to(machine, 2), 4, 2);
  CHECK(place.cpus == std::vector<int>{6});
  CHECK(place_thread(machine, all_of(machine), 4, 2).cpus.empty());  // no core of its own
}

TEST_CASE("placement: a binding to several cores is respected") {
  const Machine machine = machine_of(4, 1, 4);
  Cores cores = all_of(machine);
  cores.bound = {2, 3};
  CHECK(place_thread(machine, cores, 2, 1).cpus == std::vector<int>{3});
}

TEST_CASE("placement: this machine can be read, and counting moves no thread") {
  cpu_set_t before;
  CPU_ZERO(&before);
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const Cores cores = count_cores();
  cpu_set_t after;
  CPU_ZERO(&after);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
  REQUIRE_FALSE(cores.allowed.empty());
  CHECK(cores.usable() >= 1);
  CHECK_FALSE(read_machine(cores.allowed).cores.empty());
}

TEST_CASE("crowded: more is runnable than there are processors") {
  CHECK_FALSE(is_crowded("0.20 0.18 0.12 2/80 11206\n", 2));
  CHECK(is_crowded("0.20 0.18 0.12 3/80 11206\n", 2));
  CHECK(is_crowded("120.20 99.18 0.12 130/8000 11206\n", 128));
  CHECK_FALSE(is_crowded("", 2));
  CHECK_FALSE(is_crowded("0.20 0.18 0.12 ", 2));
  CHECK_FALSE(is_crowded("0.20 0.18 0.12 x/80", 2));
  CHECK_FALSE(is_crowded("0.20 0.18 0.12 3/80", 0));
}

TEST_CASE("auto: floating while there is a processor for each process, else single") {
  Cores cores;
  cores.allowed = {0, 1, 2, 3};
  CHECK(choose_policy(cores, 4).floating);
  CHECK_FALSE(choose_policy(cores, 5).floating);
  cores.quota = 2;
  CHECK_FALSE(choose_policy(cores, 4).floating);
  CHECK(choose_policy(cores, 2).floating);
}

}  // namespace
