// open_ni: makes a network interface from options given as text and numbers. Which kinds of links
// there are says engine/cables.hpp alone.
//
//   NiOptions options;
//   options.name = {job, rank};
//   options.links = "loop,shm,ofi";                       // in order of preference
//   std::string error, notes;
//   std::unique_ptr<Ni> ni = open_ni(options, error, notes);
//   if (!ni) complain(error);   // "links: there is no link 'smh' (accepted: ..."
//
// A link that the user named must open, or nothing is opened; of the links of the default list
// those that cannot open are left out, and `notes` says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "engine/ni.hpp"

namespace lfc {

// The kinds of links (engine/cables.hpp): those used when none is named, as `links` takes them; all that it accepts;
// and what each of them reaches, for the user.
std::string default_links();
std::string accepted_links();
std::string explained_links();

struct NiOptions {
  ProcessName name;
  bool threads = false;                 // several threads call at the same time
  std::string links = default_links();  // separated by commas; the first that reaches a peer wins
  std::string interfaces;               // for tcp and ofi, as select_interfaces() takes it
  std::string provider;                 // for ofi; empty: by capability
  std::string policy = "auto";          // single, floating, fixed or auto (engine/ni.hpp)
  std::string idle = "block";           // of `fixed`: spin, yield, backoff or block
  bool upcalls = false;                 // the NI thread calls the host back; needs `threads`
  std::uint32_t delay = 0;              // us that an arrival may wait for the host; 0: measured
  std::uint32_t longest_rest = 0;       // us until the host's leaving is noticed; 0: by processors
  std::size_t queue_memory = limits::kQueueMemory;  // bytes kept for a host that is away
  std::uint32_t neighbours = 1;  // processes of the job on this host, this one included
  std::uint32_t neighbour = 0;   // which of them this one is, from 0
  std::uint32_t initial_window = limits::kInitialWindow;  // credits that a new peer starts with
  std::uint32_t max_window = limits::kMaximumWindow;      // credits that one peer may come to hold
  std::uint64_t window_cap =
      limits::kWindowCap;                        // credits that all peers together may come to hold
  std::uint32_t shm_slots = limits::kRingSlots;  // frames in the ring of one local sender
  std::size_t shm_bulk = limits::kRingBulk;      // bytes of those that do not fit into their slot
  std::uint32_t rail_timeout = 1500;  // ms without progress until a rail of several is given up
  bool cma = true;                    // single copy between processes where the kernel permits it
  // Bytes from which on a message on one host goes in a single copy; 0: what calibration.hpp says.
  std::size_t single_copy_from = 0;
  // Receives one line for the user when a link cannot do all it should.
  void (*notice)(std::string_view line) = nullptr;
};

// Null: `error` is one line that begins with the option at fault. Otherwise `notes` is one line:
// the policy and its reason, the links that are open, why others are not, and what bounds the
// memory.
std::unique_ptr<Ni> open_ni(const NiOptions& options, std::string& error, std::string& notes);

}  // namespace lfc
