// open_ni: makes an engine (NI) from options given as text and numbers. engine/link_kinds.hpp alone knows
// the kinds of links.
//
//   NiOptions options;
//   options.name = {job, rank};
//   options.links = "loop,shm,ofi";                       // in order of preference
//   std::string error, notes;
//   std::unique_ptr<Ni> ni = open_ni(options, error, notes);
//   if (!ni) complain(error);   // "links: there is no link 'smh' (accepted: ..."
//
// If a link that the user named cannot open, nothing is opened. Links of the default list that cannot open
// are left out, and `notes` has the reason. The link verbs is in that list if it was built. It is opened if a
// port is active and the job has processes on other nodes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/ni.hpp"
#include "lfc/parameters.h"

namespace lfc {

// The kinds of links (engine/link_kinds.hpp): the default value of `links`, all names that it accepts, and the peers
// that each kind reaches, for the user.
std::string default_links();
std::string accepted_links();
std::string explained_links();

inline constexpr std::array kPolicyNames{"single", "fixed", "floating", "auto"};

// A text option that is not set may be null.
inline std::string_view text_of(lfc_text text) noexcept { return text == nullptr ? "" : text; }

// The parameters of the user are in lfc/parameters/btl_lfc.def, with defaults and bounds.
struct NiOptions : lfc_btl_parameters {
  NiOptions() noexcept;  // the defaults
  ProcessName name;
  bool threads = false;               // several threads call at the same time
  std::uint32_t local_processes = 1;  // processes of the job on this node, this one included
  std::uint32_t local_rank = 0;       // this one's number among them, from 0
  bool other_nodes = true;            // the job has processes on other nodes
  // Called when local peers cannot use shared memory, with the link that they use instead and the reason.
  void (*detour)(std::string_view link, std::string_view why) = nullptr;
  // Called with one line for the user when a link cannot do all that it should. Lines that are equal up to their first
  // ": " are one notice, of which each node prints the first line.
  void (*notice)(std::string_view line) = nullptr;
  // Called with a line that is printed only at the level `verbose`.
  void (*remark)(std::string_view line) = nullptr;
};

// Returns the fault of the options that can be found before any link is opened: one line that begins with the
// name of the wrong parameter; empty: there is none.
std::string find_fault(const NiOptions& options);

// Describes who would drive the engine, and why: "policy floating (auto: ...)".
std::string describe_policy(const NiOptions& options);

// Opens an engine. Null: `error` is one line that begins with the wrong option. Otherwise `notes` is one line:
// the policy and its reason, the links that are open, why others are not, and the bounds of their
// memory.
std::unique_ptr<Ni> open_ni(const NiOptions& options, std::string& error, std::string& notes);

}  // namespace lfc
