// Verdicts on invented jobs: for each kind of hang, the ranks that are named and the reason.
#include "../../../mca/tools/lfc_look/verdict.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lfc/collective_call.h"
#include "look/states.hpp"
#include "wire/frame.hpp"

namespace {

using namespace look;

using lfc::look::number_of;
constexpr std::uint64_t kSingle = number_of(lfc::look::Policy::single);
constexpr std::uint64_t kFloating = number_of(lfc::look::Policy::floating);
constexpr std::uint64_t kConnected = number_of(lfc::look::PeerState::connected);
constexpr std::uint64_t kServiceData = number_of(lfc::FrameType::service_data);
constexpr std::uint64_t kWanted = number_of(lfc::look::TargetLock::wanted);
constexpr std::uint64_t kRequested = number_of(lfc::look::TargetLock::requested);
constexpr std::uint64_t kHeld = number_of(lfc::look::TargetLock::held);

Rank rank(std::uint32_t number, std::vector<Row> rows = {}, std::uint64_t policy = kFloating) {
  Rank made;
  made.pid = static_cast<int>(1000 + number);
  made.state = 'R';
  made.looked = 0.3;
  made.polled = true;
  rows.push_back({"ni", {{"job", 9}, {"rank", number}, {"policy", policy}}});
  made.rows = std::move(rows);
  return made;
}
Rank away(Rank rank, double seconds = 12, char state = 'S') {
  rank.polled = false;
  rank.silent = seconds;
  rank.exact = true;
  rank.state = state;
  if (state == 'S') rank.sleeps_in = "do_nanosleep";
  return rank;
}
Row peer(std::uint32_t number, std::vector<Row::Value> values, const char* link = "shm") {
  Row made{"peer", {{"rank", number}, {"state", kConnected}, {"link", 0, link}}};
  made.values.insert(made.values.end(), values.begin(), values.end());
  // If none are given:
  made.values.push_back({"head", number_of(lfc::look::WaitingKind::message)});
  made.values.push_back({"head_type", number_of(lfc::FrameType::message)});
  return made;
}
void check(const Job& job, std::vector<std::string> wanted) { CHECK(verdict(job) == wanted); }

TEST_CASE("verdict: a credit that a rank outside MPI owes") {
  const Job job{rank(3, {peer(5, {{"waiting", 1}, {"credits", 0}})}), away(rank(5))};
  check(job, {"rank 3 waits for a credit of rank 5; rank 5 has not called MPI for 12 s: it sleeps "
              "in do_nanosleep"});
}
TEST_CASE("verdict: a service waits for a credit") {
  const Job job{rank(3, {peer(5, {{"waiting", 1},
                                  {"credits", 0},
                                  {"head", number_of(lfc::look::WaitingKind::packet)},
                                  {"head_type", number_of(lfc::FrameType::service)}})}),
                away(rank(5))};
  check(job, {"rank 3 waits for a credit of rank 5; rank 5 has not called MPI for 12 s: it sleeps "
              "in do_nanosleep"});
}
TEST_CASE("verdict: an answer that needs no credit waits for room") {
  const Job job{
      rank(0,
           {peer(1,
                 {{"waiting", 2}, {"head_type", kServiceData}, {"to_retry", 1}, {"ring", 4096}})}),
      away(rank(1), 0.5, 'R')};
  check(job, {"rank 0 waits for room in the ring of rank 1 (2 messages wait); rank 1 has not "
              "called MPI for 0.5 s: it computes"});
}
TEST_CASE("verdict: a full connection") {
  const Job job{rank(0, {peer(1, {{"waiting", 1}, {"credits", 3}, {"to_retry", 1}}, "tcp")}),
                away(rank(1))};
  check(job, {"rank 0 waits for room in the connection to rank 1 (tcp); rank 1 has not called MPI "
              "for 12 s: it sleeps in do_nanosleep"});
}
TEST_CASE("verdict: a rank that is stopped") {
  const Job job{rank(0, {peer(1, {{"waiting", 1}})}), away(rank(1), 40, 'T')};
  check(job, {"rank 1 is stopped for 40 s (by a signal; SIGCONT lets it go on)",
              "rank 0 waits for a credit of rank 1; rank 1 is stopped"});
}
TEST_CASE("verdict: a stopped rank whose own operation is under way is named first") {
  const Row asked = peer(0, {{"outstanding", 1}});
  const std::string stopped = "rank 1 is stopped for 1.0 s (by a signal; SIGCONT lets it go on)";
  const Rank halted = away(rank(1, {asked}), 1, 'T');
  check({rank(0), halted},
        {stopped, "rank 0 waits inside MPI for a message that no rank has sent"});
  // Other ranks wait for another rank, or have begun something outside MPI.
  const Row elsewhere = peer(3, {{"waiting", 1}});
  CHECK(verdict({rank(0, {elsewhere}), halted, away(rank(3))})[0] == stopped);
  CHECK(verdict({away(rank(0, {elsewhere})), halted, away(rank(3))})[0] == stopped);
  Rank busy = rank(0);
  busy.frames = 4000;
  check({busy, halted, rank(2)},
        {stopped, "the job is at work: 4000 frames came and went within 0.3 s"});
}
TEST_CASE("verdict: a rank that was stopped inside MPI, and one that has ended there") {
  for (const auto& [state, halt] :
       {std::pair('T', "is stopped (by a signal; SIGCONT lets it go on)"),
        std::pair('t', "is held by a debugger"), std::pair('Z', "has ended")}) {
    Rank halted = rank(1, {peer(0, {{"waiting", 1}})});
    halted.state = state;
    check({rank(0), halted}, {std::string("rank 1 ") + halt,
                              "rank 0 waits inside MPI for a message that no rank has sent"});
  }
}
TEST_CASE("verdict: ranks that are stopped together share one line") {
  check({away(rank(0), 3, 'T'), away(rank(1), 3, 'T')},
        {"each of ranks 0 and 1 is stopped for 3.0 s (by a signal; SIGCONT lets it go on)"});
}
TEST_CASE("verdict: a stopped rank does not wait for the operation that it has begun") {
  const Row full = peer(0, {{"waiting", 1}, {"credits", 3}, {"to_retry", 1}});
  const Job job{rank(0), away(rank(1, {full}), 1, 'T')};
  check(job, {"rank 1 is stopped for 1.0 s (by a signal; SIGCONT lets it go on)",
              "rank 0 waits inside MPI for a message that no rank has sent"});
}
TEST_CASE("verdict: a rank without a thread is not served") {
  const Job job{rank(0, {peer(1, {{"outstanding", 2}})}), away(rank(1, {}, kSingle))};
  check(job, {"rank 0 waits for LFC in rank 1 to answer 2 puts, gets and atomic operations; rank 1 "
              "has not called MPI for 12 s: "
              "it sleeps in do_nanosleep, and LFC has no thread there (policy single)"});
}
TEST_CASE("verdict: a link that is cut") {
  Rank one = rank(0), other = rank(1);
  one.sockets = {{"10.0.0.1:5", "10.0.0.2:6", 800, 0, 4}};
  other.sockets = {{"10.0.0.2:6", "10.0.0.1:5", 0, 0, 0}};
  const std::string cut =
      ", 10.0.0.2:6, which the kernel has sent again 4 times to no avail: the cable is cut, or the "
      "node is gone";
  check({one},
        {"rank 0 waits for an acknowledgement of 800 bytes from 10.0.0.2:6" + cut.substr(12)});
  CHECK(verdict({one, other})[0].find(
            "rank 0 waits for an acknowledgement of 800 bytes from rank 1" + cut) == 0);
}
TEST_CASE(
    "verdict: ranks that wait for the same one share a line, and a chain is followed to its end") {
  const std::vector<Row> wants{peer(2, {{"waiting", 1}})};
  const Job job{rank(0, wants), rank(1, wants), rank(2, {peer(3, {{"waiting", 1}})}),
                away(rank(3))};
  check(job, {"ranks 0 and 1 wait for a credit of rank 2; rank 2 waits for a credit of rank 3; "
              "rank 3 has not called MPI for 12 s: "
              "it sleeps in do_nanosleep",
              "rank 2 waits for a credit of rank 3; rank 3 has not called MPI for 12 s: it sleeps "
              "in do_nanosleep"});
}
TEST_CASE("verdict: a circle ends") {
  const Job job{rank(0, {peer(1, {{"waiting", 1}})}), rank(1, {peer(0, {{"waiting", 1}})})};
  check(job, {"rank 0 waits for a credit of rank 1; rank 1 waits for a credit of rank 0; which "
              "closes the circle",
              "rank 1 waits for a credit of rank 0; rank 0 waits for a credit of rank 1; which "
              "closes the circle"});
}
TEST_CASE("verdict: all ranks wait for a message that none has sent") {
  check({rank(0), rank(1), rank(2)},
        {"ranks 0 to 2 wait inside MPI for a message that no rank has sent: a "
         "send or a receive is missing in the program"});
}
TEST_CASE("verdict: a rank that is busy with something else than MPI") {
  Rank other = away(rank(2), 12, 'R');
  check({rank(0), rank(1), other},
        {"ranks 0 and 1 wait inside MPI for a message that no rank has sent",
         "rank 2 has not called MPI for 12 s: it computes"});
  other.silent.reset();
  CHECK(doing(other) == "has not called MPI while it was watched (0.3 s): it computes");
}
TEST_CASE("verdict: the rank that others wait for is inside MPI and waits for none of them") {
  check({rank(0, {peer(1, {{"outstanding", 1}})}), rank(1)},
        {"rank 0 waits for LFC in rank 1 to answer 1 put, get or atomic operation; rank 1 waits "
         "inside MPI for a message that no rank has sent"});
}
TEST_CASE("verdict: a rank elsewhere") {
  check({rank(0, {peer(7, {{"waiting", 1}})})}, {"rank 0 waits for a credit of rank 7; rank 7 is "
                                                 "not on this node: run lfc-look there"});
}
TEST_CASE("verdict: a job that makes progress is not reported as hanging") {
  Rank busy = rank(0, {peer(1, {{"waiting", 1}})});
  busy.frames = 4000;
  check({busy, rank(1)}, {"the job is at work: 4000 frames came and went within 0.3 s"});
}

// --- Services ---

constexpr const char* kAsleep = " has not called MPI for 12 s: it sleeps in do_nanosleep";

// A window of three members, ranks 0 to 2, as one of them publishes it. Its peers have the ids 10 to 12.
std::vector<Row> window(std::uint32_t member, std::vector<Row::Value> values = {}) {
  Row self{"window", {{"id", 70 + member}, {"member", member}}, 500};
  self.values.insert(self.values.end(), values.begin(), values.end());
  std::vector<Row> rows{self};
  for (std::uint32_t other = 0; other < 3; ++other) {
    rows.push_back({"window_route", {{"peer", 10 + other}, {"id", 70 + other}}, 500, other});
    rows.push_back(peer(other, {{"id", 10 + other}}));
  }
  return rows;
}
std::vector<Row> with(std::vector<Row> rows, Row row) {
  rows.push_back(std::move(row));
  return rows;
}

TEST_CASE("verdict: a lock that another rank holds") {
  const Row wants{"window_target", {{"lock", kWanted}, {"mapped_lock", 4096}}, 500, 2};
  const Row holds{"window_target", {{"lock", kHeld}}, 500, 2};
  check(
      {rank(0, with(window(0), wants)), away(rank(1, with(window(1), holds))), rank(2, window(2))},
      {"rank 0 waits for the lock of a window at rank 2, which rank 1 holds; rank 1" +
           std::string(kAsleep),
       "rank 2 waits inside MPI for a message that no rank has sent"});
}
TEST_CASE("verdict: a lock that was requested in a frame, beside a rank that holds another lock") {
  const Row wants{"window_target", {{"lock", kRequested}, {"waiting", 4096}}, 500, 2};
  const Row holds{"window_target", {{"lock", kHeld}}, 500, 1};
  CHECK(verdict({rank(0, with(window(0), wants)), rank(1, with(window(1), holds)),
                 away(rank(2, window(2)))})[0] ==
        "rank 0 waits for the lock of a window at rank 2; rank 2" + std::string(kAsleep));
}
TEST_CASE("verdict: a lock that is not requested yet is no wait") {
  const Row wants{"window_target", {{"lock", kWanted}}, 500, 2};
  CHECK(verdict({rank(0, with(window(0), wants))})[0].find("rank 0 waits inside MPI") == 0);
}
TEST_CASE("verdict: an access that has not ended") {
  std::vector<Row> rows = window(0, {{"exposed", 1}, {"exposed_to", 2, "", {1, 2}}});
  rows.push_back({"window_origin", {{"completes", 4}, {"completes_used", 4}}, 500, 1});
  rows.push_back({"window_origin", {{"completes", 3}, {"completes_used", 4}}, 500, 2});
  check({rank(0, rows), away(rank(2))},
        {"rank 0 waits for rank 2 to end its access to a window (MPI_Win_complete); rank 2" +
         std::string(kAsleep)});
}
TEST_CASE("verdict: a window that is not opened, and operations without acknowledgement") {
  const Row access{"window_target",
                   {{"in_access", 1}, {"posts", 1}, {"posts_used", 2}, {"waiting", 4096}},
                   500,
                   1};
  const Row sent{"window_target", {{"wanted", 5}, {"counted", 4}}, 500, 1};
  check({rank(0, with(window(0), access)), away(rank(1))},
        {"rank 0 waits for rank 1 to open its window to it (MPI_Win_post); rank 1" +
         std::string(kAsleep)});
  check({rank(0, with(window(0), sent)), away(rank(1, {}, kSingle))},
        {"rank 0 waits for LFC in rank 1 to answer operations on a window; rank 1" +
         std::string(kAsleep) + ", and LFC has no thread there (policy single)"});
}

Row communicator(std::uint64_t next_step, bool waits) {
  Row made{"communicator", {{"key", 99}, {"ranks", 3}, {"next_step", next_step}}};
  if (waits)
    made.values.insert(made.values.end(),
                       {{"operation", 4096}, {"kind", LFC_COLL_BCAST}, {"first_step", 7}});
  return made;
}
TEST_CASE("verdict: a collective that a rank has not called") {
  const Row in = communicator(8, true), out = communicator(7, false);
  check({rank(0, {in}), rank(1, {in}), away(rank(2, {out}))},
        {"ranks 0 and 1 wait for rank 2 to call the bcast of a communicator of 3 ranks; rank 2" +
         std::string(kAsleep)});
  check({rank(0, {in}), rank(1, {in})},
        {"ranks 0 and 1 wait for the bcast of a communicator of 3 ranks, which ranks on other "
         "nodes have to call or pass on"});
}
TEST_CASE("verdict: each kind of collective has its name, and some are among neighbours") {
  for (std::uint64_t kind = 0; kind < LFC_COLL_KINDS; ++kind) {
    const Row waits{
        "communicator",
        {{"key", 1}, {"ranks", 2}, {"operation", 4096}, {"kind", kind}, {"next_step", 1}}};
    const std::string line = verdict({rank(0, {waits})})[0];
    CHECK(line.find("the collective of") == std::string::npos);
    const bool among_neighbours = std::string(lfc_coll_name(kind)).starts_with("neighbor");
    CHECK((line.find("neighbours to take part") != std::string::npos) == among_neighbours);
  }
}
TEST_CASE("verdict: a buffer of NEON that is announced and not filled") {
  std::vector<Row> rows{peer(5, {{"id", 3}}), {"neon_route", {{"peer", 3}}, 600, 1}};
  rows.push_back({"announced",
                  {{"tag", 7}, {"live", 1}, {"origins", 2, "", {0, 1}}, {"notified", 1, "", {0}}},
                  600});
  check({rank(0, rows), away(rank(5))},
        {"rank 0 waits for rank 5 to fill the buffer announced to it with tag 7; rank 5" +
         std::string(kAsleep)});
}
TEST_CASE("verdict: ordered broadcasts that are not taken") {
  const auto ordered = [](std::uint64_t taken, std::uint64_t asking) {
    return Row{"ordered", {{"key", 4}, {"taken", taken}, {"asking", asking}}};
  };
  check({rank(0, {ordered(24, 1)}), rank(1, {ordered(20, 1)}), away(rank(2, {ordered(16, 0)}))},
        {"ranks 0 and 1 wait for rank 2 to take ordered broadcasts, of which it has taken 16; rank "
         "2" +
         std::string(kAsleep)});
}

}  // namespace
