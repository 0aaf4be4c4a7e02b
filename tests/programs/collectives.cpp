// Collectives on drawn communicators: every call, blocking and not, one or a row of them, in place, with layouts
// that differ between ranks; and communicators that come and go.
#include <cstring>

#include "layout.hpp"
#include "reduction.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

enum class Call {
  kBcast,
  kReduce,
  kAllreduce,
  kBarrier,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kReduceScatter,
  kScan,
  kExscan
};
constexpr int kCalls = 11;
const char* name_of(Call call) {
  const char* const names[] = {"bcast",          "reduce",  "allreduce", "barrier",
                               "gather",         "scatter", "allgather", "alltoall",
                               "reduce_scatter", "scan",    "exscan"};
  return names[static_cast<int>(call)];
}

// The buffers of one call of a row until it has ended.
struct Hand {
  std::vector<char> in, out, should;
  std::vector<int> counts, places, none;
};

class Collective : public Step {
 public:
  Collective(Draw& draw, const Scale& scale);
  std::string text() const override;
  void arrange(Draw& draw, std::vector<Entry>& entries) const override;
  void begin(World& world, int step) override;
  void end(World& world, int step) override;

 private:
  bool reduces() const {
    return call_ == Call::kReduce || call_ == Call::kAllreduce || call_ >= Call::kReduceScatter;
  }
  std::uint64_t key(int index, int rank) const {
    return mixed(key_ + static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(rank));
  }
  std::vector<char> block(int index, int from, int to) const;
  int count_of(int from, int to) const;
  void issue(const Circle& circle, int index, MPI_Request* request);
  void bcast(const Circle& circle, int index, Hand& hand, MPI_Request* request);
  void reduce(const Circle& circle, int index, Hand& hand, MPI_Request* request);
  void move(const Circle& circle, int index, Hand& hand, MPI_Request* request);
  void place_blocks(const Circle& circle, Hand& hand, bool out_of_order) const;
  void check(World& world, const Circle& circle, int index);

  Call call_;
  int circle_, root_ = 0, repeat_ = 1;
  bool blocking_, in_place_, unequal_;
  Element element_;
  std::size_t total_;
  Reduction reduction_;
  std::vector<Layout> layouts_;  // of a broadcast, by role
  std::uint64_t key_;
  std::vector<Hand> hands_;
  std::vector<MPI_Request> requests_;
};

Collective::Collective(Draw& draw, const Scale& scale) {
  call_ = draw.one_in(3) ? draw.pick({Call::kBcast, Call::kReduce, Call::kAllreduce})
                         : static_cast<Call>(draw.below(kCalls));
  circle_ = draw.one_in(2) ? 0 : draw.in(0, World::kCircles - 1);
  root_ = draw.in(0, 1 << 20);
  blocking_ = draw.one_in(2);
  in_place_ = draw.one_in(4);
  unequal_ = draw.one_in(2);
  if (draw.one_in(5)) repeat_ = draw.count(scale.count);
  element_ = static_cast<Element>(draw.below(kElements));
  reduction_ = draw_reduction(draw);
  std::size_t bytes = draw.bytes(scale.bytes);
  if (repeat_ > 8) bytes %= 2000;
  // Thousands of small ones: collectives that run ahead of a host must not hold up one that the host waits for.
  if (scale.many_hosts && draw.one_in(12)) {
    call_ = draw.pick({Call::kBcast, Call::kBcast, Call::kAllreduce});
    blocking_ = draw.one_in(3);
    repeat_ = draw.in(1000, 3000);
    bytes = draw.pick<std::size_t>({500, 513, 600, 1024, 2000});
    circle_ = 0;
  }
  if (call_ >= Call::kGather && call_ <= Call::kAlltoall)
    bytes /= draw.one_in(2) ? 1 : static_cast<std::size_t>(scale.roles);
  total_ = bytes / (reduces() ? reduction_.size() : size_of(element_));
  for (int role = 0; role < scale.roles; ++role)
    layouts_.push_back(draw_layout(draw, element_, total_));
  key_ = draw.next();
}

std::string Collective::text() const {
  std::string text = repeat_ == 1 ? "" : std::to_string(repeat_) + " times ";
  text += std::string(blocking_ ? "" : "i") + name_of(call_) + (unequal_ ? " (unequal)" : "") +
          (in_place_ ? " in place" : "") + " on communicator " + std::to_string(circle_) +
          ", root " + std::to_string(root_) + ", " + std::to_string(total_) + " ";
  return text + (reduces() ? reduction_.text() : programs::name_of(element_));
}

// A row of thousands: the root runs ahead as far as it may before it lets the others come; or one that comes late lets
// in another, while all else is under way.
void Collective::arrange(Draw& draw, std::vector<Entry>& entries) const {
  if (repeat_ < 1000) return;
  const int roles = static_cast<int>(entries.size());
  const int root = root_ % roles;
  entries.assign(entries.size(), Entry());
  if (!blocking_) entries[static_cast<std::size_t>(root)].stays = draw.in(20, 150);
  const int late = (root + draw.in(1, roles - 1)) % roles;
  if (blocking_) {
    entries[static_cast<std::size_t>(late)].how = draw.pick({Entry::kSleep, Entry::kCompute});
    entries[static_cast<std::size_t>(late)].milliseconds = draw.in(20, 150);
  }
  for (int role = 0; role < roles; ++role)
    if (role != root && role != late && draw.one_in(2))
      entries[static_cast<std::size_t>(role)].waits_for = blocking_ ? late : root;
  if (!blocking_) entries[static_cast<std::size_t>(late)].waits_for = root;
}

// --- Broadcast ---

void Collective::bcast(const Circle& circle, int index, Hand& hand, MPI_Request* request) {
  int rank;
  MPI_Comm_rank(circle.comm, &rank);
  const int root = root_ % circle.size();
  const Layout& l =
      layouts_[static_cast<std::size_t>(circle.members[static_cast<std::size_t>(rank)])];
  hand.should = spread(l, contents(key(index, root), l.packed()));
  hand.out = rank == root ? hand.should : marked(l);
  const Typed type(l);
  if (blocking_)
    MPI_Bcast(hand.out.data(), l.count, type.type, root, circle.comm);
  else
    MPI_Ibcast(hand.out.data(), l.count, type.type, root, circle.comm, request);
}

// --- Reductions ---

void Collective::reduce(const Circle& circle, int index, Hand& hand, MPI_Request* request) {
  int rank;
  MPI_Comm_rank(circle.comm, &rank);
  const int size = circle.size(), root = root_ % size;
  const bool scatters = call_ == Call::kReduceScatter;
  const std::size_t all = total_ * (scatters ? static_cast<std::size_t>(size) : 1);
  const int count = static_cast<int>(total_);
  const bool gets = call_ != Call::kReduce || rank == root;
  const int last = call_ == Call::kScan ? rank : call_ == Call::kExscan ? rank - 1 : size - 1;
  const bool in_place = in_place_ && gets;
  const auto part = [&](int of) { return reduction_.operand(key(index, of), all); };
  hand.in = part(rank);
  if (gets) {
    std::vector<char> result = last < 0 ? std::vector<char>(hand.in.size(), kMark) : part(0);
    for (int of = 1; of <= last; ++of) reduction_.combine(result, part(of));
    const std::size_t bytes = total_ * reduction_.size();
    const std::size_t from = scatters ? bytes * static_cast<std::size_t>(rank) : 0;
    hand.should.assign(result.begin() + static_cast<std::ptrdiff_t>(from),
                       result.begin() + static_cast<std::ptrdiff_t>(from + bytes));
    hand.out = in_place ? hand.in : std::vector<char>(hand.should.size(), kMark);
    // Exscan leaves rank 0's result open.
    if (last < 0) hand.should.clear();
  }
  const void* in = in_place ? MPI_IN_PLACE : hand.in.data();
  void* out = gets ? hand.out.data() : nullptr;
  const MPI_Datatype type = reduction_.type();
  const MPI_Op op = reduction_.op();
  hand.counts.assign(static_cast<std::size_t>(size), count);
  switch (call_) {
    case Call::kReduce:
      if (blocking_)
        MPI_Reduce(in, out, count, type, op, root, circle.comm);
      else
        MPI_Ireduce(in, out, count, type, op, root, circle.comm, request);
      break;
    case Call::kAllreduce:
      if (blocking_)
        MPI_Allreduce(in, out, count, type, op, circle.comm);
      else
        MPI_Iallreduce(in, out, count, type, op, circle.comm, request);
      break;
    case Call::kReduceScatter:
      if (blocking_ && unequal_)
        MPI_Reduce_scatter(in, out, hand.counts.data(), type, op, circle.comm);
      else if (blocking_)
        MPI_Reduce_scatter_block(in, out, count, type, op, circle.comm);
      else if (unequal_)
        MPI_Ireduce_scatter(in, out, hand.counts.data(), type, op, circle.comm, request);
      else
        MPI_Ireduce_scatter_block(in, out, count, type, op, circle.comm, request);
      break;
    case Call::kScan:
      if (blocking_)
        MPI_Scan(in, out, count, type, op, circle.comm);
      else
        MPI_Iscan(in, out, count, type, op, circle.comm, request);
      break;
    default:
      if (blocking_)
        MPI_Exscan(in, out, count, type, op, circle.comm);
      else
        MPI_Iexscan(in, out, count, type, op, circle.comm, request);
  }
}

// --- Those that move blocks ---

int Collective::count_of(int from, int to) const {
  const int count = static_cast<int>(total_);
  if (!unequal_) return count;
  const int which = call_ == Call::kScatter ? to : call_ == Call::kAlltoall ? from + 2 * to : from;
  return count * static_cast<int>(mixed(key_, static_cast<std::uint64_t>(which)) % 3) / 2;
}

std::vector<char> Collective::block(int index, int from, int to) const {
  const std::uint64_t seed = call_ == Call::kAlltoall || call_ == Call::kScatter
                                 ? key(index, from * 64 + to)
                                 : key(index, from * 64);
  // In memory as the elements are, for a record's hole too.
  const Layout l = contiguous(element_, static_cast<std::size_t>(count_of(from, to)));
  std::vector<char> made = spread(l, contents(seed, l.packed()));
  made.resize(l.bytes());
  return made;
}

void Collective::place_blocks(const Circle& circle, Hand& hand, bool reverse) const {
  const int size = circle.size(), room = static_cast<int>(total_) + (unequal_ ? 1 : 0);
  for (int i = 0; i < size; ++i)
    hand.places.push_back((unequal_ && reverse ? size - 1 - i : i) * room);
}

void Collective::move(const Circle& circle, int index, Hand& hand, MPI_Request* request) {
  int rank;
  MPI_Comm_rank(circle.comm, &rank);
  const int size = circle.size(), root = root_ % size;
  const bool rooted = call_ == Call::kGather || call_ == Call::kScatter;
  const std::size_t room = size_of(element_) * (total_ + 1) * static_cast<std::size_t>(size);
  place_blocks(circle, hand, true);
  const auto place = [&](std::vector<char>& memory, int at, const std::vector<char>& what) {
    std::copy(what.begin(), what.end(),
              memory.begin() + static_cast<std::ptrdiff_t>(size_of(element_)) *
                                   hand.places[static_cast<std::size_t>(at)]);
  };
  // The sides with many blocks: one that sends a block to each rank, and one that receives a block from each.
  const bool many_out = call_ == Call::kAlltoall || (call_ == Call::kScatter && rank == root);
  const bool many_in = call_ == Call::kAlltoall || call_ == Call::kAllgather ||
                       (call_ == Call::kGather && rank == root);
  const bool in_place = in_place_ && call_ != Call::kAlltoall && (!rooted || rank == root);
  if (many_out) {
    hand.in.assign(room, kMark);
    for (int to = 0; to < size; ++to) place(hand.in, to, block(index, rank, to));
  } else if (call_ != Call::kScatter) {
    hand.in = block(index, rank, 0);
  }
  if (many_in) {
    hand.should.assign(room, kMark);
    for (int from = 0; from < size; ++from) place(hand.should, from, block(index, from, rank));
    hand.out.assign(room, kMark);
    if (in_place) place(hand.out, rank, block(index, rank, rank));
  } else if (call_ == Call::kScatter) {
    hand.should = block(index, root, rank);
    hand.out.assign(hand.should.size(), kMark);
    if (in_place) hand.should = hand.out;
  }
  for (int other = 0; other < size; ++other)
    hand.counts.push_back(call_ == Call::kScatter ? count_of(root, other) : count_of(other, rank));
  for (int to = 0; to < size; ++to) hand.none.push_back(count_of(rank, to));
  const MPI_Datatype t = type_of(element_);
  const int own = call_ == Call::kScatter ? count_of(root, rank) : count_of(rank, 0);
  const int n = static_cast<int>(total_);
  const void* in = in_place && many_in ? MPI_IN_PLACE : hand.in.data();
  void* out = in_place && call_ == Call::kScatter ? MPI_IN_PLACE : hand.out.data();
  const int *counts = hand.counts.data(), *places = hand.places.data(), *to_each = hand.none.data();
  const MPI_Comm comm = circle.comm;
  switch (call_) {
    case Call::kGather:
      if (unequal_ && blocking_)
        MPI_Gatherv(in, own, t, out, counts, places, t, root, comm);
      else if (unequal_)
        MPI_Igatherv(in, own, t, out, counts, places, t, root, comm, request);
      else if (blocking_)
        MPI_Gather(in, n, t, out, n, t, root, comm);
      else
        MPI_Igather(in, n, t, out, n, t, root, comm, request);
      break;
    case Call::kScatter:
      if (unequal_ && blocking_)
        MPI_Scatterv(in, counts, places, t, out, own, t, root, comm);
      else if (unequal_)
        MPI_Iscatterv(in, counts, places, t, out, own, t, root, comm, request);
      else if (blocking_)
        MPI_Scatter(in, n, t, out, n, t, root, comm);
      else
        MPI_Iscatter(in, n, t, out, n, t, root, comm, request);
      break;
    case Call::kAllgather:
      if (unequal_ && blocking_)
        MPI_Allgatherv(in, own, t, out, counts, places, t, comm);
      else if (unequal_)
        MPI_Iallgatherv(in, own, t, out, counts, places, t, comm, request);
      else if (blocking_)
        MPI_Allgather(in, n, t, out, n, t, comm);
      else
        MPI_Iallgather(in, n, t, out, n, t, comm, request);
      break;
    default:
      if (unequal_ && blocking_)
        MPI_Alltoallv(in, to_each, places, t, out, counts, places, t, comm);
      else if (unequal_)
        MPI_Ialltoallv(in, to_each, places, t, out, counts, places, t, comm, request);
      else if (blocking_)
        MPI_Alltoall(in, n, t, out, n, t, comm);
      else
        MPI_Ialltoall(in, n, t, out, n, t, comm, request);
  }
}

// --- The step ---

void Collective::issue(const Circle& circle, int index, MPI_Request* request) {
  Hand& hand = hands_[static_cast<std::size_t>(index)];
  if (call_ == Call::kBcast) {
    bcast(circle, index, hand, request);
  } else if (call_ == Call::kBarrier) {
    if (blocking_)
      MPI_Barrier(circle.comm);
    else
      MPI_Ibarrier(circle.comm, request);
  } else if (reduces()) {
    reduce(circle, index, hand, request);
  } else {
    move(circle, index, hand, request);
  }
}

void Collective::check(World& world, const Circle&, int index) {
  Hand& hand = hands_[static_cast<std::size_t>(index)];
  if (!hand.should.empty()) {
    hand.out.resize(hand.should.size());  // in place there may be more than the result
    const std::ptrdiff_t wrong = first_difference(hand.out, hand.should);
    if (wrong >= 0)
      fail("%s no. %d: byte %td of %zu is wrong", text().c_str(), index, wrong, hand.should.size());
    world.note(hand.out.data(), hand.out.size(), key(index, 0));
  }
  hand = Hand();
}

void Collective::begin(World& world, int) {
  const Circle& circle = world.circles[circle_];
  if (circle.comm == MPI_COMM_NULL || blocking_) return;
  watch_call("begins a nonblocking collective");
  hands_.resize(static_cast<std::size_t>(repeat_));
  requests_.assign(static_cast<std::size_t>(repeat_), MPI_REQUEST_NULL);
  for (int i = 0; i < repeat_; ++i) issue(circle, i, &requests_[static_cast<std::size_t>(i)]);
}

void Collective::end(World& world, int step) {
  const Circle& circle = world.circles[circle_];
  if (circle.comm == MPI_COMM_NULL) return;
  if (!blocking_) {
    world.finish(step, std::move(requests_), [this, &world, &circle] {
      for (int i = 0; i < repeat_; ++i) check(world, circle, i);
    });
    return;
  }
  hands_.resize(static_cast<std::size_t>(repeat_));
  for (int i = 0; i < repeat_; ++i) {
    watch_call(("collective no. " + std::to_string(i)).c_str());
    issue(circle, i, nullptr);
    check(world, circle, i);
  }
}

class Communicator : public Step {
 public:
  explicit Communicator(Draw& draw)
      : which_(draw.in(1, World::kCircles - 1)),
        way_(static_cast<World::Way>(draw.below(World::kWays))),
        key_(draw.next()) {}
  std::string text() const override {
    const char* const names[] = {"dup", "idup", "split", "subset", "create", "free"};
    return "communicator " + std::to_string(which_) + ": " + names[way_];
  }
  void end(World& world, int) override {
    world.finish_all();
    watch_call("makes a communicator");
    world.replace_circle(which_, way_, key_);
  }

 private:
  int which_;
  World::Way way_;
  std::uint64_t key_;
};

}  // namespace

StepPointer draw_collective(Draw& draw, const Scale& scale) {
  return std::make_unique<Collective>(draw, scale);
}
StepPointer draw_communicator(Draw& draw, const Scale&) {
  return std::make_unique<Communicator>(draw);
}

}  // namespace programs
