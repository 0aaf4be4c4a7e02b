// The verdict on jobs that are made up: each way to hang, who is named, and for what.
#include "../../../mca/tools/lfc_look/verdict.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace {

using namespace look;

constexpr std::uint64_t kSingle = 0, kFloating = 1;

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
  Row made{"peer", {{"rank", number}, {"state", 1}, {"link", 0, link}}};
  made.values.insert(made.values.end(), values.begin(), values.end());
  return made;
}
void check(const Job& job, std::vector<std::string> wanted) { CHECK(verdict(job) == wanted); }

TEST_CASE("verdict: a credit that a rank outside MPI owes") {
  const Job job{rank(3, {peer(5, {{"waiting", 1}, {"credits", 0}})}), away(rank(5))};
  check(job, {"rank 3 waits for a credit of rank 5; rank 5 has not called MPI for 12 s: it sleeps "
              "in do_nanosleep"});
}
TEST_CASE("verdict: an answer that needs no credit waits for room") {
  const Job job{
      rank(0, {peer(1, {{"waiting", 2}, {"head_type", 13}, {"to_retry", 1}, {"ring", 4096}})}),
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
  check(job, {"rank 0 waits for a credit of rank 1; rank 1 is stopped for 40 s (by a signal; "
              "SIGCONT lets it go on)"});
}
TEST_CASE("verdict: nobody serves a rank that has no thread") {
  const Job job{rank(0, {peer(1, {{"outstanding", 2}})}), away(rank(1, {}, kSingle))};
  check(job, {"rank 0 waits for LFC in rank 1 to answer 2 puts, gets and atomic operations; rank 1 "
              "has not called MPI for 12 s: "
              "it sleeps in do_nanosleep, and LFC has no thread there (policy single)"});
}
TEST_CASE("verdict: a cable that is cut") {
  Rank one = rank(0), other = rank(1);
  one.sockets = {{"10.0.0.1:5", "10.0.0.2:6", 800, 0, 4}};
  other.sockets = {{"10.0.0.2:6", "10.0.0.1:5", 0, 0, 0}};
  const std::string cut =
      ", 10.0.0.2:6, which the kernel has sent again 4 times to no avail: the cable is cut, or the "
      "host is gone";
  check({one},
        {"rank 0 waits for an acknowledgement of 800 bytes from 10.0.0.2:6" + cut.substr(12)});
  CHECK(verdict({one, other})[0].find(
            "rank 0 waits for an acknowledgement of 800 bytes from rank 1" + cut) == 0);
}
TEST_CASE("verdict: those that wait for the same are told together, and a chain to its end") {
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
TEST_CASE("verdict: nobody owes anything") {
  check({rank(0), rank(1), rank(2)}, {"ranks 0 to 2 wait inside MPI for what nobody has sent: a "
                                      "send or a receive is missing in the program"});
}
TEST_CASE("verdict: a rank that is busy with something else than MPI") {
  Rank other = away(rank(2), 12, 'R');
  check({rank(0), rank(1), other}, {"ranks 0 and 1 wait inside MPI for what nobody has sent",
                                    "rank 2 has not called MPI for 12 s: it computes"});
  other.silent.reset();
  CHECK(doing(other) == "has not called MPI while it was watched (0.3 s): it computes");
}
TEST_CASE("verdict: a rank elsewhere") {
  check({rank(0, {peer(7, {{"waiting", 1}})})}, {"rank 0 waits for a credit of rank 7; rank 7 is "
                                                 "not on this node: lfc-look there says more"});
}
TEST_CASE("verdict: a job that goes on is not said to hang") {
  Rank busy = rank(0, {peer(1, {{"waiting", 1}})});
  busy.frames = 4000;
  check({busy, rank(1)}, {"the job is at work: 4000 frames came and went within 0.3 s"});
}

}  // namespace
