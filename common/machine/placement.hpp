// Placement: a processor for the helper thread of policy `fixed`, which the rank never uses.
// Only if one is spare: a thread that spins on a core on which a rank computes costs more than it
// can gain.
//
//   Machine machine = read_machine(cores.allowed);              // hwloc
//   Place place = place_thread(machine, cores, 4, 1);           // the second of 4 processes here
//   if (place.cpus.empty()) say(place.reason);                  // "4 processes on 4 cores: none to spare"
//
// Preference: a second core of the process's own binding; an unused core in the same L3; another
// unused core; an SMT sibling of its own core. No two processes of the node choose the same one. They
// need no communication for that, because all compute the same assignment.
// Source: Falsafi and Wood 1996, Fixed; one processor for protocol only pays where it is to spare.
#pragma once

#include <string>
#include <vector>

#include "machine/cores.hpp"

namespace lfc {

struct Machine {
  struct Core {
    int l3 = 0;             // cores with the same number share it
    std::vector<int> cpus;  // its hardware threads that may be used
  };
  std::vector<Core> cores;  // in the machine's order
};
// Returns an empty machine if hwloc cannot read it.
Machine read_machine(const std::vector<int>& allowed);

struct Place {
  std::vector<int> cpus;  // empty: refused
  std::string reason;
};
Place place_thread(const Machine& machine, const Cores& cores, unsigned local_processes,
                   unsigned local_rank);

}  // namespace lfc
