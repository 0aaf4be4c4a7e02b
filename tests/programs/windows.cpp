// One-sided communication: a window of any flavour, and epochs of all kinds of synchronisation one after the other.
//
// Cases that MPI leaves open are not drawn. Each origin has a slice of each window, where its operations of an
// epoch do not overlap unless they are accumulates in a row. All origins update another part by one commutative
// operation.
#include <algorithm>
#include <cstring>
#include <deque>

#include "operation.hpp"
#include "step.hpp"
#include "watch.hpp"
#include "window.hpp"

namespace programs {
namespace {

enum Sync { kFence, kPost, kLock, kLockAll, kSyncs };

struct Phase {
  Sync sync;
  bool exclusive, test;
  std::vector<Entry> entries;
  std::deque<Operation> operations;
};

class Windows : public Step {
 public:
  Windows(Draw& draw, const Scale& scale);
  std::string text() const override;
  void prepare(World& world, int step) override;
  void end(World& world, int step) override;

 private:
  void draw_phase(Draw& draw, const Scale& scale, Phase& phase);
  void draw_operations(Draw& draw, Phase& phase, int origin, int count);
  std::size_t bytes() const { return slice_ * models_.size() + kSharedBytes; }
  std::size_t slice_of(int origin) const { return slice_ * static_cast<std::size_t>(origin); }
  std::size_t place(const Operation& op) const {
    return op.shared ? slice_ * models_.size() : slice_of(op.origin);
  }
  // The model contains the whole of this process's own window; of other windows, its slice and the shared part.
  char* model(const World& world, const Operation& op) {
    std::vector<char>& of = models_[static_cast<std::size_t>(op.target)];
    return of.data() + (op.target == world.me ? place(op) : op.shared ? slice_ : 0);
  }
  void attach();
  void run(World& world, int step, const Phase& phase);
  void open(World& world, int step, const Phase& phase);
  void close(World& world, const Phase& phase);
  void issue_all(World& world, const Phase& phase);
  void issue_one(World& world, const Phase& phase, const Operation& op);
  MPI_Group partners(const World& world, const Phase& phase, bool as_origin) const;

  bool stock_;
  int pieces_;
  std::size_t slice_;
  Element element_;
  Operation::Op common_;
  std::deque<Phase> phases_;

  Window window_;
  std::vector<std::vector<char>>
      models_;  // of each role's memory, as far as this process has to know it
  std::deque<Running> running_;
};

Windows::Windows(Draw& draw, const Scale& scale) : stock_(scale.stock) {
  window_.flavor = static_cast<Window::Flavor>(
      draw.below(scale.one_host ? Window::kFlavors : Window::kFlavors - 1));
  if (!scale.one_host && window_.flavor == Window::kShared) window_.flavor = Window::kDynamic;
  window_.unit = draw.pick({1, 4, 8, 16});
  pieces_ = draw.in(0, 2);
  slice_ = draw.pick<std::size_t>({2048, 20480, 143360, 143360, 614400, 1228800});
  element_ = static_cast<Element>(draw.below(kElements));
  common_ = draw_common(draw, element_);
  models_.resize(static_cast<std::size_t>(scale.roles));
  phases_.resize(1 + draw.below(3));
  for (Phase& phase : phases_) draw_phase(draw, scale, phase);
}

void Windows::draw_phase(Draw& draw, const Scale& scale, Phase& phase) {
  phase.sync = static_cast<Sync>(draw.below(kSyncs));
  phase.exclusive = draw.one_in(2);
  phase.test = draw.one_in(2);
  phase.entries = draw_entries(draw, scale.roles);
  for (int origin = 0; origin < scale.roles; ++origin) {
    if (draw.one_in(4)) continue;
    draw_operations(draw, phase, origin, draw.one_in(6) ? draw.count(150) : draw.in(1, 5));
  }
}

void Windows::draw_operations(Draw& draw, Phase& phase, int origin, int count) {
  const int roles = static_cast<int>(models_.size());
  const bool gets_only = draw.one_in(4),
             irregular = gets_only && count <= 8 && slice_ > kBulk && draw.one_in(2);
  std::vector<std::size_t> used(models_.size());
  std::vector<const Operation*> last(models_.size());
  std::size_t moved = 0;
  const int one = draw.in(0, roles - 1);
  for (int i = 0; i < count && moved < 3000000; ++i) {
    const int target = draw.one_in(2) ? one : draw.in(0, roles - 1);
    std::size_t& at = used[static_cast<std::size_t>(target)];
    const Operation*& before = last[static_cast<std::size_t>(target)];
    const bool shared = element_ != Element::kRecord && !irregular && draw.one_in(6);
    const std::size_t room = shared ? kSharedBytes : gets_only ? slice_ : slice_ - at;
    if (room < 64) break;
    Operation op =
        draw_operation(draw, element_, count > 8 ? std::min<std::size_t>(room, 1000) : room);
    op.origin = origin;
    op.target = target;
    if (shared) {
      update_shared(op, draw, common_);
    } else if (gets_only) {
      op.kind = Operation::kGet;
      op.offset = draw.below((room - op.there.bytes()) / 16 + 1) * 16;
    } else if (before != nullptr && op.updates() && before->updates() && draw.one_in(3) &&
               !stock_) {
      // Accumulates of one origin to one place keep their order; osc pt2pt does not always.
      op.here = before->here, op.there = before->there, op.result = before->result;
      op.offset = before->offset;
      if (op.kind >= Operation::kFetchAndOp && !op.one_element()) op.kind = Operation::kAccumulate;
      if (op.kind == Operation::kAccumulate && op.op == Operation::kNoOp)
        op.kind = Operation::kGetAccumulate;
    } else {
      op.offset = at;
      at += (op.there.bytes() + 15) / 16 * 16;
    }
    moved += op.there.packed();
    // Each lock is an epoch of its own.
    if (phase.sync == kLock) at = 0;
    phase.operations.push_back(std::move(op));
    before = shared || phase.sync == kLock ? nullptr : &phase.operations.back();
  }
}

std::string Windows::text() const {
  const char* const syncs[] = {"fence", "post", "lock", "lock_all"};
  std::string text = window_.text(slice_) + ", " + name_of(element_);
  for (const Phase& phase : phases_) {
    text += std::string("; ") + syncs[phase.sync] + text_of(phase.entries) + ":";
    for (const Operation& op : phase.operations) text += "\n      " + op.text();
  }
  return text;
}

// --- The window ---

void Windows::attach() {
  // In one piece, one for each origin and the shared part, or neighbouring halves of them.
  const std::size_t whole = bytes(), slices = whole - kSharedBytes;
  const std::size_t piece = pieces_ == 0 ? whole : slice_ / static_cast<std::size_t>(pieces_);
  for (std::size_t at = 0; at < whole;) {
    const std::size_t size = at < slices || pieces_ == 0 ? std::min(piece, whole - at) : whole - at;
    MPI_Win_attach(window_.win, window_.memory + at, static_cast<MPI_Aint>(size));
    at += size;
  }
}

void Windows::prepare(World& world, int) {
  window_.make(world, bytes());
  if (window_.flavor == Window::kDynamic) attach();
  for (int role = 0; role < world.roles; ++role)
    models_[static_cast<std::size_t>(role)].assign(
        role == world.me ? bytes() : slice_ + kSharedBytes, 0);
  // No rank writes before all memory is clean.
  MPI_Barrier(world.all.comm);
}

// --- Epochs ---

MPI_Group Windows::partners(const World& world, const Phase& phase, bool as_origin) const {
  std::vector<int> ranks;
  for (int role : world.all.members)
    for (const Operation& op : phase.operations)
      if ((as_origin ? op.origin : op.target) == world.me &&
          (as_origin ? op.target : op.origin) == role) {
        ranks.push_back(world.all.rank_of(role));
        break;
      }
  MPI_Group all, some;
  MPI_Comm_group(world.all.comm, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
  MPI_Group_free(&all);
  return some;
}

void Windows::open(World& world, int step, const Phase& phase) {
  world.enter(step, phase.entries);
  if (phase.sync == kFence) {
    world.begun(step, phase.entries);
    watch_call("MPI_Win_fence");
    MPI_Win_fence(0, window_.win);
  } else if (phase.sync == kPost) {
    MPI_Group targets = partners(world, phase, true), origins = partners(world, phase, false);
    watch_call("MPI_Win_post");
    MPI_Win_post(origins, 0, window_.win);
    world.begun(step, phase.entries);
    watch_call("MPI_Win_start");
    MPI_Win_start(targets, 0, window_.win);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
  } else if (phase.sync == kLockAll) {
    watch_call("MPI_Win_lock_all");
    MPI_Win_lock_all(0, window_.win);
  }
}

void Windows::close(World& world, const Phase& phase) {
  (void)world;
  if (phase.sync == kFence) {
    watch_call("closing MPI_Win_fence");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.win);
  } else if (phase.sync == kPost) {
    watch_call("MPI_Win_complete");
    MPI_Win_complete(window_.win);
    watch_call("MPI_Win_wait");
    if (phase.test)
      for (int done = 0; !done;) MPI_Win_test(window_.win, &done);
    else
      MPI_Win_wait(window_.win);
  } else if (phase.sync == kLockAll) {
    watch_call("MPI_Win_unlock_all");
    MPI_Win_unlock_all(window_.win);
  }
}

void Windows::issue_one(World& world, const Phase& phase, const Operation& op) {
  const int target = world.all.rank_of(op.target);
  const MPI_Aint displacement = window_.displacement(target, place(op) + op.offset);
  const bool passive = phase.sync >= kLock;
  running_.emplace_back();
  issue(running_.back(), op, model(world, op), target, displacement, passive, window_.win);
  if (phase.sync == kLockAll) flush_after(op, target, window_.win);
}

void Windows::issue_all(World& world, const Phase& phase) {
  for (const Operation& op : phase.operations) {
    if (!world.active(op.origin) || !world.active(op.target)) continue;
    if (op.origin != world.me) {
      if (op.target == world.me) play(op, model(world, op));
      continue;
    }
    if (phase.sync == kLock) {
      watch_call("MPI_Win_lock");
      MPI_Win_lock(phase.exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED,
                   world.all.rank_of(op.target), 0, window_.win);
    }
    watch_call("issues operations");
    issue_one(world, phase, op);
    if (phase.sync == kLock) {
      watch_call("MPI_Win_unlock");
      MPI_Wait(&running_.back().request, MPI_STATUS_IGNORE);
      MPI_Win_unlock(world.all.rank_of(op.target), window_.win);
    }
  }
}

void Windows::run(World& world, int step, const Phase& phase) {
  open(world, step, phase);
  issue_all(world, phase);
  watch_call("waits for requests of operations");
  for (Running& r : running_) MPI_Wait(&r.request, MPI_STATUS_IGNORE);
  close(world, phase);
  // Passive epochs need no other rank: others may come only when this one is through.
  if (phase.sync >= kLock) world.begun(step, phase.entries);
  for (const Running& r : running_) check(r);
  running_.clear();
}

void Windows::end(World& world, int step) {
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    run(world, step, phases_[i]);
    // Epochs of different kinds must not meet.
    watch_call("barrier between epochs");
    MPI_Barrier(world.all.comm);
  }
  window_.check(world, models_[static_cast<std::size_t>(world.me)], slice_);
  window_.free();
  models_.clear();
}

}  // namespace

StepPointer draw_windows(Draw& draw, const Scale& scale) {
  return std::make_unique<Windows>(draw, scale);
}

}  // namespace programs
