// The fields of an ordered broadcast that lfc-look shows (look/records.hpp).
#include <cstddef>

#include "look/fields.hpp"
#include "services/ordered/ordered_broadcast.hpp"

LFC_LOOK_OFFSETS

namespace lfc {

using look::number;

template <>
const look::Field Insight<OrderedBroadcast>::kFields[] = {
    number<std::uint64_t>("key", {offsetof(OrderedBroadcast, key_)}),
    number<std::uint32_t>("window", {offsetof(OrderedBroadcast, options_.window)}),
    number<std::uint64_t>("taken", {offsetof(OrderedBroadcast, held_.taken_)}),
    number<bool>("asking", {offsetof(OrderedBroadcast, outgoing_.requesting_)}),
    number<std::uint32_t>("unsent", {offsetof(OrderedBroadcast, outgoing_.unsent_)}),
    number<OrderFault>("fault", {offsetof(OrderedBroadcast, fault_.fault_)}),
};
template <>
const look::Schema Insight<OrderedBroadcast>::kSchema = look::schema("ordered", kFields);

}  // namespace lfc
