#include "engine/process_ni.hpp"

#include <mutex>
#include <utility>

#include "base/lasting.hpp"

namespace lfc {
namespace {

std::mutex mutex;
Lasting<std::shared_ptr<Ni>> shared;

}  // namespace

std::shared_ptr<Ni> process_ni() noexcept {
  const std::lock_guard guard(mutex);
  return *shared;
}

void set_process_ni(std::shared_ptr<Ni> ni) noexcept {
  const std::lock_guard guard(mutex);
  shared->swap(ni);
}

}  // namespace lfc
