// Config: the parameters of an engine (NI, engine/ni.hpp).
//
//   Config config;
//   config.name = {job, rank};
//   config.policy = Policy::floating;
//   Ni ni(config);
//
// The policy determines which of the two drives the control program, the host or a thread of the NI's own:
//
//   single    the host, inside progress(). There is no thread.
//   floating  the host, while it is inside MPI; while it is away, the thread, woken by arrivals.
//   fixed     the thread alone; progress() only takes what has arrived.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "engine/host_queue.hpp"
#include "lfc/words.h"
#include "look/states.hpp"
#include "wire/address.hpp"

namespace lfc {

using look::Policy;

// How the NI thread waits when there is nothing to do, with Policy::fixed: it polls on; yields the core between two
// polls; sleeps between two polls, the longer, the more of them were in vain; polls for the delay, then sleeps until
// something arrives.
#define LFC_IDLES(ROW) \
  ROW(spin, "spin") ROW(yield, "yield") ROW(backoff, "backoff") ROW(block, "block")
enum class Idle : std::uint8_t { LFC_IDLES(LFC_VALUE) };
inline constexpr std::array kIdleNames{LFC_IDLES(LFC_WORD)};

struct Config {
  ProcessName name;
  Key key;                                                // zero: drawn at random
  std::uint32_t initial_window = limits::kInitialWindow;  // credits a new peer starts with
  std::uint32_t maximum_window = limits::kMaximumWindow;  // credits one peer may come to hold
  std::uint64_t window_cap = limits::kWindowCap;  // credits all peers together may come to hold
  bool threads = false;  // several threads call at the same time; implies queued
  HostQueue::Mode delivery = HostQueue::Mode::direct;

  Policy policy = Policy::single;
  // The NI thread also calls the host back; needs `threads`.
  bool upcalls = false;
  // How long an arrival may wait for the host; 0: twice the measured cost of a wake-up.
  std::chrono::nanoseconds delay{0};
  // The most time that the host's absence may stay undetected.
  std::chrono::nanoseconds longest_rest{1'000'000};
  // The same while the machine is crowded, when each look costs the host its processor; 0: no difference.
  std::chrono::nanoseconds crowded_rest{0};
  // The host counts as away if it has not polled for this time; at least the delay.
  std::chrono::nanoseconds away_after{0};
  Idle idle = Idle::block;
  // Bytes of messages that are kept for a host that is away before their senders are stalled.
  std::size_t queue_memory = limits::kQueueMemory;
  // Called when shared memory reaches a peer but does not connect, so that another link is used. `why` is the reason.
  void (*detour)(std::string_view link, std::string_view why) = nullptr;
  // Called at most once with one line for the user, for the same event on another link, also if it gets no reply.
  void (*notice)(std::string_view line) = nullptr;
  std::vector<int> cpus;  // where the NI thread may run; empty: where its creator may
};

}  // namespace lfc
