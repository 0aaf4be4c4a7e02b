// Stations: NIs in one process, some of which have their own thread.
//
//   Station target(1, "shm", "fixed"), origin(0, "shm", "single");
//   const PeerId peer = origin.meet(target);
//   REQUIRE(add_one(origin, peer, target));
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "deadline.hpp"
#include "engine/open.hpp"

namespace lfc::thread_world {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// One NI, with a word of memory that others may change.
struct Station {
  Station(std::uint32_t rank, const std::string& link, const std::string& policy,
          const NiOptions& base = {}) {
    NiOptions options = base;
    options.name = {1, rank};
    options.links = link.c_str();
    if (link == "tcp") options.interfaces = "lo";
    options.policy = policy.c_str();
    std::string error;
    std::string notes;
    ni = open_ni(options, error, notes);
    INFO(error);
    REQUIRE(ni != nullptr);
    ni->set_message_handler(handler_of<receive>(this));
    address = ni->open();
    REQUIRE(ni->remote().register_memory(&word, sizeof word,
                                         kRemoteRead | kRemoteWrite | kRemoteAtomic, region));
  }
  PeerId meet(const Station& other) {
    std::string why_not;
    const PeerId peer = ni->add_peer(*Address::parse(other.address), why_not);
    INFO(why_not);
    REQUIRE(peer != kNoPeer);
    return peer;
  }
  static void receive(void* context, const Delivery& delivery) {
    auto& self = *static_cast<Station*>(context);
    REQUIRE(delivery.bytes.size() >= sizeof(std::uint32_t));
    std::uint32_t number = 0;
    std::memcpy(&number, delivery.bytes.data(), sizeof number);
    self.in_order &= number == self.received;
    ++self.received;
  }
  // The sum that others added; the NI's thread may change it.
  std::uint64_t value() { return std::atomic_ref(word).load(); }
  std::uint64_t count(Counter which) const { return ni->counters().get(which); }

  std::unique_ptr<Ni> ni;
  std::vector<std::byte> address;
  alignas(8) std::uint64_t word = 0;
  RegionHandle region;
  std::atomic<std::uint32_t> received{0};  // upcalls run on the NI's thread
  bool in_order = true;
};

struct Add : Operation {
  Add() {
    done = [](Operation* self, Result how) {
      static_cast<Add*>(self)->result = static_cast<int>(how);
    };
  }
  int result = -1;
};

// Adds 1 at the target, whose host does nothing. False: no result within ten seconds.
inline bool add_one(Station& origin, PeerId peer, const Station& target) {
  Add add;
  std::uint64_t before = 0;
  {
    const ServicePort::Visit visit(origin.ni->services());
    origin.ni->remote().atomic(peer, {AtomicOp::add, 8, 1, 0},
                               reinterpret_cast<std::uintptr_t>(&target.word), target.region,
                               &before, &add);
  }
  Deadline deadline(10s);
  while (add.result < 0 && !deadline.is_over()) origin.ni->progress();
  if (add.result < 0) FAIL("nobody served it: " << target.count(Counter::thread_turns));
  return add.result == static_cast<int>(Result::ok);
}

inline void spin(std::chrono::nanoseconds time) {
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end) continue;
}

// Nanoseconds for which the NIs' threads of this process have run: a thread that sleeps adds none.
inline std::uint64_t ni_threads_ran() {
  std::uint64_t all = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::uint64_t ran = 0;
    std::ifstream(task.path() / "comm") >> name;
    std::ifstream(task.path() / "schedstat") >> ran;
    if (name == "lfc-ni") all += ran;
  }
  REQUIRE(all > 0);
  return all;
}

const char* const kLinks[] = {"shm", "tcp"};
const char* const kAutonomous[] = {"floating", "fixed"};

inline NiOptions short_delays() {
  NiOptions options;
  options.intr_delay = 5;
  options.watch_interval = 200;
  return options;
}

}  // namespace lfc::thread_world
