// One window that several threads of each rank use at a time. They use it under one lock_all, with a flush for each
// thread; with locks, some of which the first thread releases for others; or in access epochs of one thread while
// another exposes.
//
// Each thread of each rank is an *author*. It has a slice of every rank's memory, where its operations do not
// overlap unless a flush or the end of an epoch lies between. All authors update another part by one commutative
// operation. Meanwhile the first thread attaches and detaches other memory of a dynamic window.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "operation.hpp"
#include "spare_memory.hpp"
#include "step.hpp"
#include "watch.hpp"
#include "window.hpp"

namespace programs {
namespace {

enum Sync { kLockAll, kLocks, kEpochs };

enum { kNone = -1, kReserved = -2 };

class SharedWindow : public Step {
 public:
  SharedWindow(Draw& draw, const Scale& scale);
  std::string text() const override;
  void cut(const Cuts& cuts, int step) override;
  void prepare(World& world, int step) override;
  void end(World& world, int step) override;

 private:
  using Model =
      std::vector<std::vector<char>>;  // of an author: its slice and the shared part, by target

  void draw_operations(Draw& draw, int author, int count);
  Operation draw_one(Draw& draw, std::size_t room);
  std::size_t author_of(int role, int thread) const {
    return static_cast<std::size_t>(role * threads_ + thread);
  }
  std::size_t bytes() const { return slice_ * authors_.size() + kSharedBytes; }
  std::size_t place(const Operation& op) const {
    return slice_ * (op.shared ? authors_.size() : static_cast<std::size_t>(op.origin));
  }
  bool detaches() const { return window_.flavor == Window::kDynamic && sync_ == kLockAll; }
  bool ends_epoch(const Operation& op) const { return sync_ == kEpochs && op.flush == 2; }
  // After it the author may use its slice anew.
  bool completes(const Operation& op) const {
    return sync_ == kLocks || ends_epoch(op) ||
           (sync_ == kLockAll && (op.flush == 1 || op.flush == 2));
  }
  void work(World& world, int thread);
  void operate(World& world, int thread);
  void issue_one(World& world, const Operation& op, Model& model, std::deque<Running>& running);
  void under_lock(World& world, const Operation& op, Model& model);
  void take_turn(int target);
  void take_lock(int target);
  void hand_over_lock(int target);
  void give_locks_back(const World& world);
  void expose(World& world);
  void access(World& world, int thread);
  void check_memory(World& world);

  Sync sync_;
  int threads_, epochs_ = 1;
  std::size_t slice_;
  Element element_;
  Operation::Op common_;
  bool exclusive_;
  std::vector<std::deque<Operation>> authors_;
  SpareMemory spare_;

  int step_ = 0;
  Window window_;
  MPI_Group group_ = MPI_GROUP_NULL;
  std::deque<std::atomic<bool>> busy_;  // targets: a process locks each once at a time
  // The target whose lock the first thread must release. One at a time, or ranks wait in a circle.
  std::atomic<int> handed_over_{kNone};
  std::atomic<int> operating_{0};  // threads that have not issued all their operations
};

SharedWindow::SharedWindow(Draw& draw, const Scale& scale) : spare_(draw) {
  constexpr Window::Flavor kFlavors[] = {Window::kCreate, Window::kAllocate, Window::kDynamic,
                                         Window::kShared};
  window_.flavor = kFlavors[draw.below(scale.one_host ? 4 : 3)];
  if (draw.one_in(3)) window_.flavor = Window::kDynamic;
  sync_ = draw.pick({kLockAll, kLockAll, kLockAll, kLocks, kLocks, kEpochs});
  threads_ = draw.in(2, 4);
  window_.unit = draw.pick({1, 4, 8, 16});
  slice_ = draw.pick<std::size_t>({256, 2048, 20480, 65536, 143360});
  element_ = static_cast<Element>(draw.below(kElements));
  common_ = draw_common(draw, element_);
  exclusive_ = draw.one_in(2);
  authors_.resize(static_cast<std::size_t>(scale.roles * threads_));
  const bool many = draw.one_in(2);
  for (int author = 0; author < scale.roles * threads_; ++author) {
    // In epochs one thread is the origin and another the target; with locks one thread releases.
    if ((sync_ == kEpochs && author % threads_ != 1) || (sync_ == kLocks && author % threads_ == 0))
      continue;
    draw_operations(draw, author, many ? draw.count(150) : draw.in(1, 12));
  }
}

Operation SharedWindow::draw_one(Draw& draw, std::size_t room) {
  const bool shared = element_ != Element::kRecord && draw.one_in(6);
  Operation op = draw_operation(draw, element_, shared ? kSharedBytes : room);
  if (shared) update_shared(op, draw, common_);
  return op;
}

void SharedWindow::draw_operations(Draw& draw, int author, int count) {
  const int roles = static_cast<int>(authors_.size()) / threads_;
  std::vector<std::size_t> used(static_cast<std::size_t>(roles));
  std::size_t moved = 0;
  const int one = draw.in(0, roles - 1);
  int ends = 0;
  for (int i = 0; i < count && moved < 1000000; ++i) {
    const int target = draw.one_in(2) ? one : draw.in(0, roles - 1);
    std::size_t& at = used[static_cast<std::size_t>(target)];
    const std::size_t room = slice_ - at;
    if (room < 64) break;
    Operation op = draw_one(draw, count > 12 ? std::min<std::size_t>(room, 1000) : room);
    op.origin = author;
    op.target = target;
    if (!op.shared) {
      op.offset = at;
      at += (op.there.bytes() + 15) / 16 * 16;
    }
    moved += op.there.packed();
    ends += ends_epoch(op);
    if (completes(op)) {
      at = 0;
      if (op.flush == 2) used.assign(used.size(), 0);
    }
    authors_[static_cast<std::size_t>(author)].push_back(std::move(op));
  }
  epochs_ = std::max(epochs_, ends + 1);
}

std::string SharedWindow::text() const {
  const char* const syncs[] = {"lock_all", "locks", "epochs"};
  std::string text = std::to_string(threads_) + " threads in a " + window_.text(slice_) + ", " +
                     syncs[sync_] + ", " + name_of(element_);
  if (detaches()) text += ", " + spare_.text();
  for (int thread = 0; thread < threads_; ++thread) {
    std::string operations;
    for (std::size_t author = static_cast<std::size_t>(thread); author < authors_.size();
         author += static_cast<std::size_t>(threads_))
      for (const Operation& op : authors_[author]) operations += "\n      " + op.text();
    if (operations.empty()) continue;
    text += "\n" + std::to_string(number_of(step_, thread, 0)) + ": thread " +
            std::to_string(thread) + operations;
  }
  return text;
}

void SharedWindow::cut(const Cuts& cuts, int step) {
  step_ = step;
  for (std::size_t author = 0; author < authors_.size(); ++author)
    if (cuts.has(number_of(step, static_cast<int>(author) % threads_, 0))) authors_[author].clear();
}

// --- The window ---

void SharedWindow::prepare(World& world, int) {
  window_.make(world, bytes());
  if (window_.flavor == Window::kDynamic)
    spare_.prepare(world, window_.win, window_.memory, static_cast<MPI_Aint>(bytes()));
  MPI_Comm_group(world.all.comm, &group_);
  for (std::size_t i = 0; i < world.all.members.size(); ++i) busy_.emplace_back(false);
  // No rank writes before all memory is clean.
  MPI_Barrier(world.all.comm);
}

// --- The threads ---

void SharedWindow::issue_one(World& world, const Operation& op, Model& model,
                             std::deque<Running>& running) {
  const int target = world.all.rank_of(op.target);
  running.emplace_back();
  std::vector<char>& of = model[static_cast<std::size_t>(op.target)];
  issue(running.back(), op, of.data() + (op.shared ? slice_ : 0), target,
        window_.displacement(target, place(op) + op.offset), sync_ != kEpochs, window_.win);
}

void SharedWindow::take_turn(int target) {
  watch_call("waits for its turn");
  while (busy_[static_cast<std::size_t>(target)].exchange(true)) std::this_thread::yield();
}

void SharedWindow::take_lock(int target) {
  watch_call("MPI_Win_lock");
  MPI_Win_lock(exclusive_ ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, window_.win);
}

// No operation has needed the lock, so the next lock of this thread requests it while another thread releases it.
void SharedWindow::hand_over_lock(int target) {
  take_turn(target);
  for (int none = kNone; !handed_over_.compare_exchange_weak(none, kReserved); none = kNone)
    std::this_thread::yield();
  take_lock(target);
  handed_over_ = target;
}

void SharedWindow::give_locks_back(const World& world) {
  watch_call("gives locks back");
  Draw draw(mixed(world.seed, static_cast<std::uint64_t>(world.me)));
  while (operating_ > 0 || handed_over_ != kNone) {
    const int target = handed_over_;
    if (target < 0) {
      std::this_thread::yield();
      continue;
    }
    // Mostly so long that the other thread has requested the lock, and its grant has not come.
    if (!draw.one_in(4)) pause_seconds(static_cast<double>(draw.below(100)) / 1e6);
    MPI_Win_unlock(target, window_.win);
    busy_[static_cast<std::size_t>(target)] = false;
    handed_over_ = kNone;
  }
}

void SharedWindow::under_lock(World& world, const Operation& op, Model& model) {
  const int target = world.all.rank_of(op.target);
  std::deque<Running> running;
  for (int left = op.flush * 5; left > 0; --left) {
    hand_over_lock((target + op.flush) % world.all.size());
    take_turn(target);
    take_lock(target);
    MPI_Win_unlock(target, window_.win);
    busy_[static_cast<std::size_t>(target)] = false;
  }
  take_turn(target);
  take_lock(target);
  issue_one(world, op, model, running);
  MPI_Wait(&running.back().request, MPI_STATUS_IGNORE);
  watch_call("MPI_Win_unlock");
  MPI_Win_unlock(target, window_.win);
  busy_[static_cast<std::size_t>(target)] = false;
  check(running.back());
}

void SharedWindow::operate(World& world, int thread) {
  const std::vector<char> clean(slice_ + kSharedBytes);
  Model model(static_cast<std::size_t>(world.roles), clean);
  std::deque<Running> running;
  for (const Operation& op : authors_[author_of(world.me, thread)]) {
    if (!world.active(op.target)) continue;
    watch_call("issues operations");
    if (sync_ == kLocks) {
      under_lock(world, op, model);
    } else {
      issue_one(world, op, model, running);
      flush_after(op, world.all.rank_of(op.target), window_.win);
    }
    spare_.passed();
  }
  watch_call("waits for requests of operations");
  for (Running& r : running) MPI_Wait(&r.request, MPI_STATUS_IGNORE);
  if (sync_ == kLockAll) MPI_Win_flush_all(window_.win);
  for (const Running& r : running) check(r);
}

void SharedWindow::expose(World&) {
  for (int epoch = 0; epoch < epochs_; ++epoch) {
    watch_call("MPI_Win_post");
    MPI_Win_post(group_, 0, window_.win);
    watch_call("MPI_Win_wait");
    MPI_Win_wait(window_.win);
  }
}

void SharedWindow::access(World& world, int thread) {
  const std::vector<char> clean(slice_ + kSharedBytes);
  Model model(static_cast<std::size_t>(world.roles), clean);
  const std::deque<Operation>& operations = authors_[author_of(world.me, thread)];
  auto next = operations.begin();
  for (int epoch = 0; epoch < epochs_; ++epoch) {
    std::deque<Running> running;
    watch_call("MPI_Win_start");
    MPI_Win_start(group_, 0, window_.win);
    for (bool over = false; !over && next != operations.end(); ++next) {
      if (world.active(next->target)) issue_one(world, *next, model, running);
      over = ends_epoch(*next);
    }
    watch_call("MPI_Win_complete");
    MPI_Win_complete(window_.win);
    for (const Running& r : running) check(r);
  }
}

void SharedWindow::work(World& world, int thread) {
  const bool attaches = thread == 0 && detaches();
  if (sync_ == kEpochs) {
    if (thread == 0) expose(world);
    if (thread == 1) access(world, thread);
    return;
  }
  if (sync_ == kLocks && thread == 0) {
    give_locks_back(world);
    return;
  }
  if (attaches) spare_.detach_beside(operating_);
  if (thread == 1 && detaches()) spare_.use_word(world);
  operate(world, thread);
  if (thread != 0) --operating_;
  if (attaches) spare_.lend(world);
}

// --- The step ---

void SharedWindow::check_memory(World& world) {
  std::vector<char> should(bytes());
  for (int role : world.all.members)
    for (int thread = 0; thread < threads_; ++thread)
      for (const Operation& op : authors_[author_of(role, thread)])
        if (op.target == world.me) play(op, should.data() + place(op));
  window_.check(world, should, slice_);
}

void SharedWindow::end(World& world, int) {
  if (sync_ == kLockAll) MPI_Win_lock_all(0, window_.win);
  operating_ = threads_ - 1;
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads_; ++thread)
    others.emplace_back([this, &world, thread] {
      watch_thread(thread, world.seed);
      watch_step(step_, text());
      work(world, thread);
      watch_thread_end();
    });
  work(world, 0);
  watch_call("waits for its threads");
  for (std::thread& other : others) other.join();
  watch_call("MPI_Win_unlock_all");
  if (sync_ == kLockAll) MPI_Win_unlock_all(window_.win);
  watch_call("MPI_Barrier of the window");
  MPI_Barrier(world.all.comm);
  check_memory(world);
  MPI_Group_free(&group_);
  window_.free();
  spare_.end();
}

}  // namespace

StepPointer draw_shared_window(Draw& draw, const Scale& scale) {
  return std::make_unique<SharedWindow>(draw, scale);
}

}  // namespace programs
