// One-sided communication whose end the target cannot foresee. A rank polls its own window until others have
// written. Also counters, a lock made of compare-and-swap, and more operations at a time than any table has room for.
#include <cstring>

#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

enum Mode { kWatch, kCount, kMutex, kMany, kModes };
enum Flavor { kCreate, kAllocate, kDynamic, kFlavors };
enum Poll { kGetAccumulate, kFetchAndOp, kCompareAndSwap, kGetFlush, kGetFlushLocal, kPolls };

class Polling : public Step {
 public:
  Polling(Draw& draw, const Scale& scale) {
    mode_ = draw.pick({kWatch, kWatch, kCount, kMutex});
    if (scale.flood > 65536 && draw.one_in(20)) mode_ = kMany;
    flavor_ = static_cast<Flavor>(draw.below(kFlavors));
    poll_ = static_cast<Poll>(draw.below(kPolls));
    owner_ = draw.in(0, scale.roles - 1);
    sends_ = draw.one_in(3);
    // Beyond 2^20 the names of operations may repeat.
    count_ = mode_ == kMany ? 1060000 : mode_ == kMutex ? draw.in(1, 6) : draw.count(200);
  }

  std::string text() const override {
    const char* const modes[] = {"watches its own window", "has a counter", "has a lock",
                                 "gets very many operations"};
    const char* const flavors[] = {"created", "allocated", "dynamic"};
    const char* const polls[] = {"get_accumulate", "fetch_and_op", "compare_and_swap",
                                 "get and flush", "get and flush_local"};
    return std::to_string(owner_) + " " + modes[mode_] + " (" + flavors[flavor_] + "), " +
           std::to_string(count_) + " times" +
           (mode_ == kWatch
                ? std::string(", by ") + polls[poll_] + (sends_ ? ", messages first" : "")
                : "");
  }

  void prepare(World& world, int) override {
    if (!world.active(owner_)) return;
    const std::size_t words = static_cast<std::size_t>(world.roles) + 2;
    const MPI_Aint bytes = static_cast<MPI_Aint>(8 * words);
    watch_call("makes a window");
    if (flavor_ == kAllocate) {
      MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, world.all.comm, &memory_, &win_);
    } else {
      own_.resize(words);
      memory_ = own_.data();
    }
    std::memset(memory_, 0, 8 * words);
    if (flavor_ == kCreate) MPI_Win_create(memory_, bytes, 8, MPI_INFO_NULL, world.all.comm, &win_);
    if (flavor_ == kDynamic) {
      MPI_Win_create_dynamic(MPI_INFO_NULL, world.all.comm, &win_);
      MPI_Win_attach(win_, memory_, bytes);
      MPI_Get_address(memory_, &base_);
    }
    MPI_Bcast(&base_, 1, MPI_AINT, world.all.rank_of(owner_), world.all.comm);
    watch_window(win_);
    MPI_Win_lock_all(0, win_);
    MPI_Barrier(world.all.comm);
  }

  void end(World& world, int step) override {
    if (win_ == MPI_WIN_NULL) return;
    target_ = world.all.rank_of(owner_);
    switch (mode_) {
      case kWatch: watch(world, step); break;
      case kCount: count(world); break;
      case kMutex: lock(world); break;
      default: many(world);
    }
    watch_call("MPI_Win_unlock_all");
    MPI_Win_unlock_all(win_);
    MPI_Barrier(world.all.comm);
    MPI_Win_free(&win_);
  }

 private:
  MPI_Aint at(int word) const { return flavor_ == kDynamic ? base_ + 8 * word : word; }

  std::int64_t read(int word) {
    std::int64_t value = 0;
    const std::int64_t none = -1;
    switch (poll_) {
      case kGetAccumulate:
        MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, &value, 1, MPI_INT64_T, target_, at(word), 1,
                           MPI_INT64_T, MPI_NO_OP, win_);
        break;
      case kFetchAndOp:
        MPI_Fetch_and_op(&none, &value, MPI_INT64_T, target_, at(word), MPI_NO_OP, win_);
        break;
      case kCompareAndSwap:
        MPI_Compare_and_swap(&none, &none, &value, MPI_INT64_T, target_, at(word), win_);
        break;
      default: MPI_Get(&value, 1, MPI_INT64_T, target_, at(word), 1, MPI_INT64_T, win_);
    }
    if (poll_ == kGetFlushLocal)
      MPI_Win_flush_local(target_, win_);
    else
      MPI_Win_flush(target_, win_);
    return value;
  }

  void add(int word) {
    const std::int64_t one = 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, target_, at(word), 1, MPI_INT64_T, MPI_SUM, win_);
    MPI_Win_flush(target_, win_);
  }

  // The owner makes no other MPI call than its polls until all have written. Before that they may need it for a
  // message.
  void watch(World& world, int step) {
    const int tag = tag_of(step, kFloodTag);
    if (world.me != owner_) {
      watch_call("writes to a window that is polled");
      if (sends_) MPI_Ssend(&count_, 1, MPI_INT, target_, tag, world.all.comm);
      for (int i = 0; i < count_; ++i) add(world.me);
      return;
    }
    std::vector<MPI_Request> requests;
    std::vector<int> words(world.all.members.size());
    for (std::size_t rank = 0; sends_ && rank < words.size(); ++rank) {
      if (static_cast<int>(rank) == target_) continue;
      requests.push_back(MPI_REQUEST_NULL);
      MPI_Irecv(&words[rank], 1, MPI_INT, static_cast<int>(rank), tag, world.all.comm,
                &requests.back());
    }
    watch_call("polls its own window");
    for (int role : world.all.members)
      while (role != world.me && read(role) < count_) continue;
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  // All ranks draw numbers; each number is given once.
  void count(World& world) {
    watch_call("MPI_Fetch_and_op of a counter");
    const std::int64_t one = 1;
    std::int64_t sums[2] = {0, 0}, all[2];
    for (int i = 0; i < count_; ++i) {
      std::int64_t number = -1;
      MPI_Fetch_and_op(&one, &number, MPI_INT64_T, target_, at(0), MPI_SUM, win_);
      MPI_Win_flush(target_, win_);
      sums[0] += number;
      sums[1] += number * number;
    }
    watch_call("MPI_Allreduce of what the counter gave");
    MPI_Allreduce(sums, all, 2, MPI_INT64_T, MPI_SUM, world.all.comm);
    const std::int64_t n = static_cast<std::int64_t>(count_) * world.all.size();
    if (all[0] != n * (n - 1) / 2 || all[1] != n * (n - 1) * (2 * n - 1) / 6)
      fail("a counter gave a number twice");
  }

  // Word 0 is the lock, word 1 what it guards.
  void lock(World& world) {
    const std::int64_t nobody = 0, mine = 1 + world.me;
    for (int i = 0; i < count_; ++i) {
      watch_call("waits for a lock made of compare-and-swap");
      for (std::int64_t was = -1; was != nobody;) {
        MPI_Compare_and_swap(&mine, &nobody, &was, MPI_INT64_T, target_, at(0), win_);
        MPI_Win_flush(target_, win_);
      }
      watch_call("holds a lock made of compare-and-swap");
      std::int64_t value = 0, was = 0;
      MPI_Get(&value, 1, MPI_INT64_T, target_, at(1), 1, MPI_INT64_T, win_);
      MPI_Win_flush(target_, win_);
      ++value;
      MPI_Put(&value, 1, MPI_INT64_T, target_, at(1), 1, MPI_INT64_T, win_);
      MPI_Win_flush(target_, win_);
      MPI_Fetch_and_op(&nobody, &was, MPI_INT64_T, target_, at(0), MPI_REPLACE, win_);
      MPI_Win_flush(target_, win_);
      if (was != mine)
        fail("the lock was taken by %lld, not %lld", static_cast<long long>(was),
             static_cast<long long>(mine));
    }
    MPI_Barrier(world.all.comm);
    const std::int64_t all = read(1);
    if (all != static_cast<std::int64_t>(count_) * world.all.size())
      fail("what the lock guards is %lld", static_cast<long long>(all));
  }

  // One rank has more results outstanding than any table has places.
  void many(World& world) {
    if (world.all.rank_of(world.me) != (target_ + 1) % world.all.size() || world.me == owner_)
      return;
    const bool adds = poll_ == kFetchAndOp || poll_ == kGetFlushLocal;
    watch_call("issues very many operations");
    std::vector<std::int64_t> results(static_cast<std::size_t>(count_), -1);
    const std::int64_t one = 1;
    for (std::int64_t& result : results)
      MPI_Get_accumulate(&one, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, target_, at(0), 1,
                         MPI_INT64_T, adds ? MPI_SUM : MPI_NO_OP, win_);
    watch_call("MPI_Win_flush of very many operations");
    MPI_Win_flush(target_, win_);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] != (adds ? static_cast<std::int64_t>(i) : 0))
        fail("operation %zu fetched %lld", i, static_cast<long long>(results[i]));
  }

  Mode mode_;
  Flavor flavor_;
  Poll poll_;
  int owner_, target_ = 0, count_;
  bool sends_;
  MPI_Win win_ = MPI_WIN_NULL;
  MPI_Aint base_ = 0;
  std::vector<std::int64_t> own_;
  std::int64_t* memory_ = nullptr;
};

}  // namespace

StepPointer draw_polling(Draw& draw, const Scale& scale) {
  return std::make_unique<Polling>(draw, scale);
}

}  // namespace programs
