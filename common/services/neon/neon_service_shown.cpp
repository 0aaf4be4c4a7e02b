// NeonWindow: the records for outside observers (look/records.hpp): announced buffers and their origins.
#include <cstddef>

#include "look/fields.hpp"
#include "services/neon/neon_service.hpp"

LFC_LOOK_OFFSETS

namespace lfc {

using look::list;
using look::number;
using neon::Announcement;

template <>
const look::Field Insight<Announcement>::kFields[] = {
    number<std::uint32_t>("tag", {offsetof(Announcement, tag)}),
    number<std::uint64_t>("size", {offsetof(Announcement, size)}),
    number<bool>("persistent", {offsetof(Announcement, persistent)}),
    number<bool>("live", {offsetof(Announcement, live)}),
    list<neon::Rank>("origins", {offsetof(Announcement, origins)}),
    list<neon::Rank>("notified", {offsetof(Announcement, notified)}),
};
template <>
const look::Schema Insight<Announcement>::kSchema = look::schema("announced", kFields);

template <>
struct Insight<NeonWindow> {
  static const look::Field kFields[];
  static const look::Schema kSchema;
};
const look::Field Insight<NeonWindow>::kFields[] = {number<PeerId>("peer", {0})};
const look::Schema Insight<NeonWindow>::kSchema = look::schema("neon_route", kFields);

void NeonWindow::show(const neon::Announcement& buffer) {
  const ServicePort::Access access(port());
  shown_buffers_.try_emplace(&buffer, Insight<Announcement>::kSchema, &buffer, 1, 0, this);
}

void NeonWindow::show_members() {
  shown_.emplace(Insight<NeonWindow>::kSchema, members_.peers.data(), members_.peers.size(),
                 sizeof(PeerId), this);
}

}  // namespace lfc
