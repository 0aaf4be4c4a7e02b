#include "services/windows/shown.hpp"

#include <cstddef>

#include "look/fields.hpp"
#include "services/windows/window.hpp"

LFC_LOOK_OFFSETS

namespace lfc {

using look::list;
using look::number;

template <>
struct Insight<Window> {
  static const look::Field kFields[];
  static const look::Schema kSchema;

  static const std::vector<WindowRoute>& routes(const Window& window) {
    return window.carrier_.routes_;
  }
  static const auto& targets(const Window& window) { return window.protocol_.origin.peers_; }
  static const auto& origins(const Window& window) { return window.protocol_.target.peers_; }
};

const look::Field Insight<Window>::kFields[] = {
    number<std::uint32_t>("id", {offsetof(Window, facts_.id)}),
    number<std::uint32_t>("member", {offsetof(Window, carrier_.rank_)}),
    number<bool>("fence_open", {offsetof(Window, protocol_.origin.access_.fence_open)}),
    number<bool>("started", {offsetof(Window, protocol_.origin.access_.started)}),
    number<bool>("lock_all", {offsetof(Window, protocol_.origin.access_.lock_all)}),
    number<std::uint32_t>("locks", {offsetof(Window, protocol_.origin.access_.locks)}),
    list<rma::Rank>("access_to", {offsetof(Window, protocol_.epochs.access_group_)}),
    number<bool>("exposed", {offsetof(Window, protocol_.epochs.exposure_open_)}),
    list<rma::Rank>("exposed_to", {offsetof(Window, protocol_.epochs.exposure_group_)}),
    number<bool>("lost", {offsetof(Window, protocol_.origin.trouble_.lost)}),
};
const look::Schema Insight<Window>::kSchema = look::schema("window", kFields);

template <>
const look::Field Insight<WindowRoute>::kFields[] = {
    number<PeerId>("peer", {offsetof(WindowRoute, peer)}),
    number<std::uint32_t>("id", {offsetof(WindowRoute, id)}),
};
template <>
const look::Schema Insight<WindowRoute>::kSchema = look::schema("window_route", kFields);

template <>
const look::Field Insight<rma::OriginPeer>::kFields[] = {
    // Behind a pointer, so each is read alone: a number that is due before the one that has arrived.
    number<void*>("mapped_lock", {0, offsetof(rma::OriginPeer, control)}),
    number<void*>("waiting", {0, offsetof(rma::OriginPeer, first)}),
    number<void*>("bundle", {0, offsetof(rma::OriginPeer, bundle)}),
    number<rma::OriginPeer::Lock>("lock", {0, offsetof(rma::OriginPeer, lock)}),
    number<bool>("exclusive", {0, offsetof(rma::OriginPeer, exclusive)}),
    number<bool>("in_access", {0, offsetof(rma::OriginPeer, in_access)}),
    number<bool>("access_granted", {0, offsetof(rma::OriginPeer, access_granted)}),
    number<std::uint32_t>("posts_used", {0, offsetof(rma::OriginPeer, posts_used)}),
    number<std::uint32_t>("posts", {0, offsetof(rma::OriginPeer, posts)}),
    number<std::uint64_t>("wanted", {0, offsetof(rma::OriginPeer, wanted)}),
    number<std::uint64_t>("counted", {0, offsetof(rma::OriginPeer, counted)}),
    number<std::uint32_t>("replies", {0, offsetof(rma::OriginPeer, replies)}),
    number<std::uint32_t>("natives", {0, offsetof(rma::OriginPeer, natives)}),
};
template <>
const look::Schema Insight<rma::OriginPeer>::kSchema = look::schema("window_target", kFields);

template <>
const look::Field Insight<rma::TargetPeer>::kFields[] = {
    // Behind a pointer, which is null for a member that has sent nothing.
    number<std::uint32_t>("completes_used", {0, offsetof(rma::TargetPeer, completes_used)}),
    number<std::uint32_t>("completes", {0, offsetof(rma::TargetPeer, completes)}),
    number<bool>("holds", {0, offsetof(rma::TargetPeer, holds)}),
};
template <>
const look::Schema Insight<rma::TargetPeer>::kSchema = look::schema("window_origin", kFields);

namespace {

template <class T, class Item = T>
look::Published rows(const std::vector<Item>& all, const Window& window) noexcept {
  return {Insight<T>::kSchema, all.data(), all.size(), sizeof(Item), &window};
}

}  // namespace

WindowShown::WindowShown(const Window& window) noexcept
    : window_(Insight<Window>::kSchema, &window),
      routes_(rows<WindowRoute>(Insight<Window>::routes(window), window)),
      targets_(rows<rma::OriginPeer>(Insight<Window>::targets(window), window)),
      origins_(rows<rma::TargetPeer>(Insight<Window>::origins(window), window)) {}

}  // namespace lfc
