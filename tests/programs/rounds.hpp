// Rounds of messages between few pairs of ranks, as all ranks draw them, and calls in ways that the draws of one rank
// decide.
//
//   Rounds rounds(draw, roles, element);
//   Round third = rounds.draw(2);
//   std::vector<MPI_Status> statuses = wait_somehow(own, requests, true);
#ifndef LFC_TESTS_PROGRAMS_ROUNDS_HPP
#define LFC_TESTS_PROGRAMS_ROUNDS_HPP

#include <mpi.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "message.hpp"
#include "world.hpp"

namespace programs {

// Partly: posts some receives, and makes the others late.
enum class When { kPosted, kPartly, kLate };
enum class Late { kReceive, kStart, kProbe, kPoll, kMatch, kMatchPoll };
inline constexpr int kLates = 6;
inline constexpr int kRepeatedTags = 3;

// How one rank takes part in a round.
struct Part {
  When when;
  bool any_source, any_tag, blocking;
  Late late;
};

struct Round {
  std::deque<Message> messages;
  std::vector<Part> parts;
  bool ready;       // no message is sent before all receives are posted
  bool isolated;    // all receives end before any rank begins the next round
  bool new_circle;  // it begins with another communicator
  std::uint64_t key;
};

class Rounds {
 public:
  Rounds(Draw& draw, int roles, Element element);
  std::string text() const;
  int count() const { return count_; }
  bool persistent() const { return persistent_; }
  Round draw(int number) const;

 private:
  Part draw_part(Draw& draw) const;
  Message draw_message(Draw& draw, const Round& round) const;
  Layout persistent_layout(int from, int to, int tag) const;

  const int roles_;
  const Element element_;
  const bool quiet_;       // few unusual sends and receives, so that channels stay open
  const bool persistent_;  // nearly all sends and receives are
  const int count_, pairs_, tags_, most_;
  const std::uint64_t key_;
  std::vector<std::pair<int, int>> pair_;
};

// Elements of the longest message.
std::size_t longest(const Round& round);

// Waits for all requests by any of MPI's calls. Returns their statuses, or nothing, unless they are needed.
std::vector<MPI_Status> wait_somehow(Draw& own, std::vector<MPI_Request>& requests, bool need);

// Starts receives of the tags of a step that no message matches, because none is sent now, and cancels them.
void cancel_receives(Draw& own, const Circle& circle, int first_tag);

}  // namespace programs

#endif
