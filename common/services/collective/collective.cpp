#include "services/collective/collective.hpp"

#include <cstring>

namespace lfc {
bool write_all(CommunicatorState& state, CollOperation& operation) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.step_of(operation.written);
    const std::size_t size = operation.size_of(operation.written);
    if (!state.board().writable(step, size)) return false;
    state.write(step, operation.given(operation.written), operation.label(operation.written, size));
    state.finish(operation, step);
  }
  return true;
}

bool read_results(CommunicatorState& state, CollOperation& operation, std::uint32_t lane) {
  if (!state.has_board()) {
    const std::uint64_t arrived = operation.arrived.load(std::memory_order_acquire);
    operation.moved = operation.moved || arrived != operation.read;
    operation.read = arrived;
    operation.over_to = operation.step_of(arrived);
    return arrived == operation.chunks;
  }
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.step_of(operation.read + 1) - 1;
    const std::size_t size = operation.size_of(operation.read);
    if (!state.is_ready(operation, lane, step, operation.label(operation.read, size))) return false;
    if (size > 0)
      std::memcpy(operation.got(operation.read), state.board().room(lane, step, size), size);
    state.finish(operation, step);
  }
  return true;
}

const std::byte* combine_local(CommunicatorState& state, const CollOperation& operation,
                               std::uint64_t index, std::uint64_t step, std::byte* target) {
  const std::size_t size = operation.size_of(index);
  const std::byte* own = operation.given(index);
  if (size == 0) return own;
  const std::size_t count = size / size_of(static_cast<Element>(operation.type));
  const std::byte* sum = own;  // first: `target` may be the same memory
  for (std::uint32_t lane = 0; lane < state.lanes(); ++lane) {
    if (lane == state.lane()) continue;
    operation.combine(sum, state.board().room(lane, step, size), target, count);
    sum = target;
  }
  return sum;
}

}  // namespace lfc
