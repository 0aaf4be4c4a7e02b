// PeerTable: the peers that this NI knows, the link that reaches each, and how a peer is lost.
//
//   PeerTable peers(config, identity, counters, activity, outcomes);
//   peers.add_link(std::move(link));                         // in order of preference
//   Peer& peer = peers.at(peers.add(address, why_not));
//   if (peers.connect(peer)) transmit();                     // before the first frame to it
//   if (peers.turn_from(peer, *peer.link, "why")) ...        // no reply on this link: by the next one
//   peers.lose(peer, Peer::State::broken, "why");            // once: notifies all watchers
//
// Invariants: a peer keeps its PeerId, and its place in memory, until the end of the NI. A name has at most one peer
// that is not removed (tests/unit/engine/ni_loss_test.cpp). The budget is charged for the receive windows of peers that
// have communicated, and of no others (tests/sim).
// Threads: under the NI's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/activity.hpp"
#include "engine/config.hpp"
#include "engine/outcomes.hpp"
#include "engine/peer.hpp"
#include "link/link.hpp"
#include "stats/counters.hpp"
#include "wire/address.hpp"

namespace lfc {

class PeerTable {
 public:
  // A part of the engine with state for peers; it is notified when a peer is lost or has another link.
  class Watcher {
   public:
    virtual void on_lost(Peer& peer) = 0;
    virtual void on_turned(Peer& /*peer*/) {}

   protected:
    ~Watcher() = default;
  };

  PeerTable(const Config& config, const Identity& identity, Counters& counters, Activity& activity,
            Outcomes& outcomes);

  void add_link(std::unique_ptr<Link> link);
  void close_links() noexcept { links_.clear(); }
  // Watchers are notified in the order in which they were added.
  void add_watcher(Watcher& watcher) { watchers_.push_back(&watcher); }
  const std::vector<std::unique_ptr<Link>>& links() const noexcept { return links_; }
  // The links that have a connection.
  const std::vector<Link*>& busy_links() const noexcept { return busy_links_; }
  // Payload bytes of the largest frame that every link takes.
  std::size_t max_payload() const noexcept { return max_payload_; }
  // Payload bytes of the largest message that every link of far peers takes (is_far()); without such, of any link.
  std::size_t max_far_message() const noexcept;

  std::size_t size() const noexcept { return peers_.size(); }
  bool has(PeerId id) const noexcept { return id < peers_.size(); }
  Peer& at(PeerId id) noexcept { return *peers_[id]; }
  const Peer& at(PeerId id) const noexcept { return *peers_[id]; }
  // Returns the peer of this name, or kNoPeer.
  PeerId find(ProcessName name) const noexcept;
  // Finds or makes the peer, and chooses its link; kNoPeer: no link reaches it.
  PeerId add(const Address& address, std::string& why_not);
  void remove(PeerId id);
  // Admits a process that has connected on `link`; kNoPeer: it is refused.
  PeerId admit(Link& link, const Address& from);
  // Returns the address that the process of this name has published; null: it is not known here.
  const Address* published(const Address& claimed) const noexcept;

  // Connects the peer, by the next link if the chosen one cannot. False: the peer is lost.
  bool connect(Peer& peer) { return peer.state == Peer::State::connected || connect_anew(peer); }
  // Handles a missing reply on `link`, on which nothing has been sent yet. True: that link does not carry the peer's
  // frames any more; false: no other link can.
  bool turn_from(Peer& peer, Link& link, std::string_view why);
  void lose(Peer& peer, Peer::State state, std::string_view why);

  WindowBudget& budget() noexcept { return budget_; }
  const WindowBudget& budget() const noexcept { return budget_; }
  // Appends one line for each peer.
  void describe(std::string& out) const;

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Peer& insert(const Address& address);
  void charge(Peer& peer, Link& link);
  bool connect_anew(Peer& peer);
  // Connects by the first link from `index` on that can. `reasons`: why those before it cannot.
  bool connect_from(std::size_t index, Peer& peer, std::string& reasons);

  const std::uint32_t window_;
  void (*const detour_)(std::string_view link, std::string_view why);
  void (*notice_)(std::string_view line);  // null once a notice was printed
  Counters& counters_;
  Activity& activity_;
  Outcomes& outcomes_;
  WindowBudget budget_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> busy_links_;
  std::vector<Watcher*> watchers_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, PeerId> by_name_;
  std::size_t max_payload_ = 0;
};

}  // namespace lfc
