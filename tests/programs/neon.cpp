// NEON: buffers announced late or early, puts in pieces, notifications, several rounds under one tag, and counters
// that puts and gets increment.
#include <mpix_neon.h>

#include <deque>

#include "layout.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

// Each role has one buffer for each origin that writes to it, under separate tags or all under one.
class Neon : public Step {
 public:
  Neon(Draw& draw, const Scale& scale) : roles_(scale.roles) {
    allocated_ = draw.one_in(2);
    counters_ = draw.one_in(3);
    rounds_ = draw.one_in(6) ? draw.in(5, 40) : draw.in(1, 4);
    // Parked at the target or kept at the origin; with and without direct writes.
    const std::size_t most = rounds_ > 4 ? 20000 : 200000;
    size_ = draw.one_in(2)
                ? draw.bytes(most)
                : std::min(most, draw.near(draw.pick({kParked, 4 * kParked, kFrame, kRing})));
    size_ = std::max<std::size_t>(size_, 1);
    pieces_ = draw.in(1, 4);
    strong_ = draw.one_in(4);
    one_tag_ = draw.one_in(2);
    pairs_ = draw.next();
    key_ = draw.next();
  }

  std::string text() const override {
    std::string text = counters_  ? "puts that notify, "
                       : one_tag_ ? "NEON, one tag, "
                                  : "NEON, a tag each, ";
    text += std::to_string(rounds_) + " rounds of " + std::to_string(size_) + " bytes in " +
            std::to_string(pieces_) + " pieces" + (strong_ ? ", strong" : "") +
            (allocated_ ? ", allocated:" : ", created:");
    for (int from = 0; from < roles_; ++from)
      for (int to = 0; to < roles_; ++to)
        if (writes(from, to)) text += " " + std::to_string(from) + ">" + std::to_string(to);
    return text;
  }

  void prepare(World& world, int) override {
    watch_call("makes a window");
    const MPI_Aint bytes = static_cast<MPI_Aint>(size_ * static_cast<std::size_t>(roles_));
    if (allocated_) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, world.all.comm, &memory_, &win_);
    } else {
      own_.resize(static_cast<std::size_t>(bytes));
      memory_ = own_.data();
      MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, world.all.comm, &win_);
    }
    watch_window(win_);
    MPIX_Neon_attach(win_);
    if (counters_) MPIX_Win_set_num_notify(win_, MPI_INFO_NULL, roles_);
    for (int from = 0; from < roles_; ++from)
      if (writes(from, world.me) && world.active(from)) origins_.push_back(from);
  }

  // The origin's part: no call waits.
  void begin(World& world, int) override {
    if (counters_) return;
    watch_call("MPIX_Neon_put");
    for (int to = 0; to < roles_; ++to) {
      if (!writes(world.me, to) || !world.active(to)) continue;
      for (int round = 0; round < rounds_; ++round) {
        data_.push_back(contents(key(world.me, to, round), size_));
        put(world, to, data_.back());
      }
    }
  }

  void end(World& world, int) override {
    if (counters_)
      notified(world);
    else
      announced(world);
    watch_call("MPI_Barrier before MPI_Win_free");
    MPI_Barrier(world.all.comm);
    watch_call("MPI_Win_free");
    MPI_Win_free(&win_);
  }

 private:
  bool writes(int from, int to) const {
    return (mixed(pairs_, static_cast<std::uint64_t>(from * 64 + to)) & 1) != 0;
  }
  std::uint64_t key(int from, int to, int round) const {
    return mixed(key_, static_cast<std::uint64_t>((from * 64 + to) * 64 + round));
  }
  std::size_t begin_of(int piece) const {
    return size_ * static_cast<std::size_t>(piece) / static_cast<std::size_t>(pieces_);
  }

  // The target's buffers lie one behind the other, under one tag for all or each under its origin's.
  void put(World& world, int to, const std::vector<char>& data) {
    const std::size_t base = one_tag_ ? size_ * static_cast<std::size_t>(world.me) : 0;
    for (int piece = 0; piece < pieces_; ++piece) {
      const std::size_t from = begin_of(piece), size = begin_of(piece + 1) - from;
      const int flags = (piece + 1 < pieces_ ? MPIX_NEON_NON_FINAL : MPIX_NEON_FINAL) |
                        (strong_ ? MPIX_NEON_STRONG : 0);
      requests_.push_back(MPI_REQUEST_NULL);
      MPIX_Neon_put(data.data() + from, static_cast<int>(size), MPI_BYTE, world.all.rank_of(to),
                    one_tag_ ? 5 : 10 + world.me, static_cast<MPI_Aint>(base + from),
                    static_cast<int>(size), MPI_BYTE, flags, win_, &requests_.back());
    }
  }

  void check(World& world, int from, int round) {
    const std::vector<char> should = contents(key(from, world.me, round), size_);
    const char* is = memory_ + size_ * static_cast<std::size_t>(from);
    for (std::size_t at = 0; at < size_; ++at)
      if (is[at] != should[at]) fail("round %d of %d: byte %zu is wrong", round, from, at);
    world.note(is, size_, key_);
  }

  void announced(World& world) {
    std::vector<MPI_Request> buffers;
    const auto announce = [&](const std::vector<int>& ranks, std::size_t at, std::size_t size,
                              int tag) {
      buffers.push_back(MPI_REQUEST_NULL);
      MPIX_Neon_announce_init(static_cast<MPI_Aint>(at), static_cast<MPI_Aint>(size),
                              static_cast<int>(ranks.size()), ranks.data(), tag, 0, win_,
                              &buffers.back());
    };
    std::vector<int> ranks;
    for (int from : origins_) ranks.push_back(world.all.rank_of(from));
    if (one_tag_ && !ranks.empty()) announce(ranks, 0, size_ * static_cast<std::size_t>(roles_), 5);
    for (std::size_t i = 0; !one_tag_ && i < ranks.size(); ++i)
      announce({ranks[i]}, size_ * static_cast<std::size_t>(origins_[i]), size_, 10 + origins_[i]);
    const int n = static_cast<int>(buffers.size());
    for (int round = 0; round < rounds_ && n > 0; ++round) {
      MPI_Startall(n, buffers.data());
      watch_call("waits for its announced buffers");
      MPI_Waitall(n, buffers.data(), MPI_STATUSES_IGNORE);
      for (int from : origins_) check(world, from, round);
    }
    watch_call("waits for its puts");
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& buffer : buffers) MPI_Request_free(&buffer);
  }

  // Rounds: put, notification, check, barrier; all counters continue.
  void notified(World& world) {
    for (int round = 0; round < rounds_; ++round) {
      for (int to = 0; to < roles_; ++to) {
        if (!writes(world.me, to) || !world.active(to)) continue;
        const std::vector<char> data = contents(key(world.me, to, round), size_);
        watch_call("MPIX_Put_notify");
        for (int piece = 0; piece < pieces_; ++piece) {
          const std::size_t from = begin_of(piece), size = begin_of(piece + 1) - from;
          MPIX_Put_notify(data.data() + from, static_cast<int>(size), MPI_BYTE,
                          world.all.rank_of(to),
                          static_cast<MPI_Aint>(size_ * static_cast<std::size_t>(world.me) + from),
                          static_cast<int>(size), MPI_BYTE, world.me, win_);
        }
      }
      watch_call("MPIX_Win_wait_notify");
      for (int from : origins_) {
        MPIX_Win_wait_notify(
            win_, from,
            static_cast<std::uint64_t>(pieces_) * static_cast<std::uint64_t>(round + 1));
        check(world, from, round);
      }
      watch_call("MPI_Barrier between rounds");
      MPI_Barrier(world.all.comm);
    }
  }

  int roles_, rounds_, pieces_;
  std::size_t size_;
  bool allocated_, counters_, strong_, one_tag_;
  std::uint64_t pairs_, key_;
  MPI_Win win_ = MPI_WIN_NULL;
  char* memory_ = nullptr;
  std::vector<char> own_;
  std::vector<int> origins_;
  std::deque<std::vector<char>> data_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

StepPointer draw_neon(Draw& draw, const Scale& scale) {
  return std::make_unique<Neon>(draw, scale);
}

}  // namespace programs
