#include "stats/counters.hpp"

#include "stats/counter_room.hpp"

namespace lfc {
namespace {

constexpr std::array<CounterInfo, kCounters> kInfo{{
#define LFC_COUNTER(name, help) {#name, help},
#include "stats/counters.def"
#undef LFC_COUNTER
}};
static_assert(has_room_for(kInfo));

}  // namespace

const std::array<CounterInfo, kCounters>& counter_info() noexcept { return kInfo; }

}  // namespace lfc
