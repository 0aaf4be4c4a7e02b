#include "rounds.hpp"

#include <algorithm>

#include "watch.hpp"

namespace programs {

Rounds::Rounds(Draw& draw, int roles, Element element)
    : roles_(roles),
      element_(element),
      quiet_(draw.one_in(2)),
      persistent_(draw.one_in(3)),
      count_(quiet_ ? draw.in(20, 150) : draw.in(4, 60)),
      pairs_(draw.in(1, 3)),
      tags_(draw.in(1, kRepeatedTags)),
      most_(draw.count(quiet_ ? 8 : 24)),
      key_(draw.next()) {
  for (int i = 0; i < pairs_; ++i) pair_.push_back({draw.in(0, roles - 1), draw.in(0, roles - 1)});
}

std::string Rounds::text() const {
  return std::to_string(count_) + " rounds of up to " + std::to_string(most_) + " messages of " +
         name_of(element_) + " between " + std::to_string(pairs_) + " pairs with " +
         std::to_string(tags_) + " tags";
}

Layout Rounds::persistent_layout(int from, int to, int tag) const {
  Draw draw(mixed(key_, static_cast<std::uint64_t>(from * 10000 + to * 100 + tag)));
  const std::size_t total = draw.pick({draw.below(256), draw.near(256), draw.near(4096)});
  return draw.one_in(3) ? draw_layout(draw, element_, total / size_of(element_))
                        : contiguous(element_, total / size_of(element_));
}

Part Rounds::draw_part(Draw& draw) const {
  const bool usual = quiet_ && !draw.one_in(100);
  Part part = {.when = draw.pick({When::kPosted, When::kPartly, When::kLate}),
               .any_source = !usual && draw.one_in(5),
               .any_tag = !usual && draw.one_in(4),
               .blocking = draw.one_in(2),
               .late = usual ? draw.pick({Late::kReceive, Late::kStart})
                             : static_cast<Late>(draw.below(kLates))};
  if (part.when == When::kPartly) part.any_source = part.any_tag = false;
  return part;
}

Message Rounds::draw_message(Draw& draw, const Round& round) const {
  const auto [from, to] = pair_[draw.below(pair_.size())];
  Message m;
  m.from = draw.one_in(12) ? draw.in(0, roles_ - 1) : from;
  m.to = draw.one_in(12) ? draw.in(0, roles_ - 1) : to;
  m.tag = draw.in(0, tags_ - 1);
  m.how = persistent_ && !draw.one_in(50) ? Send::kPersistent
          : quiet_ && !draw.one_in(50)    ? draw.pick({Send::kPlain, Send::kPersistent})
                                          : static_cast<Send>(draw.below(kSends));
  const Part& receiver = round.parts[static_cast<std::size_t>(m.to)];
  if (m.how == Send::kReady && !(round.ready && receiver.when == When::kPosted))
    m.how = Send::kPlain;
  const bool short_ones = most_ > 8 || (quiet_ && !draw.one_in(8));
  const std::size_t bytes = draw.pick({draw.below(256), draw.below(256), draw.near(256),
                                       draw.near(4096), draw.bytes(short_ones ? 6000 : 70000)});
  const std::size_t total = bytes / size_of(element_);
  m.here = m.how == Send::kPersistent ? persistent_layout(m.from, m.to, m.tag)
           : draw.one_in(4)           ? draw_layout(draw, element_, total)
                                      : contiguous(element_, total);
  m.there = draw.one_in(4) ? draw_layout(draw, element_, m.here.total)
                           : contiguous(element_, m.here.total);
  m.key = draw.next();
  return m;
}

Round Rounds::draw(int number) const {
  Draw draw(mixed(key_, static_cast<std::uint64_t>(number)));
  Round round = {.messages = {},
                 .parts = {},
                 .ready = draw.one_in(quiet_ ? 10 : 4),
                 .isolated = false,
                 .new_circle = number == 0 || draw.one_in(quiet_ ? 60 : 16),
                 .key = draw.next()};
  for (int role = 0; role < roles_; ++role) {
    round.parts.push_back(draw_part(draw));
    round.isolated = round.isolated || round.parts.back().any_source;
  }
  for (Part& part : round.parts)
    part.blocking = part.blocking && part.when == When::kPosted && !round.isolated;
  for (int left = draw.in(1, most_); left > 0; --left)
    round.messages.push_back(draw_message(draw, round));
  return round;
}

std::size_t longest(const Round& round) {
  std::size_t most = 0;
  for (const Message& m : round.messages) most = std::max(most, m.there.total);
  return most;
}

std::vector<MPI_Status> wait_somehow(Draw& own, std::vector<MPI_Request>& requests, bool need) {
  std::vector<MPI_Status> statuses(requests.size());
  const int count = static_cast<int>(requests.size());
  int done = 0;
  switch (own.below(need ? 5 : 7)) {
    case 0:
      for (std::size_t i = requests.size(); i-- > 0;) MPI_Wait(&requests[i], &statuses[i]);
      break;
    case 1: {
      MPI_Status status;
      for (int at = 0; at != MPI_UNDEFINED;) {
        MPI_Waitany(count, requests.data(), &at, &status);
        if (at != MPI_UNDEFINED) statuses[static_cast<std::size_t>(at)] = status;
      }
      break;
    }
    case 2:
      while (!done) MPI_Testall(count, requests.data(), &done, statuses.data());
      break;
    case 3:
      for (std::size_t i = 0; i < requests.size(); ++i)
        for (done = 0; !done;) MPI_Test(&requests[i], &done, &statuses[i]);
      break;
    case 4: MPI_Waitall(count, requests.data(), statuses.data()); break;
    case 5:
      for (MPI_Request& each : requests) MPI_Wait(&each, MPI_STATUS_IGNORE);
      return {};
    default: MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE); return {};
  }
  return statuses;
}

void cancel_receives(Draw& own, const Circle& circle, int first_tag) {
  std::vector<int> words(static_cast<std::size_t>(own.in(1, 4)));
  std::vector<MPI_Request> requests;
  for (int& word : words) {
    const int source = own.one_in(3) ? MPI_ANY_SOURCE : own.in(0, circle.size() - 1);
    const int which = own.one_in(3) ? MPI_ANY_TAG : first_tag + own.in(0, kRepeatedTags - 1);
    requests.push_back(MPI_REQUEST_NULL);
    if (own.one_in(3)) {
      MPI_Recv_init(&word, 1, MPI_INT, source, which, circle.comm, &requests.back());
      MPI_Start(&requests.back());
    } else {
      MPI_Irecv(&word, 1, MPI_INT, source, which, circle.comm, &requests.back());
    }
  }
  for (int at : own.permutation(static_cast<int>(requests.size()))) {
    MPI_Request& request = requests[static_cast<std::size_t>(at)];
    MPI_Status status;
    int cancelled = 0;
    MPI_Cancel(&request);
    watch_call("MPI_Wait of a cancelled receive");
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled) fail("a receive of nothing was not cancelled");
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

}  // namespace programs
