// Scans among the ranks of one node. Rank r gets the elements of ranks 0 to r, combined in the order of ranks; in an
// exscan those of ranks 0 to r - 1, and rank 0 gets nothing.
//
// Few bytes: each rank writes its own elements and combines those of the ranks below it, so no rank waits for another
// one's sum. More bytes: each chunk passes from rank to rank. A rank combines the sum of the ranks below it with its
// own elements, and writes the result for the rank above it.
#include <cstring>

#include "base/limits.hpp"
#include "services/collective/collective.hpp"

namespace lfc {
namespace {

// One chunk of a scan at this rank; `in` and `out` may be the same.
struct Scan {
  CommunicatorState& state;
  const lfc_coll_call& call;
  Combiner combine;
  std::uint64_t step;
  Label label;

  std::uint32_t rank() const noexcept { return state.rank_of(state.self()); }
  std::uint32_t lane(std::uint32_t rank) const noexcept {
    return state.lane_of(state.member_of(static_cast<int>(rank)));
  }
  const std::byte* written_by(std::uint32_t rank) const noexcept {
    return state.board().room(lane(rank), step, label.size);
  }
  std::size_t count() const noexcept {
    return label.size / size_of(static_cast<Element>(call.type));
  }
  // Combines the elements of all ranks below `end`.
  void combine_all(std::uint32_t end, std::byte* out) const {
    if (end == 0 || label.size == 0) return;
    const std::byte* sum = written_by(0);
    for (std::uint32_t rank = 1; rank < end; ++rank, sum = out)
      combine(sum, written_by(rank), out, count());
    if (end == 1) std::memcpy(out, sum, label.size);
  }
  // Called when the rank below has written its sum. Writes this rank's sum for the rank above, if there is one, before
  // it changes `out`.
  void pass_on(const std::byte* in, std::byte* out) const {
    const bool whole = call.kind == LFC_COLL_SCAN;
    if (rank() == 0) {
      state.write(step, in, label);
      if (whole && out != in && label.size > 0) std::memcpy(out, in, label.size);
      return;
    }
    const std::byte* const below = written_by(rank() - 1);
    const bool last = rank() + 1 == state.lanes();
    std::byte* const room = state.board().room(state.lane(), step, label.size);
    if (label.size > 0 && (!last || whole)) combine(below, in, last ? out : room, count());
    if (!last) state.board().publish(state.lane(), step, label);
    if (label.size > 0 && !(last && whole)) std::memcpy(out, whole ? room : below, label.size);
  }
};

bool is_direct(const CommunicatorState& state, const lfc_coll_call& call) noexcept {
  return call.bytes * state.lanes() <= limits::kCollDirect;
}

// The end of the ranks that are combined: this rank is among them in a scan, and not in an exscan.
std::uint32_t end_of(const Scan& scan) noexcept {
  return scan.rank() + (scan.call.kind == LFC_COLL_SCAN ? 1 : 0);
}

bool direct(CommunicatorState& state, CollOperation& operation) {
  const Scan scan{state, operation, operation.combine, operation.first,
                  operation.label(0, operation.bytes)};
  if (operation.written == 0) {
    if (!state.board().writable(scan.step, scan.label.size)) return false;
    state.write(scan.step, operation.given(0), scan.label);
    operation.written = 1;
    operation.moved = true;
  }
  for (std::uint32_t rank = 0; rank < scan.rank(); ++rank)
    if (!state.is_ready(operation, scan.lane(rank), scan.step, scan.label)) return false;
  scan.combine_all(end_of(scan), operation.got(0));
  state.finish(operation, scan.step);
  return true;
}

bool from_rank_to_rank(CommunicatorState& state, CollOperation& operation) {
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t index = operation.read;
    Scan scan{state, operation, operation.combine, operation.step_of(index),
              operation.label(index, operation.size_of(index))};
    if (!state.board().writable(scan.step, scan.label.size)) return false;
    if (scan.rank() > 0 &&
        !state.is_ready(operation, scan.lane(scan.rank() - 1), scan.step, scan.label))
      return false;
    scan.label = operation.label(index, scan.label.size);  // is_ready() may have set `differs`
    scan.pass_on(operation.given(index), operation.got(index));
    state.finish(operation, scan.step);
  }
  return true;
}

bool walk(CommunicatorState& state, CollOperation& operation) {
  return is_direct(state, operation) ? direct(state, operation)
                                     : from_rank_to_rank(state, operation);
}

bool at_once(CommunicatorState& state, const lfc_coll_call& call, std::uint64_t step,
             unsigned looks) {
  if (!is_direct(state, call)) return false;
  const Label label = label_at_once(call, call.bytes);
  const Scan scan{
      state, call,
      number_combiner({static_cast<Accumulate>(call.op), static_cast<Element>(call.type)}), step,
      label};
  state.write(step, static_cast<const std::byte*>(call.in), label);
  for (std::uint32_t rank = 0; rank < scan.rank(); ++rank)
    if (!await_at_once(state.board(), scan.lane(rank), step, Board::flag_of(step, label), looks))
      return false;
  scan.combine_all(end_of(scan), static_cast<std::byte*>(call.out));
  return true;
}

}  // namespace

constinit const Collective kScan{.walk = walk, .at_once = at_once};
constinit const Collective kExscan{.walk = walk, .at_once = at_once};

}  // namespace lfc
