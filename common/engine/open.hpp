// open_ni: makes an engine (NI) from options given as text and numbers. Which kinds of links
// there are says engine/link_kinds.hpp alone.
//
//   NiOptions options;
//   options.name = {job, rank};
//   options.links = "loop,shm,ofi";                       // in order of preference
//   std::string error, notes;
//   std::unique_ptr<Ni> ni = open_ni(options, error, notes);
//   if (!ni) complain(error);   // "links: there is no link 'smh' (accepted: ..."
//
// A link that the user named must open, or nothing is opened; of the links of the default list
// those that cannot open are left out, and `notes` says why. The link verbs is in that list where it
// was built, and opened where a port is active and the job has processes on other nodes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/ni.hpp"
#include "lfc/parameters.h"

namespace lfc {

// The kinds of links (engine/link_kinds.hpp): those used when none is named, as `links` takes them; all that it
// accepts; and what each of them reaches, for the user.
std::string default_links();
std::string accepted_links();
std::string explained_links();

inline constexpr std::array kPolicyNames{"single", "fixed", "floating", "auto"};
inline constexpr std::array kIdleNames{"spin", "yield", "backoff", "block"};  // of enum Idle

// A text that nobody gave may be no text at all.
inline std::string_view text_of(lfc_text text) noexcept { return text == nullptr ? "" : text; }

// What the user may say stands in lfc/parameters/btl_lfc.def, with defaults and bounds.
struct NiOptions : lfc_btl_parameters {
  NiOptions() noexcept;  // the defaults
  ProcessName name;
  bool threads = false;               // several threads call at the same time
  std::uint32_t local_processes = 1;  // processes of the job on this node, this one included
  std::uint32_t local_rank = 0;       // which of them this one is, from 0
  bool other_nodes = true;            // the job has processes there
  // Told when local peers do not reach each other by shared memory: what they use instead, and why.
  void (*detour)(std::string_view link, std::string_view why) = nullptr;
  // Receives one line for the user when a link cannot do all it should. Lines that are alike up to their first ": " are
  // one notice, of which each node prints the first line.
  void (*notice)(std::string_view line) = nullptr;
  // Receives a line that only `verbose` asks for.
  void (*remark)(std::string_view line) = nullptr;
};

// The fault of the options that shows before any link is opened: one line that begins with the option at fault; empty:
// there is none.
std::string find_fault(const NiOptions& options);

// Who would drive the engine, and why: "policy floating (auto: ...)".
std::string describe_policy(const NiOptions& options);

// Null: `error` is one line that begins with the option at fault. Otherwise `notes` is one line:
// the policy and its reason, the links that are open, why others are not, and what bounds the
// memory.
std::unique_ptr<Ni> open_ni(const NiOptions& options, std::string& error, std::string& notes);

}  // namespace lfc
