#include "services/collective/group.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.hpp"

namespace lfc {
namespace {

using Kind = CollOperation::Kind;
using Status = CollOperation::Status;

// Packets up to this size cost a hop's latency to pass on, but little to send again.
constexpr std::size_t kLightPacket = std::size_t{4} * 1024;

constexpr std::size_t kUnit = 64;  // bytes: of elements of any type

// Packets of one size, none above `most`: a small last one would cost as much as the others.
std::size_t even_packet(std::size_t bytes, std::size_t most) noexcept {
  if (bytes <= most) return most;
  const std::size_t packets = (bytes + most - 1) / most;
  const std::size_t share = (bytes + packets - 1) / packets;
  return std::min(most, (share + kUnit - 1) / kUnit * kUnit);
}

// The fan-out with which `chunks` packets are at the last node first: the first packet passes
// `depth` nodes, each of which sends it to its children in turn; every other packet follows after
// what one node needs to send one to all its children. In units of a quarter of a hop.
std::uint32_t best_fan(TreeShape shape, std::uint32_t nodes, std::uint64_t chunks,
                       std::size_t size) noexcept {
  if (!has_fan(shape)) return 1;
  const std::uint64_t again = size <= kLightPacket ? 1 : 4;
  std::uint32_t best = 1;
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::uint32_t fan : {1u, 2u, 4u, 8u}) {
    std::uint64_t depth = 0;
    std::uint64_t reached = 1;
    for (std::uint64_t level = 1; reached < nodes; reached += level, ++depth) level *= fan;
    const std::uint64_t children = std::min(fan, nodes - 1);
    const std::uint64_t time =
        depth * (4 + (children - 1) * again) + (chunks - 1) * children * again;
    if (time >= least) continue;
    least = time;
    best = fan;
  }
  return best;
}

}  // namespace

CollGroup::CollGroup(Membership membership, std::uint32_t self,
                     std::unique_ptr<GroupNetwork> network, std::unique_ptr<Place> place,
                     const CollOptions& options)
    : members_(std::move(membership)),
      self_(self),
      options_(options),
      network_(std::move(network)),
      place_(std::move(place)) {
  for (std::uint32_t member = 0; member < members_.size(); ++member) {
    if (members_.node(member) != members_.node(self)) continue;
    if (member == self) lane_ = static_cast<std::uint32_t>(local_.size());
    local_.push_back(member);
  }
  tree_root_ = members_.first(members_.nodes() / 2);
}

CollGroup::~CollGroup() {
  if (board_.is_open()) board_.detach();
}

// Why nothing goes on here any more; ok: it does.
CollOperation::Status CollGroup::failure() const noexcept {
  if (board_failed_) return Status::no_memory;
  Board::End how = end_.load(std::memory_order_relaxed);
  if (how == Board::End::none && board_.is_open()) how = board_.end();
  if (how == Board::End::none && network_ != nullptr && network_->failed())
    how = network_->mismatch() ? Board::End::disagreement : Board::End::lost;
  switch (how) {
    case Board::End::none: return Status::ok;
    case Board::End::lost: return Status::lost;
    case Board::End::disagreement: return Status::mismatch;
  }
  return Status::lost;
}

void CollGroup::end(Board::End how) noexcept {
  Board::End none = Board::End::none;
  end_.compare_exchange_strong(none, how, std::memory_order_relaxed);
  if (board_.is_open()) board_.set_end(how);
}

// Nobody else may wait for what does not come from here: the ranks of this node, who see the board
// only, nor the other nodes, who do not know of the ranks of this one.
void CollGroup::spread_failure() {
  end(failure() == Status::mismatch ? Board::End::disagreement : Board::End::lost);
  if (network_ == nullptr) return;
  const Ni::Access access(*place_->ni());
  network_->give_up();
}

// --- Issuing ---

// What all ranks decide alike: chunks, steps, the way.
void CollGroup::prepare(CollOperation& operation) noexcept {
  const bool one_node = members_.nodes() == 1;
  const auto lanes = static_cast<std::uint32_t>(local_.size());
  std::size_t chunk =
      one_node ? limits::kCollLocalChunk : even_packet(operation.bytes, options_.packet);
  const bool reduces = operation.kind == Kind::reduce || operation.kind == Kind::allreduce;
  // The parts of all ranks share a room.
  if (operation.kind == Kind::scatter)
    chunk = std::clamp<std::size_t>(Board::kRoom / lanes, 1, limits::kCollLocalChunk);
  if (reduces && operation.bytes > 0) {
    operation.combine = find_combine(operation.op, operation.type);
    chunk -= chunk % combine_size(operation.type);
  }
  operation.direct = is_direct(operation);
  operation.chunk = chunk;
  operation.chunks = operation.bytes <= chunk ? 1 : (operation.bytes + chunk - 1) / chunk;
  if (operation.kind == Kind::allreduce) {
    operation.root = tree_root_;
    operation.per_chunk = operation.direct ? 1 : 2;
  }
  operation.steps = operation.chunks * operation.per_chunk;
  if (one_node) return;
  operation.shape = options_.shape;
  const std::size_t chunk_size = std::min(chunk, operation.bytes);
  operation.fan = static_cast<std::uint8_t>(
      options_.fan != 0 ? options_.fan
                        : best_fan(options_.shape, members_.nodes(), operation.chunks, chunk_size));
}

bool CollGroup::is_direct(const CollOperation& operation) const noexcept {
  return operation.kind == Kind::allreduce && members_.nodes() == 1 &&
         (local_.size() == 2 || operation.bytes * local_.size() <= limits::kCollDirect);
}

void CollGroup::append(CollOperation& operation) {
  operation.first = next_step_;
  next_step_ += operation.steps;
  *tail_ = &operation;
  tail_ = &operation.next;
}

// Of one operation among nodes that does not synchronise: such that it fits into a window alone. A multiple
// of the largest type.
std::size_t CollGroup::largest_piece() const noexcept {
  const std::size_t packet = std::max<std::size_t>(options_.packet / kUnit * kUnit, 1);
  const std::size_t room = options_.window - std::min(options_.window, Multicast::kPacketCost);
  return std::max<std::size_t>(room / (packet + Multicast::kPacketCost), 1) * packet;
}

// What a member may have sent in this group and another not have taken: a window, and results of the
// allreduce that has ended it.
std::size_t CollGroup::share(const CollOptions& options) noexcept {
  return options.window + (limits::kCollAhead + 1) * (options.packet + Multicast::kPacketCost);
}

// Everybody does a barrier before what could bring somebody more than a window ahead, and before the first
// operation: until all have joined, nobody sends them anything but the first words of that barrier.
void CollGroup::append_bounded(CollOperation& operation) {
  prepare(operation);
  const bool all = operation.kind == Kind::allreduce;
  const std::size_t cost = operation.bytes + operation.chunks * Multicast::kPacketCost;
  const bool ahead = all ? next_step_ == 0 && operation.bytes != 0
                         : lead_ > options_.window || cost > options_.window - lead_;
  if (ahead) {
    auto* barrier = new CollOperation;
    barrier->kind = Kind::allreduce;
    barrier->done = [](CollOperation* self) { delete self; };
    prepare(*barrier);
    append(*barrier);
    lead_ = 0;
  }
  lead_ = all ? 0 : lead_ + cost;
  append(operation);
}

// All but the last piece of an operation that does not synchronise and does not fit into a window; the last
// one is left of it.
void CollGroup::append_pieces(CollOperation& operation) {
  const std::size_t most = largest_piece();
  const std::size_t pieces = std::max<std::size_t>((operation.bytes + most - 1) / most, 1);
  const std::size_t size = ((operation.bytes + pieces - 1) / pieces + kUnit - 1) / kUnit * kUnit;
  while (operation.bytes > size) {
    auto* piece = new CollOperation;
    piece->kind = operation.kind;
    piece->root = operation.root;
    piece->op = operation.op;
    piece->type = operation.type;
    piece->in = operation.in;
    piece->out = operation.out;
    piece->bytes = size;
    piece->done = [](CollOperation* self) { delete self; };
    append_bounded(*piece);
    if (operation.in != nullptr) operation.in += size;
    if (operation.out != nullptr) operation.out += size;
    operation.bytes -= size;
  }
}

void CollGroup::submit(CollOperation& operation) {
  while (!enter()) sched_yield();  // another thread is in, and may have been preempted there
  if (network_ == nullptr) {
    prepare(operation);
    append(operation);
  } else {
    if (operation.kind != Kind::allreduce) append_pieces(operation);
    append_bounded(operation);
  }
  advance_inside();
}

// The lane of a rank of this node.
std::uint32_t CollGroup::lane_of(std::uint32_t member) const noexcept {
  return static_cast<std::uint32_t>(std::lower_bound(local_.begin(), local_.end(), member) -
                                    local_.begin());
}

// --- Small operations on one node ---

bool CollGroup::try_at_once(const CollOperation& operation, unsigned looks) {
  if (network_ != nullptr || !board_.is_open() || operation.bytes > Board::kInline ||
      operation.mismatch.load(std::memory_order_relaxed) || !enter())
    return false;
  bool done = queue_ == nullptr && board_.writable(next_step_, operation.bytes);
  switch (operation.kind) {
    case Kind::bcast: done = done && bcast_at_once(operation, looks); break;
    case Kind::allreduce:
      done = done && is_direct(operation) && allreduce_at_once(operation, looks);
      break;
    case Kind::allgather: done = done && allgather_at_once(operation, looks); break;
    default: done = false;
  }
  if (done) board_.finish(++next_step_);
  exit();
  return done;
}

bool CollGroup::await_at_once(std::uint32_t lane, Label label, unsigned& looks) const noexcept {
  const std::atomic<std::uint64_t>& flag = board_.flag(lane, next_step_);
  const std::uint64_t value = Board::flag_of(next_step_, label);
  while (flag.load(std::memory_order_acquire) != value)
    if (looks-- == 0) return false;
  return true;
}

bool CollGroup::bcast_at_once(const CollOperation& operation, unsigned looks) {
  const Label label = operation.whole_label(operation.bytes);
  if (operation.root == self_) {
    write(next_step_, operation.in, label);
    return true;
  }
  const std::uint32_t lane = lane_of(operation.root);
  if (!await_at_once(lane, label, looks)) return false;
  std::memcpy(operation.out, board_.room(lane, next_step_, operation.bytes), operation.bytes);
  return true;
}

bool CollGroup::allreduce_at_once(const CollOperation& operation, unsigned looks) {
  const Label label = operation.whole_label(operation.bytes);
  write(next_step_, operation.in, label);
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane)
    if (lane != lane_ && !await_at_once(lane, label, looks)) return false;
  if (operation.bytes > 0)
    combine_all(operation, next_step_, 0, operation.bytes,
                find_combine(operation.op, operation.type));
  return true;
}

// What all ranks have written in this step, in the order of lanes: everybody gets the same bits.
void CollGroup::combine_all(const CollOperation& operation, std::uint64_t step, std::size_t offset,
                            std::size_t size, Combine combine) const {
  const std::size_t count = size / combine_size(operation.type);
  std::byte* const out = operation.out + offset;
  if (board_.lanes() == 2) {
    const std::byte* const own = operation.in + offset;
    const std::byte* const other = board_.room(1 - lane_, step, size);
    combine(lane_ == 0 ? own : other, lane_ == 0 ? other : own, out, count);
    return;
  }
  const std::byte* sum = board_.room(0, step, size);
  for (std::uint32_t lane = 1; lane < board_.lanes(); ++lane) {
    combine(sum, board_.room(lane, step, size), out, count);
    sum = out;
  }
}

// --- Progress ---

bool CollGroup::advance() { return enter() && advance_inside(); }

// Leaves before it tells anybody that an operation has finished.
bool CollGroup::advance_inside() {
  bool moved = false;
  CollOperation* done = nullptr;
  CollOperation** done_tail = &done;
  while (queue_ != nullptr) {
    CollOperation& operation = *queue_;
    // Once it has failed it stays so: or a later operation could end well at some ranks only.
    if (failure() != Status::ok || !begin(operation) || !walk(operation, moved)) {
      // What the NI still reads must stay: those whom it is for take it, or are lost.
      operation.status = failure();
      if (operation.status == Status::ok || operation.unsent.load(std::memory_order_acquire) != 0)
        break;
      spread_failure();
    } else if (operation.mismatch.load(std::memory_order_relaxed)) {
      operation.status = Status::mismatch;
      if (failure() == Status::mismatch) spread_failure();
    }
    if (network_ != nullptr) {
      const Ni::Access access(*place_->ni());
      network_->expect(nullptr);
    }
    queue_ = operation.next;
    if (queue_ == nullptr) tail_ = &queue_;
    operation.next = nullptr;
    moved = true;
    if (operation.done == nullptr) {
      operation.finished.store(true, std::memory_order_release);
    } else {
      *done_tail = &operation;
      done_tail = &operation.next;
    }
  }
  exit();
  while (done != nullptr) {
    CollOperation* const operation = std::exchange(done, done->next);
    operation->finished.store(true, std::memory_order_release);
    operation->done(operation);
  }
  return moved;
}

// False: it cannot begin yet.
bool CollGroup::begin(CollOperation& operation) {
  if (operation.begun) return true;
  if (local_.size() > 1 && !board_.is_open()) {
    std::byte* const memory = place_->board(board_failed_);
    if (memory == nullptr) return false;
    board_ = Board(memory, static_cast<std::uint32_t>(local_.size()), lane_);
    if (network_ != nullptr) {
      const Ni::Access access(*place_->ni());
      network_->set_board(board_);
    }
  }
  if (network_ != nullptr) {
    const bool knows_root = operation.root == self_ || !members_.in_tree(operation.root, self_) ||
                            network_->peer(operation.root) != kNoPeer;
    if (!knows_root) {
      const PeerId root = place_->peer(operation.root);
      const Ni::Access access(*place_->ni());
      network_->set_peer(operation.root, root);
    }
    const Ni::Access access(*place_->ni());
    network_->expect(&operation);
    if (options_.host_forwarding) network_->serve();
  }
  operation.begun = true;
  return true;
}

// True: the operation is over here.
bool CollGroup::walk(CollOperation& operation, bool& moved) {
  operation.flag = nullptr;  // what it waited for before says nothing about now
  if (network_ != nullptr && options_.host_forwarding) {
    const Ni::Access access(*place_->ni());
    network_->serve();
  }
  switch (operation.kind) {
    case Kind::bcast:
      return self_ == operation.root ? bcast_root(operation, moved) : bcast_other(operation, moved);
    case Kind::reduce:
      return members_.in_tree(operation.root, self_) ? reduce_head(operation, moved)
                                                     : write_all(operation, moved);
    case Kind::allreduce:
      if (operation.direct) return allreduce_direct(operation, moved);
      return network_ == nullptr ? allreduce_parts(operation, moved)
                                 : allreduce_nodes(operation, moved);
    case Kind::allgather: return allgather(operation, moved);
    case Kind::gather:
      return self_ == operation.root ? gather_root(operation, moved) : write_all(operation, moved);
    case Kind::scatter:
      return self_ == operation.root ? scatter_root(operation, moved)
                                     : scatter_other(operation, moved);
  }
  return true;
}

void CollGroup::write(std::uint64_t step, const std::byte* bytes, Label label) noexcept {
  if (label.size > 0 && !label.wrong)
    std::memcpy(board_.room(lane_, step, label.size), bytes, label.size);
  board_.publish(lane_, step, label);
}

// Ready or not, its label is compared: what is in the lane may be no more than this label says, but lies
// within the room.
bool CollGroup::is_ready(CollOperation& operation, std::uint32_t lane, std::uint64_t step,
                         Label label) noexcept {
  const std::atomic<std::uint64_t>& flag = board_.flag(lane, step);
  if (board_.ready(lane, step)) {
    if (!board_.agrees(lane, step, label))
      disagree(operation, !Label::same_walk(flag.load(std::memory_order_relaxed), label.digest()));
    return true;
  }
  // Its rank takes another for the root, or has done another call.
  if (board_.passed(lane, step) && !board_.ready(lane, step)) disagree(operation, true);
  operation.flag = &flag;
  operation.flag_value = Board::flag_of(step, label);
  return false;
}

bool CollGroup::others_ready(CollOperation& operation, std::uint64_t step, Label label) noexcept {
  for (std::uint32_t lane = 0; lane < board_.lanes(); ++lane)
    if (lane != lane_ && !is_ready(operation, lane, step, label)) return false;
  return true;
}

// The ranks' calls are not the same. `for_good`: nor is the number of their steps.
void CollGroup::disagree(CollOperation& operation, bool for_good) noexcept {
  operation.mismatch.store(true, std::memory_order_relaxed);
  if (for_good || network_ != nullptr) end(Board::End::disagreement);
}

// --- Broadcast ---

bool CollGroup::bcast_root(CollOperation& operation, bool& moved) {
  const bool shared = board_.is_open();
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.first + operation.written;
    const std::size_t size = operation.size_of(operation.written);
    const std::byte* bytes = operation.in + operation.offset_of(operation.written);
    if (shared && !board_.writable(step, size)) return false;
    if (network_ != nullptr) {
      if (operation.unsent.load(std::memory_order_acquire) >= limits::kCollUnsent) return false;
      const Ni::Access access(*place_->ni());
      network_->multicast(operation, step, operation.label(operation.written, size), {bytes, size});
    }
    if (shared) {
      write(step, bytes, operation.label(operation.written, size));
      board_.finish(step + 1);
    }
    moved = true;
  }
  return operation.unsent.load(std::memory_order_acquire) == 0;
}

bool CollGroup::bcast_other(CollOperation& operation, bool& moved) {
  const bool with_root = members_.node(operation.root) == members_.node(self_);
  return read_results(operation, with_root ? lane_of(operation.root) : 0, moved);
}

// Results lie on the board, or the NI places them in the buffer.
bool CollGroup::read_results(CollOperation& operation, std::uint32_t lane, bool& moved) {
  if (!board_.is_open()) {
    const std::uint64_t arrived = operation.arrived.load(std::memory_order_acquire);
    moved = moved || arrived != operation.read;
    operation.read = arrived;
    return arrived == operation.chunks;
  }
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.first + (operation.read + 1) * operation.per_chunk - 1;
    const std::size_t size = operation.size_of(operation.read);
    if (!is_ready(operation, lane, step, operation.label(operation.read, size))) return false;
    if (size > 0)
      std::memcpy(operation.out + operation.offset_of(operation.read),
                  board_.room(lane, step, size), size);
    board_.finish(step + 1);
    moved = true;
  }
  return true;
}

// --- Reductions ---

// This rank's and its neighbours' parts of one chunk, combined; in `target`, unless there is nothing
// to combine.
const std::byte* CollGroup::combine_local(CollOperation& operation, std::uint64_t index,
                                          std::uint64_t step, std::byte* target) {
  const std::size_t size = operation.size_of(index);
  const std::byte* own = operation.in + operation.offset_of(index);
  if (size == 0) return own;
  const std::size_t count = size / combine_size(operation.type);
  const std::byte* sum = own;  // first: `target` may be the same memory
  for (std::uint32_t lane = 0; lane < local_.size(); ++lane) {
    if (lane == lane_) continue;
    operation.combine(sum, board_.room(lane, step, size), target, count);
    sum = target;
  }
  return sum;
}

bool CollGroup::reduce_head(CollOperation& operation, bool& moved) {
  const bool is_root = self_ == operation.root;
  for (; operation.combined < operation.chunks; ++operation.combined) {
    const std::uint64_t index = operation.combined;
    const std::uint64_t step = operation.first + index;
    const std::size_t size = operation.size_of(index);
    if (board_.is_open() && !others_ready(operation, step, operation.label(index, size)))
      return false;
    // In the root's buffer, unless the NI's result is still to come there: `in` may be the same.
    if (scratch_.size() < Board::kRoom) scratch_.resize(Board::kRoom);
    std::byte* const place = is_root && network_ == nullptr
                                 ? operation.out + operation.offset_of(index)
                                 : scratch_.data();
    const std::byte* sum = combine_local(operation, index, step, place);
    if (board_.is_open()) board_.finish(step + 1);
    moved = true;
    if (network_ == nullptr) continue;
    const Ni::Access access(*place_->ni());
    network_->contribute(operation, step, operation.label(index, size), {sum, size});
  }
  if (network_ == nullptr || !is_root) return true;
  const std::uint64_t arrived = operation.arrived.load(std::memory_order_acquire);
  operation.read = arrived;
  return arrived == operation.chunks;
}

bool CollGroup::write_all(CollOperation& operation, bool& moved) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.first + operation.written;
    const std::size_t size = operation.size_of(operation.written);
    if (!board_.writable(step, size)) return false;
    write(step, operation.in + operation.offset_of(operation.written),
          operation.label(operation.written, size));
    board_.finish(step + 1);
    moved = true;
  }
  return true;
}

bool CollGroup::allreduce_direct(CollOperation& operation, bool& moved) {
  while (operation.read < operation.chunks) {
    for (; operation.written < operation.chunks; ++operation.written) {
      const std::uint64_t step = operation.first + operation.written;
      const std::size_t size = operation.size_of(operation.written);
      if (!board_.writable(step, size)) break;
      write(step, operation.in + operation.offset_of(operation.written),
            operation.label(operation.written, size));
      moved = true;
    }
    const std::uint64_t step = operation.first + operation.read;
    const std::size_t size = operation.size_of(operation.read);
    if (operation.read == operation.written ||
        !others_ready(operation, step, operation.label(operation.read, size)))
      return false;
    if (size > 0)
      combine_all(operation, step, operation.offset_of(operation.read), size, operation.combine);
    board_.finish(step + 1);
    ++operation.read;
    moved = true;
  }
  return true;
}

// Chunk by chunk: all write theirs, each combines its part of all, all read all parts.
bool CollGroup::allreduce_parts(CollOperation& operation, bool& moved) {
  const std::size_t width = combine_size(operation.type);
  const std::uint32_t lanes = board_.lanes();
  while (operation.read < operation.chunks) {
    for (; operation.written < operation.chunks; ++operation.written) {
      const std::uint64_t step = operation.first + 2 * operation.written;
      const std::size_t size = operation.size_of(operation.written);
      if (!board_.writable(step + 1, size)) break;  // of both steps
      write(step, operation.in + operation.offset_of(operation.written),
            operation.label(operation.written, size));
      moved = true;
    }
    while (operation.combined < operation.written) {
      const std::uint64_t step = operation.first + 2 * operation.combined;
      const std::size_t size = operation.size_of(operation.combined);
      const Label label = operation.label(operation.combined, size);
      if (!others_ready(operation, step, label)) break;
      const std::size_t count = size / width;
      const std::size_t begin = count * lane_ / lanes;
      const std::size_t end = count * (lane_ + 1) / lanes;
      std::byte* const out = board_.room(lane_, step + 1, size) + begin * width;
      const std::byte* sum = board_.room(0, step, size) + begin * width;
      for (std::uint32_t lane = 1; lane < lanes; ++lane) {
        operation.combine(sum, board_.room(lane, step, size) + begin * width, out, end - begin);
        sum = out;
      }
      board_.publish(lane_, step + 1, label);
      ++operation.combined;
      moved = true;
    }
    const std::uint64_t step = operation.first + 2 * operation.read + 1;
    const std::size_t size = operation.size_of(operation.read);
    if (operation.read == operation.combined ||
        !others_ready(operation, step, operation.label(operation.read, size)))
      return false;
    const std::size_t count = size / width;
    std::byte* const out = operation.out + operation.offset_of(operation.read);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::size_t begin = count * lane / lanes * width;
      const std::size_t end = count * (lane + 1) / lanes * width;
      std::memcpy(out + begin, board_.room(lane, step, size) + begin, end - begin);
    }
    board_.finish(step + 1);
    ++operation.read;
    moved = true;
  }
  return true;
}

bool CollGroup::allreduce_nodes(CollOperation& operation, bool& moved) {
  const bool head = members_.in_tree(operation.root, self_);
  const bool shared = board_.is_open();
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t index = operation.written;
    const std::uint64_t step = operation.first + 2 * index;
    const std::size_t size = operation.size_of(index);
    const Label label = operation.label(index, size);
    if (!head) {
      if (!board_.writable(step, size)) break;
      write(step, operation.in + operation.offset_of(index), label);
      moved = true;
      continue;
    }
    if (index >= operation.read + limits::kCollAhead ||
        (shared && !others_ready(operation, step, label)))
      break;
    if (scratch_.size() < Board::kRoom) scratch_.resize(Board::kRoom);
    const std::byte* sum = combine_local(operation, index, step, scratch_.data());
    moved = true;
    const Ni::Access access(*place_->ni());
    network_->contribute(operation, step, label, {sum, size});
  }
  return read_results(operation, 0, moved);
}

}  // namespace lfc
