// Config: what an engine (NI, engine/ni.hpp) is made from.
//
//   Config config;
//   config.name = {job, rank};
//   config.policy = Policy::floating;
//   Ni ni(config);
//
// The policy is which of the two, the host or a thread of the NI's own, drives the control program:
//
//   single    the host, inside progress(). There is no thread.
//   floating  the host, whenever it is there; while it stays away, the thread, woken by arrivals.
//   fixed     the thread alone; progress() only takes what has arrived.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "engine/host_queue.hpp"
#include "wire/address.hpp"

namespace lfc {

enum class Policy : std::uint8_t { single, floating, fixed };

// What the NI thread does when there is nothing to do, with Policy::fixed.
enum class Idle : std::uint8_t {
  spin,     // polls on
  yield,    // lets others have the core between two polls
  backoff,  // sleeps between two polls, the longer the more of them were in vain
  block,    // polls for the delay, then sleeps until something arrives
};

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
  // How long the host may have left before that is noticed, at most.
  std::chrono::nanoseconds longest_rest{1'000'000};
  // The same while the machine is crowded, when each look costs the host its processor; 0: no matter.
  std::chrono::nanoseconds crowded_rest{0};
  // How long the host must not have polled to count as away; at least the delay.
  std::chrono::nanoseconds patience{0};
  Idle idle = Idle::block;
  // Bytes of messages that are kept for a host that is away before their senders are stalled.
  std::size_t queue_memory = limits::kQueueMemory;
  // Told when shared memory does not connect to a peer that it reaches, and another link does; why it did not.
  void (*detour)(std::string_view link, std::string_view why) = nullptr;
  // Receives one line for the user, once at most: likewise of another link, also if nobody answers on it.
  void (*notice)(std::string_view line) = nullptr;
  std::vector<int> cpus;  // where the NI thread may run; empty: where its creator may
};

}  // namespace lfc
