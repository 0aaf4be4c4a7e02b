// Messages in a row: floods of numbered ones, of which none may overtake another, and persistent requests.
#include <cstring>

#include "layout.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

// Some ranks send many messages each to one, all started before any is waited for.
class Flood : public Step {
 public:
  Flood(Draw& draw, const Scale& scale) {
    const std::vector<int> order = draw.permutation(scale.roles);
    to_ = order[0];
    const int senders = scale.roles > 2 ? draw.in(1, std::min(3, scale.roles - 1)) : 1;
    senders_.assign(order.begin() + 1, order.begin() + 1 + senders);
    // Beyond 65,536 ob1's numbers repeat.
    count_ = scale.flood > 65536 && draw.one_in(12)
                 ? draw.pick({65535l, 65537l, 67000l, 90000l, 131073l})
                 : draw.count(2200);
    count_ = std::min(count_, scale.flood);
    if (count_ > 60000) senders_.resize(1);
    size_ = 8 + (count_ > 300 ? draw.pick<std::size_t>({0, 0, 8, 600, 1024}) : draw.bytes(70000));
    synchronous_ = draw.one_in(8) && count_ < 5000;
    any_source_ = draw.one_in(2);
    late_ = draw.one_in(2) ? 0 : draw.one_in(12) ? draw.in(10, 40) : draw.in(1, 30) / 10.0;
    key_ = draw.next();
  }

  std::string text() const override {
    std::string text =
        "flood of " + std::to_string(count_) + " messages of " + std::to_string(size_) +
        " bytes to " + std::to_string(to_) + (any_source_ ? " (any source)" : "") +
        (synchronous_ ? ", synchronous" : "") + ", late by " + std::to_string(late_) + " ms, from";
    for (int sender : senders_) text += " " + std::to_string(sender);
    return text;
  }

  void begin(World& world, int step) override {
    if (!world.active(to_) || !sends(world.me)) return;
    watch_call("MPI_Isend");
    data_ = contents(key_ + static_cast<std::uint64_t>(world.me), size_);
    numbers_.resize(static_cast<std::size_t>(count_) * size_);
    requests_.resize(static_cast<std::size_t>(count_));
    for (long i = 0; i < count_; ++i) {
      char* message = numbers_.data() + static_cast<std::size_t>(i) * size_;
      std::memcpy(message, data_.data(), size_);
      std::memcpy(message, &i, sizeof i);
      const auto send = synchronous_ ? MPI_Issend : MPI_Isend;
      send(message, static_cast<int>(size_), MPI_BYTE, world.all.rank_of(to_),
           tag_of(step, kFloodTag), world.messages, &requests_[static_cast<std::size_t>(i)]);
    }
  }

  void end(World& world, int step) override {
    if (world.me == to_) receive(world, step);
    world.finish(step, std::move(requests_), [] {});
  }

 private:
  bool sends(int role) const {
    for (int sender : senders_)
      if (sender == role) return true;
    return false;
  }

  void receive(World& world, int step) {
    std::vector<long> next(static_cast<std::size_t>(world.roles));
    std::vector<int> from;
    for (int sender : senders_)
      if (world.active(sender)) from.push_back(sender);
    pause_seconds(late_ / 1000);
    watch_call("MPI_Recv of a flood");
    std::vector<char> memory(size_);
    for (long i = 0; i < count_ * static_cast<long>(from.size()); ++i) {
      MPI_Status status;
      const int wanted = from[static_cast<std::size_t>(i) % from.size()];
      MPI_Recv(memory.data(), static_cast<int>(size_), MPI_BYTE,
               any_source_ ? MPI_ANY_SOURCE : world.all.rank_of(wanted), tag_of(step, kFloodTag),
               world.messages, &status);
      const int role = world.all.members[static_cast<std::size_t>(status.MPI_SOURCE)];
      long& due = next[static_cast<std::size_t>(role)];
      long number;
      std::memcpy(&number, memory.data(), sizeof number);
      if (number != due) fail("message %ld from %d came as number %ld", number, role, due);
      ++due;
      if (count_ > 300 && number % 64 != 0) continue;
      const std::vector<char> should = contents(key_ + static_cast<std::uint64_t>(role), size_);
      if (std::memcmp(memory.data() + 8, should.data() + 8, size_ - 8) != 0)
        fail("message %ld from %d has wrong contents", number, role);
    }
    for (int sender : senders_)
      world.note(&next[static_cast<std::size_t>(sender)], sizeof(long), key_);
  }

  int to_;
  std::vector<int> senders_;
  long count_;
  std::size_t size_;
  bool synchronous_, any_source_;
  double late_;
  std::uint64_t key_;
  std::vector<char> data_, numbers_;
  std::vector<MPI_Request> requests_;
};

// Neighbours in a ring, several rounds with the same requests.
class Persistent : public Step {
 public:
  Persistent(Draw& draw, const Scale& scale) {
    element_ = static_cast<Element>(draw.below(kElements));
    const std::size_t total = draw.bytes(scale.bytes) / size_of(element_);
    here_ = draw_layout(draw, element_, total);
    there_ = draw_layout(draw, element_, total);
    rounds_ = draw.in(1, 6);
    distance_ = draw.in(0, scale.roles - 1);
    synchronous_ = draw.one_in(3);
    startall_ = draw.one_in(2);
    key_ = draw.next();
  }

  std::string text() const override {
    return std::string("persistent") + (synchronous_ ? ", synchronous: " : ": ") +
           std::to_string(rounds_) + " rounds at distance " + std::to_string(distance_) + ", " +
           here_.text() + " to " + there_.text();
  }

  void end(World& world, int step) override {
    const int size = world.all.size(), rank = world.all.rank_of(world.me);
    const int to = (rank + distance_) % size, from = (rank + size - distance_ % size) % size;
    std::vector<char> out(here_.bytes() + 8), in(there_.bytes() + 8);
    MPI_Request requests[2];
    {
      const Typed here(here_), there(there_);
      const auto init = synchronous_ ? MPI_Ssend_init : MPI_Send_init;
      init(out.data(), here_.count, here.type, to, tag_of(step, kPersistentTag), world.messages,
           &requests[0]);
      MPI_Recv_init(in.data(), there_.count, there.type, from, tag_of(step, kPersistentTag),
                    world.messages, &requests[1]);
    }
    for (int round = 0; round < rounds_; ++round) {
      const auto key = [&](int of) {
        return mixed(key_, static_cast<std::uint64_t>(of * 100 + round));
      };
      const std::vector<char> sent = spread(here_, contents(key(rank), here_.packed()));
      std::memcpy(out.data(), sent.data(), out.size());
      std::memset(in.data(), kMark, in.size());
      if (startall_) {
        MPI_Startall(2, requests);
      } else {
        MPI_Start(&requests[1]);
        MPI_Start(&requests[0]);
      }
      watch_call("MPI_Waitall of persistent requests");
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      const std::vector<char> packed = contents(key(from), there_.packed());
      const std::ptrdiff_t wrong = first_difference(in, spread(there_, packed));
      if (wrong >= 0) fail("round %d from rank %d: byte %td is wrong", round, from, wrong);
      world.note(packed.data(), packed.size(), key_);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }

 private:
  Element element_;
  Layout here_, there_;
  int rounds_, distance_;
  bool synchronous_, startall_;
  std::uint64_t key_;
};

}  // namespace

StepPointer draw_flood(Draw& draw, const Scale& scale) {
  return std::make_unique<Flood>(draw, scale);
}
StepPointer draw_persistent(Draw& draw, const Scale& scale) {
  return std::make_unique<Persistent>(draw, scale);
}

}  // namespace programs
