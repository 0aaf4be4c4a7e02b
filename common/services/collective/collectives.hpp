// Collectives: the communicators of a process that LFC serves, and their nonblocking operations. There is one object
// for each process; lfc/collectives.h is its C API.
//
//   Collectives collectives(options);                        // publish collectives.processes().facts()
//   collectives.start_service(ni.services(), ni.host(), threads);   // when the NI of the process is open
//   collectives.processes().introduce(name, facts, address);     // each process
//   lfc_coll_communicator* made = collectives.join(key, processes, count, self, use, why_not);
//   lfc_coll_status status = collectives.run(*made, call);
//   collectives.leave(made);
//
// Threads: any, except that construction, start_service() and destruction are alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/host_port.hpp"
#include "lfc/collectives.h"
#include "services/collective/communicator.hpp"
#include "services/collective/loss_watch.hpp"
#include "services/collective/processes.hpp"
#include "services/collective/protocol/active_operations.hpp"
#include "services/collective/protocol/names.hpp"
#include "services/collective/wait_policy.hpp"

struct lfc_coll_communicator : lfc::ActiveOperations::Entry {
  lfc_coll_communicator(std::unique_ptr<lfc::CommunicatorState> state,
                        const lfc::CollOptions& options, lfc::Aside* aside, unsigned reach,
                        bool (*prints_losses)())
      : communicator(std::move(state), options, aside), watch(prints_losses), found(reach) {}
  lfc::Communicator communicator;
  lfc::LossWatch watch;
  // Whether its ranks have agreed that all of them reach the parts that LFC needs.
  bool is_served() const noexcept {
    constexpr unsigned kNeeded = LFC_COLL_BOARDS | LFC_COLL_ROOM;
    return (agreed & kNeeded) == kNeeded &&
           (communicator.members().nodes() == 1 || (agreed & LFC_COLL_NODES) != 0);
  }
  const unsigned found;                   // the parts of it that this rank can reach
  std::optional<std::uint64_t> last_key;  // it is forgotten with the communicator
  unsigned agreed = 0;  // those that all its ranks can reach; of a request: not used
  // The program is one, the list of active operations the other.
  std::atomic<int> users = 1;
  unsigned fruitless = 0;  // times that it was advanced there without moving
};

namespace lfc {

class Collectives {
 public:
  explicit Collectives(const lfc_coll_options& options);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  Processes& processes() noexcept { return processes_; }
  void start_service(ServicePort& port, HostPort& engine, bool threads);
  // Makes a communicator, in the same order at all its ranks. Null: LFC does not serve it, for a reason that all its
  // ranks find in published facts.
  lfc_coll_communicator* join(lfc_coll_key key, const lfc_coll_process* processes, int count,
                              int self, lfc_coll_use use, std::string& why_not);
  // Combines a word of the ranks of a job by AND, without messages, and waits for them asleep. For one communicator in
  // the life of the process. nullopt, at all ranks: combine it by other means.
  std::optional<std::uint32_t> combine_on_node(const lfc_coll_communicator& communicator,
                                               std::uint32_t word);
  // Stores the parts that all ranks of the job can reach.
  void agree_for_job(unsigned found) noexcept;
  // Takes them for the communicator. False: its ranks have to agree for themselves. The parts are not stored, it has
  // ranks of other jobs, or the address space of some rank is limited.
  bool agree_as_job(lfc_coll_communicator& communicator) const noexcept;
  void leave(lfc_coll_communicator* communicator);
  // Called when the job ends: from then on the end of another process is no loss to the remaining communicators, which
  // have no further operations.
  void leave_rest();
  // Whether all its ranks share a node and may read each other's memory.
  bool reads_memory(const lfc_coll_communicator& communicator) const noexcept;

  lfc_coll_status run(lfc_coll_communicator& communicator, const lfc_coll_call& call);
  // Does the call if it is short and the other ranks are there. False: run() or start() repeats all that was done.
  bool try_run(lfc_coll_communicator& communicator, const lfc_coll_call& call) {
    if (!communicator.communicator.try_at_once(call, wait_policy_.looks())) return false;
    wait_policy_.visit();
    return true;
  }
  // Begins the operation and adds the communicator to the list that progress() advances, without a lock or an
  // allocation.
  void start(lfc_coll_communicator& communicator, CollOperation& operation);
  // Called once for each operation of start() when it has ended.
  void finished(lfc_coll_communicator& communicator, lfc_coll_status status);
  int progress();
  void describe(char* text, std::size_t size);

 private:
  // The ranks of a communicator that is being made.
  struct Roster {
    std::vector<std::uint32_t> ranks;  // by member
    Membership members;
    std::uint32_t self = 0;
    std::uint64_t key = 0;        // of these ranks in this order, and of the communicator
    std::size_t max_payload = 0;  // bytes that each of them takes
  };

  bool make_roster(Roster& roster, const lfc_coll_process* processes, int count, int self,
                   std::string& why_not);
  std::unique_ptr<TreeNode> plant(const Roster& roster, unsigned& found);
  // Advances the active communicators and returns the number of events; 0 also if another thread does so.
  int walk();
  void note_left() noexcept;
  void release(lfc_coll_communicator* communicator);
  void sweep();

  const lfc_coll_options options_;
  bool threads_ = false;
  Processes processes_;
  WaitPolicy wait_policy_;
  HostPort* engine_ = nullptr;
  std::unique_ptr<Multicast> multicast_;
  std::unique_ptr<Aside> aside_;  // null: the NI has no thread, or shall not do the host's work
  std::mutex mutex_;
  CommunicatorNames names_;
  std::vector<std::unique_ptr<TreeNode>> lingering_;  // of communicators that were left
  std::unordered_set<lfc_coll_communicator*> groups_;
  std::uint64_t groups_made_ = 0;
  ActiveOperations active_;
  std::atomic<std::uint32_t> running_ =
      0;                            // operations of all communicators, and one more while left_
  std::atomic<bool> left_ = false;  // the next walk may release one
  std::atomic<unsigned> job_agreed_ = 0;       // the parts, and a bit that they are set
  std::atomic<std::uint64_t> operations_ = 0;  // without those done at once, which are visits
};

}  // namespace lfc
