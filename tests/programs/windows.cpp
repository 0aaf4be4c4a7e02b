// One-sided communication: a window of any flavour, and epochs of all kinds of synchronisation one after the other.
//
// What MPI leaves open is not drawn: each origin has a slice of each window, where its operations of an epoch do not
// overlap unless they are accumulates in a row, and there is a part that all update by one commutative operation.
#include <algorithm>
#include <cstring>
#include <deque>

#include "operation.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

enum Flavor { kCreate, kAllocate, kShared, kDynamic, kFlavors };
enum Sync { kFence, kPost, kLock, kLockAll, kSyncs };

struct Phase {
  Sync sync;
  bool exclusive, test;
  std::vector<Entry> entries;
  std::deque<Operation> operations;
};

constexpr std::size_t kSharedBytes = 4096;

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
  // In the model: the whole of this process's own window, of others its own slice and the shared part.
  char* model(const World& world, const Operation& op) {
    std::vector<char>& of = models_[static_cast<std::size_t>(op.target)];
    return of.data() + (op.target == world.me ? place(op) : op.shared ? slice_ : 0);
  }
  void attach(World& world);
  void run(World& world, int step, const Phase& phase);
  void open(World& world, int step, const Phase& phase);
  void close(World& world, const Phase& phase);
  void issue_all(World& world, const Phase& phase);
  void issue_one(World& world, const Phase& phase, const Operation& op);
  MPI_Group partners(const World& world, const Phase& phase, bool as_origin) const;
  void check_memory(World& world);

  bool stock_;
  Flavor flavor_;
  int unit_, pieces_;
  std::size_t slice_;
  Element element_;
  Operation::Op common_;
  std::deque<Phase> phases_;

  MPI_Win win_ = MPI_WIN_NULL;
  std::vector<char> own_;  // memory of a created or dynamic window
  char* memory_ = nullptr;
  std::vector<MPI_Aint> bases_;  // of dynamic windows
  std::vector<std::vector<char>>
      models_;  // of each role's memory, as far as this process has to know it
  std::deque<Running> running_;
};

Windows::Windows(Draw& draw, const Scale& scale) : stock_(scale.stock) {
  flavor_ = static_cast<Flavor>(draw.below(scale.one_host ? kFlavors : kFlavors - 1));
  if (!scale.one_host && flavor_ == kShared) flavor_ = kDynamic;
  unit_ = draw.pick({1, 4, 8, 16});
  pieces_ = draw.in(0, 2);
  slice_ = draw.pick<std::size_t>({2048, 20480, 143360, 143360, 614400, 1228800});
  element_ = static_cast<Element>(draw.below(kElements));
  do {
    common_ = draw.pick({Operation::kSum, Operation::kMax, Operation::kXor});
  } while (element_ != Element::kRecord && !allowed(common_, element_));
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
    op.shared = shared;
    if (shared) {
      op.kind = op.kind == Operation::kFetchAndOp || op.kind == Operation::kCompareAndSwap
                    ? Operation::kFetchAndOp
                : op.fetches() ? Operation::kGetAccumulate
                               : Operation::kAccumulate;
      op.op = common_;
      op.offset = draw.below((kSharedBytes - op.there.bytes()) / 16 + 1) * 16;
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
  const char* const flavors[] = {"created", "allocated", "shared", "dynamic"};
  const char* const syncs[] = {"fence", "post", "lock", "lock_all"};
  std::string text = std::string(flavors[flavor_]) + " window of " + std::to_string(slice_) +
                     " bytes each, " + name_of(element_);
  for (const Phase& phase : phases_) {
    text += std::string("; ") + syncs[phase.sync] + text_of(phase.entries) + ":";
    for (const Operation& op : phase.operations) text += "\n      " + op.text();
  }
  return text;
}

// --- The window ---

void Windows::attach(World& world) {
  MPI_Win_create_dynamic(MPI_INFO_NULL, world.all.comm, &win_);
  // In one piece, one for each origin and the shared part, or neighbouring halves of them.
  const std::size_t whole = bytes(), slices = whole - kSharedBytes;
  const std::size_t piece = pieces_ == 0 ? whole : slice_ / static_cast<std::size_t>(pieces_);
  for (std::size_t at = 0; at < whole;) {
    const std::size_t size = at < slices || pieces_ == 0 ? std::min(piece, whole - at) : whole - at;
    MPI_Win_attach(win_, memory_ + at, static_cast<MPI_Aint>(size));
    at += size;
  }
  MPI_Aint base;
  MPI_Get_address(memory_, &base);
  bases_.resize(world.all.members.size());
  MPI_Allgather(&base, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, world.all.comm);
}

void Windows::prepare(World& world, int) {
  watch_call("makes a window");
  const MPI_Aint size = static_cast<MPI_Aint>(bytes());
  if (flavor_ == kAllocate) {
    MPI_Win_allocate(size, unit_, MPI_INFO_NULL, world.all.comm, &memory_, &win_);
  } else if (flavor_ == kShared) {
    MPI_Win_allocate_shared(size, unit_, MPI_INFO_NULL, world.all.comm, &memory_, &win_);
  } else {
    own_.resize(bytes() + 16);
    memory_ = own_.data() + (16 - reinterpret_cast<std::uintptr_t>(own_.data()) % 16);
  }
  std::memset(memory_, 0, bytes());
  if (flavor_ == kCreate)
    MPI_Win_create(memory_, size, unit_, MPI_INFO_NULL, world.all.comm, &win_);
  if (flavor_ == kDynamic) attach(world);
  watch_window(win_);
  for (int role = 0; role < world.roles; ++role)
    models_[static_cast<std::size_t>(role)].assign(
        role == world.me ? bytes() : slice_ + kSharedBytes, 0);
  // Nobody writes before all memory is clean.
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
    MPI_Win_fence(0, win_);
  } else if (phase.sync == kPost) {
    MPI_Group targets = partners(world, phase, true), origins = partners(world, phase, false);
    watch_call("MPI_Win_post");
    MPI_Win_post(origins, 0, win_);
    world.begun(step, phase.entries);
    watch_call("MPI_Win_start");
    MPI_Win_start(targets, 0, win_);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
  } else if (phase.sync == kLockAll) {
    watch_call("MPI_Win_lock_all");
    MPI_Win_lock_all(0, win_);
  }
}

void Windows::close(World& world, const Phase& phase) {
  (void)world;
  if (phase.sync == kFence) {
    watch_call("closing MPI_Win_fence");
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
  } else if (phase.sync == kPost) {
    watch_call("MPI_Win_complete");
    MPI_Win_complete(win_);
    watch_call("MPI_Win_wait");
    if (phase.test)
      for (int done = 0; !done;) MPI_Win_test(win_, &done);
    else
      MPI_Win_wait(win_);
  } else if (phase.sync == kLockAll) {
    watch_call("MPI_Win_unlock_all");
    MPI_Win_unlock_all(win_);
  }
}

void Windows::issue_one(World& world, const Phase& phase, const Operation& op) {
  const int target = world.all.rank_of(op.target);
  const MPI_Aint at = static_cast<MPI_Aint>(place(op) + op.offset);
  const MPI_Aint displacement =
      flavor_ == kDynamic ? bases_[static_cast<std::size_t>(target)] + at : at / unit_;
  const bool passive = phase.sync >= kLock;
  running_.emplace_back();
  issue(running_.back(), op, model(world, op), target, displacement, passive, win_);
  if (phase.sync != kLockAll) return;
  watch_call("MPI_Win_flush");
  switch (op.flush) {
    case 1: MPI_Win_flush(target, win_); break;
    case 2: MPI_Win_flush_all(win_); break;
    case 3: MPI_Win_flush_local(target, win_); break;
    default: break;
  }
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
                   world.all.rank_of(op.target), 0, win_);
    }
    watch_call("issues operations");
    issue_one(world, phase, op);
    if (phase.sync == kLock) {
      watch_call("MPI_Win_unlock");
      MPI_Wait(&running_.back().request, MPI_STATUS_IGNORE);
      MPI_Win_unlock(world.all.rank_of(op.target), win_);
    }
  }
}

void Windows::run(World& world, int step, const Phase& phase) {
  open(world, step, phase);
  issue_all(world, phase);
  watch_call("waits for requests of operations");
  for (Running& r : running_) MPI_Wait(&r.request, MPI_STATUS_IGNORE);
  close(world, phase);
  // Passive epochs need nobody else: others may come only when this one is through.
  if (phase.sync >= kLock) world.begun(step, phase.entries);
  for (const Running& r : running_) check(r);
  running_.clear();
}

void Windows::check_memory(World& world) {
  watch_call("looks at its window");
  const int rank = world.all.rank_of(world.me);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win_);
  MPI_Win_sync(win_);
  const std::vector<char>& should = models_[static_cast<std::size_t>(world.me)];
  for (std::size_t at = 0; at < bytes(); ++at)
    if (memory_[at] != should[at])
      fail("byte %zu of the slice of %zu is %02x, not %02x", at % slice_, at / slice_,
           static_cast<unsigned char>(memory_[at]), static_cast<unsigned char>(should[at]));
  world.note(memory_, bytes(), slice_);
  MPI_Win_unlock(rank, win_);
}

void Windows::end(World& world, int step) {
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    run(world, step, phases_[i]);
    // Epochs of different kinds must not meet.
    watch_call("barrier between epochs");
    MPI_Barrier(world.all.comm);
  }
  check_memory(world);
  watch_call("MPI_Win_free");
  MPI_Win_free(&win_);
  own_.clear();
  models_.clear();
}

}  // namespace

StepPointer draw_windows(Draw& draw, const Scale& scale) {
  return std::make_unique<Windows>(draw, scale);
}

}  // namespace programs
