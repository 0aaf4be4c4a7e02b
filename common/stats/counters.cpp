#include "stats/counters.hpp"

namespace lfc {
namespace {

constexpr std::array<CounterInfo, kCounters> kInfo{{
#define LFC_COUNTER(name, help) {#name, help},
#include "stats/counters.def"
#undef LFC_COUNTER
}};

}  // namespace

const std::array<CounterInfo, kCounters>& counter_info() noexcept { return kInfo; }

}  // namespace lfc
