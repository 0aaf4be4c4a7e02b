// The common state of the steps of a program: roles, communicators, requests that outlive their step, and the order
// in which ranks enter a step.
//
// A program is drawn for a number of *roles*. Each process plays one; some may be left out with all their
// operations, to find a smaller program. A step uses roles only; ranks are those of its communicator.
#ifndef LFC_TESTS_PROGRAMS_WORLD_HPP
#define LFC_TESTS_PROGRAMS_WORLD_HPP

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "draw.hpp"

namespace programs {

// A communicator and its members, in the order of ranks. Null: no members, or this process is none of them.
struct Circle {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> members;
  int size() const { return static_cast<int>(members.size()); }
  int rank_of(int role) const;  // -1: not in it
};

// Requests that some step began, to be completed at the beginning of a later one, and the check of their results.
struct Pending {
  std::vector<MPI_Request> requests;
  std::function<void()> check;
  int due = 0;
};

// The way in which a rank comes to a step: at once, late, or when another one lets it.
struct Entry {
  enum How { kAtOnce, kSleep, kCompute, kPoll } how = kAtOnce;
  double milliseconds = 0;
  int waits_for = -1;  // a role that has come before it, by `order`
  double stays = 0;    // milliseconds of polling before it lets others come, once it has begun
};
std::vector<Entry> draw_entries(Draw& draw, int roles);
std::string text_of(const std::vector<Entry>& entries);

class World {
 public:
  // Collective over MPI_COMM_WORLD.
  World(std::uint64_t seed, int step_limit, const std::vector<bool>& left_out);
  // One thread's part of a world. Takes over a duplicate of `whole.all.comm`, over which it is collective. The
  // messages of its steps go there, or through the communicator that all threads of `whole` share.
  World(const World& whole, int thread, MPI_Comm own_comm, bool shares_messages, int step_limit);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::uint64_t seed;
  const int roles;
  const int me;  // role
  bool takes_part() const { return all.comm != MPI_COMM_NULL; }
  bool active(int role) const { return all.rank_of(role) >= 0; }

  Circle all;                         // all roles that take part; for the steps' own traffic
  MPI_Comm messages = MPI_COMM_NULL;  // the same, for messages with the tags of a step
  static constexpr int kCircles = 4;
  Circle circles[kCircles];  // 0: all, always there; the others come and go

  // Communicators: ways of making one.
  enum Way { kDup, kIdup, kSplit, kSubset, kCreate, kNone, kWays };
  void replace_circle(int which, Way way, std::uint64_t key);

  // Before and after a step has begun, in the order that the entries give.
  void enter(int step, const std::vector<Entry>& entries);
  void begun(int step, const std::vector<Entry>& entries);

  // Completes them now or, if the program demands it, at the beginning of a later step.
  void finish(int step, std::vector<MPI_Request> requests, std::function<void()> check);
  void finish_due(int step);
  void finish_all();

  void note(const void* data, std::size_t size,
            std::uint64_t key);  // into the digest, in any order
  std::uint64_t digest() const { return digest_; }

  Draw own;  // this rank's own: delays, and how it waits

 private:
  void duplicate_all();
  void wait_for(std::vector<MPI_Request>& requests);
  void linger(Entry::How how, double milliseconds);

  const int steps_;
  MPI_Comm tokens_ = MPI_COMM_NULL;
  std::vector<Pending> pending_;
  std::uint64_t digest_ = 0;
};

}  // namespace programs

#endif
