#include "base/lasting.hpp"
#include "engine/process_ni.hpp"
#include "services/neon/neon_service.hpp"

namespace lfc {

std::shared_ptr<NeonService> NeonService::of_process() {
  static Lasting<PerProcess<NeonService>> shared;
  return shared->get([](Ni& ni) {
    return NeonService(ni.services(), &ni.remote(), ni.config().policy != Policy::single);
  });
}

}  // namespace lfc
