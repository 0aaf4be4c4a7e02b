// SimFabric: a network inside one process, for tests: virtual time, one seed, one thread.
//
// The fabric owns the time and everything that is under way; each node of it is a Link. All
// chance (delays, stalls, `again` for no reason, faults) comes from one generator, so that a run
// is replayed by its seed. Frames carry the wire Header and are checked by decode_header(), as on
// a real shared endpoint.
//
//   SimFabric fabric({.seed = 7});
//   Ni a(config_a), b(config_b);
//   a.add_link(fabric.make_link(a.sink(), a.counters()));   // node 0
//   b.add_link(fabric.make_link(b.sink(), b.counters()));   // node 1
//   while (!finished) { fabric.advance(); a.progress(); b.progress(); }
//
// Default mode: FIFO and exactly once per ordered pair; frames of different pairs overtake each
// other at will. A pair holds `capacity` frames, after that data is refused until the receiver
// polls; control frames have a reserve of their own. With faults switched on, a lost frame is
// seen as a gap in the sequence by the receiver, and breaks the pair; a damaged or duplicate
// frame is dropped and counted.
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "link/link.hpp"
#include "link/sim/random.hpp"
#include "stats/counters.hpp"
#include "wire/address.hpp"

namespace lfc {

struct SimOptions {
  std::uint64_t seed = 1;
  std::size_t max_payload = 256;
  std::uint32_t capacity = 8;          // frames of one ordered pair that may be under way
  std::uint32_t control_reserve = 16;  // further ones that only control frames may use
  std::uint32_t minimum_delay = 1;     // ticks from send to arrival
  std::uint32_t maximum_delay = 16;
  std::uint32_t stall_permille = 10;  // frames that hold up their pair for up to stall_ticks
  std::uint32_t stall_ticks = 200;
  std::uint32_t refuse_permille = 20;  // data frames and copies refused with `again` at random
  bool remote_memory = false;          // put() and get() work natively
  bool late_puts = false;         // bytes of a put that its origin has given up may still arrive
  std::size_t notified_puts = 0;  // bytes of the largest put_notified(); 0: there are none
  // Faults of the network, all off by default.
  std::uint32_t lose_permille = 0;
  std::uint32_t duplicate_permille = 0;
  std::uint32_t corrupt_permille = 0;  // one bit of the frame flips
};

class SimFabric {
 public:
  using Node = std::uint32_t;  // nodes are numbered in the order of make_link()

  explicit SimFabric(const SimOptions& options);
  ~SimFabric();
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  // The links must be destroyed before the fabric. The destruction of a link simulates the crash of its process.
  std::unique_ptr<Link> make_link(FrameSink& sink, Counters& counters);

  std::uint64_t now() const noexcept { return now_; }
  void advance(std::uint64_t ticks = 1) noexcept { now_ += ticks; }
  // Nothing is under way: no frame, no copy, no bad news.
  bool quiet() const noexcept { return under_way_ == 0; }
  // When the next thing arrives anywhere; at or before now() when something waits to be polled.
  std::optional<std::uint64_t> next_arrival() const noexcept;

  // Ends the process: it neither sends nor polls any more, and its peers are notified later.
  void kill(Node node);
  // Breaks the link between two nodes; both are notified later.
  void cut(Node a, Node b);
  // Loses all frames between two nodes, on the way now and later, without a notification. Only a connection that is
  // being set up ends, after some time.
  void silence(Node a, Node b);
  // Ends cut() and silence(). Connections that have lost frames end.
  void mend(Node a, Node b);

  // --- Observation, for invariant checks ---

  struct UnderWay {
    std::uint32_t credited = 0;  // frames not yet delivered that took a credit
    std::uint32_t credits = 0;   // credits that frames not yet delivered carry
  };
  UnderWay under_way(Node from, Node to) const;
  // `message` frames delivered to the receiver's sink so far.
  std::uint64_t delivered_messages(Node from, Node to) const;

  struct Totals {
    std::uint64_t frames = 0;
    std::uint64_t refused = 0;  // sends that returned `again`
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t copies = 0;  // native puts and gets
  };
  const Totals& totals() const noexcept { return totals_; }

 private:
  friend class SimLink;

  struct Copy {  // a native put or get under way
    void* destination = nullptr;
    const void* source = nullptr;
    std::size_t size = 0;
    Node target = 0;
    std::uint64_t key = 0;
    std::uint64_t remote_address = 0;
    Operation* operation = nullptr;
    std::optional<std::uint32_t> notification;  // for the target, when it has arrived
    bool is_put = false;
  };
  struct Event {
    // reset: the sender has given the connection up. late_put: bytes of one whose origin has given it up.
    enum class Kind : std::uint8_t { frame, copy, notification, broken, reset, late_put };
    Kind kind = Kind::frame;
    Node from = 0;
    std::uint32_t value = 0;       // of a notification
    std::uint32_t connection = 0;  // of a frame, a reset or a late put
    std::vector<std::byte> bytes;
    Copy copy;
  };
  struct Pair {
    std::uint32_t frames = 0;        // under way
    std::uint64_t last_arrival = 0;  // keeps the pair FIFO
    std::uint64_t delivered_messages = 0;
    bool cut = false;
    bool silent = false;
    std::set<std::uint32_t> harmed;  // connections that have lost frames
  };
  struct NodeState {
    bool alive = true;
    std::multimap<std::uint64_t, Event> inbox;  // by arrival; equal ticks keep their order
    std::vector<Pair> to;                       // by receiver
  };
  struct Region {
    Node owner = 0;
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    bool live = false;
  };

  bool usable(Node from, Node to) const noexcept;
  bool has_room(Node from, Node to, bool control) noexcept;
  // Puts a frame on its way, with random faults.
  void transmit(Node from, Node to, std::uint32_t connection, std::vector<std::byte> frame);
  // Ends the connection at `to`. give_up(): by `from`, if the network carries it.
  void reset(Node from, Node to, std::uint32_t connection, std::uint64_t arrival);
  void give_up(Node from, Node to, std::uint32_t connection);
  void lose(Node from, Node to, const Event& frame);
  // Drops the frames of this connection that are under way to the node.
  void drop_frames(Node node, std::uint32_t connection);
  void enqueue(Node to, std::uint64_t arrival, Event event);
  bool take(Node node, Event& out);
  std::vector<Operation*> take_copies(Node origin, Node target, std::uint32_t connection);
  void delay_put(Node origin, std::uint32_t connection, const Copy& copy);
  std::uint64_t frame_arrival(Pair& pair) noexcept;
  std::uint64_t copy_arrival(Node origin, Node target) noexcept;
  void send_news(Node from, Node to);
  // Notifies the target of a copy now, before all frames that the origin sends later.
  void send_notification(Node from, const Copy& copy);
  Pair& pair(Node from, Node to);
  bool refuse() noexcept;
  Result copy_result(Node origin, const Copy& copy) const noexcept;

  const SimOptions options_;
  Random random_;
  std::uint64_t now_ = 0;
  std::uint64_t under_way_ = 0;
  std::uint32_t connections_ = 0;  // so far
  std::vector<NodeState> nodes_;
  std::vector<Region> regions_;
  Totals totals_;
};

}  // namespace lfc
