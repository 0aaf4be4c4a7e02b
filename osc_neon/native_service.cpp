#include "native_service.h"

#include <mutex>

#include "base/lasting.hpp"
#include "services/neon/neon_counters.hpp"

namespace lfc::neon {
namespace {

std::mutex mutex;
Lasting<std::shared_ptr<NeonService>> kept;  // so that counters of freed windows stay

std::shared_ptr<NeonService> service_in_use() {
  const std::lock_guard guard(mutex);
  return *kept;
}

}  // namespace

std::shared_ptr<NeonService> native_service() {
  const std::lock_guard guard(mutex);
  if (*kept == nullptr) *kept = NeonService::of_process();
  return *kept;
}

}  // namespace lfc::neon

size_t lfc_neon_counter_count(void) { return lfc::kNeonCounters.size(); }
const char* lfc_neon_counter_name(size_t which) { return lfc::kNeonCounters[which].name; }
const char* lfc_neon_counter_help(size_t which) { return lfc::kNeonCounters[which].help; }
bool lfc_neon_counter_is_level(size_t which) { return lfc::kNeonCounters[which].level; }
unsigned long long lfc_neon_counter(size_t which) {
  const std::shared_ptr<lfc::NeonService> service = lfc::neon::service_in_use();
  return service == nullptr ? 0 : service->totals().*lfc::kNeonCounters[which].value;
}
void lfc_neon_close(void) {
  const std::lock_guard guard(lfc::neon::mutex);
  lfc::neon::kept->reset();
}
