#include "services/collective/collective.hpp"

#include <cstring>

namespace lfc {
bool write_all(Site& site, CollOperation& operation) {
  for (; operation.written < operation.chunks; ++operation.written) {
    const std::uint64_t step = operation.step_of(operation.written);
    const std::size_t size = operation.size_of(operation.written);
    if (!site.board().writable(step, size)) return false;
    site.write(step, operation.given(operation.written), operation.label(operation.written, size));
    site.finish(operation, step);
  }
  return true;
}

bool read_results(Site& site, CollOperation& operation, std::uint32_t lane) {
  if (!site.has_board()) {
    const std::uint64_t arrived = operation.arrived.load(std::memory_order_acquire);
    operation.moved = operation.moved || arrived != operation.read;
    operation.read = arrived;
    operation.over_to = operation.step_of(arrived);
    return arrived == operation.chunks;
  }
  for (; operation.read < operation.chunks; ++operation.read) {
    const std::uint64_t step = operation.step_of(operation.read + 1) - 1;
    const std::size_t size = operation.size_of(operation.read);
    if (!site.is_ready(operation, lane, step, operation.label(operation.read, size))) return false;
    if (size > 0)
      std::memcpy(operation.got(operation.read), site.board().room(lane, step, size), size);
    site.finish(operation, step);
  }
  return true;
}

const std::byte* combine_local(Site& site, const CollOperation& operation, std::uint64_t index,
                               std::uint64_t step, std::byte* target) {
  const std::size_t size = operation.size_of(index);
  const std::byte* own = operation.given(index);
  if (size == 0) return own;
  const std::size_t count = size / size_of(static_cast<Element>(operation.type));
  const std::byte* sum = own;  // first: `target` may be the same memory
  for (std::uint32_t lane = 0; lane < site.lanes(); ++lane) {
    if (lane == site.lane()) continue;
    operation.combine(sum, site.board().room(lane, step, size), target, count);
    sum = target;
  }
  return sum;
}

}  // namespace lfc
