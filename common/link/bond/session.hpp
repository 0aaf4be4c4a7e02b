// Session: the state of a bond towards one peer, from the first connect to the last goodbye.
//
//   open -> closing -> over       we closed: goodbye sent, the peer's is awaited
//   open -> ending -> over        the peer closed: our goodbye is on its way
//   open -> broken                every rail is lost
//
// A plain session is one with a process that has no bond: one rail, nothing added to its frames.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "link/bond/arrivals.hpp"
#include "link/bond/bond_wire.hpp"
#include "link/bond/retained.hpp"
#include "link/link.hpp"

namespace lfc::bond {

using Clock = std::chrono::steady_clock;

// Pauses between the attempts to connect a lost rail again.
inline constexpr std::chrono::seconds kFirstPause{1};
inline constexpr std::chrono::seconds kLongestPause{30};

class Transfers;
struct Session;

// A put or get of the NI's; it moves in chunks, each over the rail that has room for it.
struct Transfer {
  Operation* operation = nullptr;  // null: completed, but some chunk has not come back yet
  bool is_put = false;
  std::byte* memory = nullptr;
  std::uint64_t address = 0;
  LinkRegion remote{};
  std::size_t size = 0;
  std::size_t issued = 0;         // bytes cut into chunks
  std::uint32_t outstanding = 0;  // chunks that are not finished, wherever they are
  Result result = Result::ok;
};

struct Chunk : Operation {
  Transfers* owner = nullptr;
  Session* session = nullptr;
  Transfer* transfer = nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::uint8_t rail = kNoRail;
};

// One rail of one session.
struct RailState {
  // none: neither side has connected it. joining: connected, and returning: connected again; neither carries anything
  // before both ends have sent `enter` (entries.hpp). lost: closed, or out of reach, until it returns (returns.hpp).
  enum class State : std::uint8_t { none, joining, returning, up, lost };
  State state = State::none;
  bool leave_due = false;       // the peer is to be notified that we have closed it
  bool close_due = false;       // it was found to be lost just now
  bool peer_left = false;       // the peer has closed it: nothing of ours arrives there any more
  std::uint32_t chunks = 0;     // under way on it
  std::size_t chunk_bytes = 0;  // of these
  std::deque<Chunk*> put_back;  // puts that it lost, until peer_left
  // Large frames, which are spread over the rails: sizes of those on this rail that are not known to have arrived, and
  // how many have arrived from the peer.
  std::deque<std::uint32_t> in_flight;  // sizes
  std::size_t in_flight_bytes = 0;
  std::uint32_t arrived = 0;  // of ours, as the peer has acknowledged
  std::uint32_t received = 0;
  // Progress of the rail: see rail_watch.hpp.
  std::uint64_t progress = 0;  // signs of life so far
  std::uint64_t progress_seen = 0;
  Clock::time_point since{};        // that number was seen first, or there was nothing to do
  std::uint32_t awaited_round = 0;  // the round of probes in which a reply is due; 0: none
  Clock::time_point limit{};        // for progress, set when another rail has replied in that round
  std::uint32_t probed = 0;         // the last round whose probe was sent on it
  std::uint32_t reply_due = 0;      // the round of the peer's probe that we have to reply to
  std::string why;                  // it was lost
  std::uint8_t theirs = kNoRail;    // the peer's number of this rail
  std::uint8_t rank = kNoRail;      // among those for frames: 0 is the best
  // Its connections: see entries.hpp and returns.hpp.
  std::uint32_t connection = 0;         // the number of the last connection; 0: there was none
  bool enter_due = false;               // the peer has made it, and waits for our `enter`
  bool greeted = false;                 // our `enter` was sent
  bool welcomed = false;                // the peer's `enter` has arrived, and is of this session
  Clock::time_point enter_again_at{};   // not before
  Clock::time_point returning_since{};  // as Returns has seen it, in present time; 0: not yet
  bool missed = false;                  // its loss was reported, and its return not yet
  Clock::duration pause{};              // before the next attempt
  Clock::time_point next_attempt{};     // not before
  Clock::time_point returned_at{};      // 0: it has not returned since its loss

  bool up() const noexcept { return state == State::up; }
  bool usable() const noexcept { return state == State::joining || up(); }
  bool connected() const noexcept { return usable() || state == State::returning; }
  // The last connection has carried frames, and may deliver some although it is lost.
  bool entered() const noexcept { return greeted && welcomed; }
  // A lost rail may be connected once both ends have closed the last connection, and ours carries nothing any more.
  bool may_return() const noexcept {
    return state == State::lost && theirs != kNoRail && !close_due && !leave_due && chunks == 0 &&
           (connection == 0 || peer_left);
  }
  // A connection begins, the next one by number.
  void begin_connection() noexcept {
    state = connection == 0 ? State::joining : State::returning;
    ++connection;
    peer_left = enter_due = greeted = welcomed = false;
    enter_again_at = returning_since = {};
    arrived = received = 0;
    awaited_round = probed = reply_due = 0;
  }
  // After a loss or a failed attempt: the pause doubles, unless the rail has worked for a long time.
  void put_off(Clock::time_point now) noexcept {
    const bool worked = returned_at != Clock::time_point{} && now - returned_at >= kLongestPause;
    pause =
        worked ? kFirstPause : std::clamp<Clock::duration>(2 * pause, kFirstPause, kLongestPause);
    next_attempt = now + pause;
    returned_at = {};
  }
  // The peer reports how many large frames have arrived on this rail.
  void arrive(std::uint32_t count) noexcept {
    while (arrived != count && !in_flight.empty()) {
      ++arrived;
      in_flight_bytes -= in_flight.front();
      in_flight.pop_front();
    }
  }
};

// The two sessions that are each other's ends, by the numbers that their processes never use again (entries.hpp).
struct SessionNames {
  std::uint32_t ours = 0;
  std::uint32_t theirs = 0;  // 0: not known yet
  bool first = true;         // no session with the same process came before

  // True: the peer's session of this name, which knows ours by `our_name` or 0, is the other end of ours.
  bool pair(std::uint32_t their_name, std::uint32_t our_name) const noexcept {
    return their_name != 0 && (theirs == 0 || theirs == their_name) &&
           (our_name == 0 || our_name == ours);
  }
};

struct Probes {
  std::uint32_t round = 0;      // the last one
  std::uint32_t witnessed = 0;  // the latest round with a reply on any rail
};

// self: our NI has connected. peer: the peer has, and our NI knows that.
enum class Begun : std::uint8_t { self, peer, both };

struct Session {
  enum class State : std::uint8_t { open, closing, ending, over, broken };
  State state = State::open;
  Begun begun = Begun::self;
  bool plain = false;
  bool restless = false;    // in the list of sessions with deferred calls
  bool incomplete = false;  // in the list of sessions with lost rails
  bool goodbye_due = false;
  bool goodbye_sent = false;
  bool ack_due = false;      // arrived frames are to be acknowledged
  bool connect_due = false;  // waits for the end of an older session with the same process
  bool widen_due = false;    // there is a transfer for which rails for chunks are to be connected
  std::uint8_t lead = kNoRail;  // that carries small frames
  std::uint8_t usable = 0;      // rails for frames that carry something, or may soon
  std::uint8_t live = 0;        // of these, and those that the peer may connect for the first time
  std::uint8_t wider = 0;       // rails for chunks only that are usable
  SessionNames names;
  PeerId id = kNoPeer;    // by which the rails know the peer
  PeerId peer = kNoPeer;  // by which the NI does; kNoPeer once it has closed it
  Address address;

  std::uint32_t next_number = 1;
  Retained retained;
  Arrivals arrivals;
  std::uint32_t acknowledged_to_peer = 0;  // the last number acknowledged to the peer
  std::size_t bytes_since_ack = 0;         // received since

  std::deque<Transfer*> waiting;     // transfers of which some bytes are not cut into chunks
  std::size_t waiting_bytes = 0;     // these
  std::deque<Chunk*> again;          // chunks that a rail has lost
  std::vector<Transfer*> transfers;  // all that are not completed
  std::uint32_t chunks = 0;          // in rails

  Probes probes;

  std::array<RailState, kMaxRails> rails;
  std::vector<std::uint8_t>
      order;  // those for frames that pair with one of the peer's, the best first
  std::vector<std::uint8_t> wide;  // those for chunks only

  explicit Session(const Address& address_) : address(address_) {}

  bool for_frames(std::uint8_t rail) const noexcept { return rails[rail].rank != kNoRail; }
  // Frames are kept until they have arrived, because another rail may have to carry them again.
  bool keeps_frames() const noexcept { return order.size() > 1; }
  // How many rails of its kind are usable.
  std::uint8_t& usable_like(std::uint8_t rail) noexcept {
    return for_frames(rail) ? usable : wider;
  }

  // False: the peer acknowledges frames that were not sent.
  bool acknowledge(std::uint32_t number) noexcept {
    if (distance(next_number, number) >= 0) return false;
    retained.acknowledge(number);
    return true;
  }

  // Returns the best rail that is up, else kNoRail.
  std::uint8_t best_up() const noexcept {
    for (const std::uint8_t i : order)
      if (rails[i].up()) return i;
    return kNoRail;
  }
  // The rail carries frames from now on.
  void came_up(std::uint8_t rail) noexcept {
    rails[rail].state = RailState::State::up;
    lead = best_up();
  }
};

}  // namespace lfc::bond
