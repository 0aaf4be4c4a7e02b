// The fields of a communicator that lfc-look shows (look/records.hpp).
#include <cstddef>

#include "look/fields.hpp"
#include "services/collective/communicator.hpp"

LFC_LOOK_OFFSETS

namespace lfc {

using look::number;

template <>
const look::Field Insight<Communicator>::kFields[] = {
    number<std::uint64_t>("key",
                          {offsetof(Communicator, state_), offsetof(CommunicatorState, key_)}),
    number<std::uint32_t>("member",
                          {offsetof(Communicator, state_), offsetof(CommunicatorState, self_)}),
    number<std::uint32_t>("ranks",
                          {offsetof(Communicator, state_), offsetof(CommunicatorState, size_)}),
    // The first step of the next operation, and the oldest operation under way, if there is one.
    number<std::uint64_t>("next_step", {offsetof(Communicator, next_step_)}),
    number<CollOperation*>("operation", {offsetof(Communicator, queue_)}),
    number<lfc_coll_kind>("kind", {offsetof(Communicator, queue_), offsetof(CollOperation, kind)}),
    number<std::uint64_t>("first_step",
                          {offsetof(Communicator, queue_), offsetof(CollOperation, first)}),
    number<std::uint64_t>("steps",
                          {offsetof(Communicator, queue_), offsetof(CollOperation, steps)}),
    number<std::size_t>("bytes", {offsetof(Communicator, queue_), offsetof(CollOperation, bytes)}),
    number<int>("root", {offsetof(Communicator, queue_), offsetof(CollOperation, root)}),
};
template <>
const look::Schema Insight<Communicator>::kSchema = look::schema("communicator", kFields);

}  // namespace lfc
