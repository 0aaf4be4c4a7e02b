// Processes: the processes that were introduced to coll lfc. For each it has the published facts, the connection, the
// arena of its boards, and a watch for its end.
//
//   Processes processes(parameters);                       // before the start-up exchange
//   publish(processes.facts());
//   processes.use(ni.services());                          // when the NI of the process is open
//   processes.introduce(name, facts, address);             // of each, from the exchange
//   if (processes.why_not(name) == nullptr) ...            // it takes part
//
// Threads: any, except that use() is called alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "engine/service_port.hpp"
#include "machine/process_watch.hpp"
#include "services/collective/arena.hpp"
#include "services/collective/protocol/environment.hpp"
#include "services/multicast/protocol/membership.hpp"
#include "wire/address.hpp"

namespace lfc {

// Facts that each process publishes. `parameters` must be equal at all members of a communicator.
struct Facts {
  std::uint32_t version = 5;
  std::uint32_t unused = 0;
  std::uint64_t parameters = 0;
  ArenaName arena;
  std::uint64_t probe = 0;  // address of a word that holds arena.memory.cookie[0]
};

class Processes final : public Environment {
 public:
  explicit Processes(std::uint64_t parameters);

  const Facts& facts() const noexcept { return facts_; }
  void use(ServicePort& port) noexcept { port_ = &port; }

  bool knows(ProcessName name);
  void introduce(ProcessName name, std::span<const std::byte> facts,
                 std::span<const std::byte> address);
  // Returns a copy of its address from malloc(), and stores the size; null: it takes no part, or memory is short.
  void* copy_address(ProcessName name, std::size_t& size);
  // The reason why it takes part in no communicator with this process; null: it takes part.
  const char* why_not(ProcessName name);
  // A number that is equal for processes that share memory. It and max_payload() need a process that takes part.
  std::uint64_t node_of(ProcessName name);
  std::size_t max_payload(ProcessName name);
  // Whether the boards that this process makes can be reached.
  bool reaches_boards(ProcessName first);
  // Combines a word of all processes of a job by AND in shared memory, and waits for them asleep; calls `progress` now
  // and then. They share a node, and each calls this once, with the same `names`. nullopt, at all of them: some process
  // cannot reach another one's memory, has ended, or has arrived too late (agreement.hpp).
  std::optional<std::uint32_t> combine(std::span<const ProcessName> names, std::uint32_t word,
                                       int (*progress)());
  // A communicator has these members until detach(). Arenas and watches of processes of other jobs are given back with
  // their last communicator, because a job may spawn others without end.
  void attach(const Membership& members);
  void detach(const Membership& members) noexcept;
  // Whether this process may read that one's memory.
  bool reads(ProcessName name);
  // Number of boards that this process has made.
  std::size_t boards();

  std::byte* board(ProcessName first, std::uint64_t key, std::uint32_t lanes, std::uint32_t users,
                   bool& failed) override;
  bool reserve_board(ProcessName first, std::uint64_t key, std::uint32_t lanes, bool few) override;
  void cancel_board(ProcessName first, std::uint64_t key) noexcept override;
  PeerId peer(ProcessName name) override;
  bool read(ProcessName owner, std::byte* to, std::uint64_t from, std::size_t size) override;
  bool has_ended(ProcessName name) override;
  std::string describe(ProcessName name) override;

 private:
  struct Process {
    std::optional<Facts> facts;      // none: it takes no part
    std::optional<Address> address;  // with facts, and not without
    std::unique_ptr<PeerArena> arena;
    std::unique_ptr<ProcessWatch> watch;  // a descriptor: one for all communicators
    std::uint32_t communicators = 0;      // of a process of another job
    bool reported = false;                // it has been reported as unreachable
    std::optional<bool> readable;         // none: not tried yet
  };

  bool is_self(ProcessName name) const noexcept { return name == port_->identity().name; }
  // With the mutex held.
  Process& process(ProcessName name) { return processes_[name.packed()]; }
  PeerArena& local_peer(ProcessName name);
  static bool process_has_ended(Process& known);
  template <class Change>
  void for_each_of_other_jobs(const Membership& members, Change change);
  Agreement* agreement_of(ProcessName first);
  bool open_through_proc(std::span<const ProcessName> names);
  bool cannot_arrive(ProcessName name) noexcept;
  std::byte* own_board(std::uint64_t key, std::uint32_t lanes, std::uint32_t users);
  void report_unreachable(ProcessName name, const std::string& why_not);

  Facts facts_;
  std::unique_ptr<OwnArena> arena_;
  ServicePort* port_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Process> processes_;
};

}  // namespace lfc
