// EngineCarrier: the carrier (carrier.hpp) of one window, on top of the service. It has the route to each member, and
// fills in sender and receiver of a frame.
//
//   EngineCarrier carrier(windows, window, rank, ranks);
//   carrier.route(2).peer = id;                             // from connect()
//
// Threads: the caller serialises, as for the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "link/region.hpp"
#include "look/records.hpp"
#include "machine/shared_memory.hpp"
#include "services/windows/member_regions.hpp"
#include "services/windows/protocol/carrier.hpp"

namespace lfc {

class Window;
class WindowService;

// Where frames and copies for a member go.
struct WindowRoute {
  PeerId peer = kNoPeer;
  std::uint32_t id = 0;  // the window's name there
  std::uint64_t base = 0;
};

// The counters of notified access at this member: adds to one of them. False: there is no such counter.
struct WindowNotifications {
  bool (*count)(void* context, std::uint64_t counter, std::uint64_t by) = nullptr;
  void* context = nullptr;
};

class EngineCarrier final : public rma::Carrier {
 public:
  EngineCarrier(WindowService& windows, Window& window, rma::Rank self, std::uint32_t ranks)
      : windows_(windows), window_(window), rank_(self), routes_(ranks) {}

  rma::Rank self() const noexcept { return rank_; }
  WindowRoute& route(rma::Rank rank) noexcept { return routes_[rank]; }
  const WindowRoute& route(rma::Rank rank) const noexcept { return routes_[rank]; }
  const std::vector<WindowRoute>& routes() const noexcept { return routes_; }
  MemberRegions& regions() noexcept { return regions_; }
  void set_notifications(const WindowNotifications& to) noexcept { notifications_ = to; }
  // Returns the region handle of a member. `size`: of its memory.
  RegionHandle region_of(rma::Rank rank, std::uint64_t size) const noexcept {
    return regions_.at(rank, routes_[rank].base, size);
  }
  // Keeps the region handle of a member as long as the window. Throws std::bad_alloc.
  const RegionHandle& keep_region(rma::Rank rank, std::uint64_t size) {
    return *handles_.emplace_back(std::make_unique<const RegionHandle>(region_of(rank, size)));
  }
  // Keeps the segment of a local peer mapped as long as the window. Returns its memory.
  std::byte* keep(SharedMemory segment) {
    segments_.push_back(std::move(segment));
    return segments_.back().data();
  }

  PeerId peer_of(rma::Rank rank) const noexcept override { return routes_[rank].peer; }
  std::size_t frame_bytes() const noexcept override;
  bool send(rma::Rank to, WindowHead head, std::span<const Run> runs,
            std::span<const std::byte> data) override;
  void transfer(const WindowCall& call) override;
  void signal(rma::Rank to, WindowHead head) override;
  void acknowledge(rma::Rank to, WindowAck ack) override;
  void reply(rma::Rank to, const WindowHead& head, std::span<const Run> runs,
             std::vector<std::byte> values) override;
  void wake() override;
  bool notify(std::uint64_t counter, std::uint64_t by) override {
    return notifications_.count != nullptr &&
           notifications_.count(notifications_.context, counter, by);
  }
  bool copy_at_once(const PlainCall& call) noexcept override;
  bool copy_bundle(rma::Rank to, std::span<const std::byte> bundle) noexcept override;

 private:
  template <class>
  friend struct Insight;  // lfc-look

  WindowService& windows_;
  Window& window_;
  const rma::Rank rank_;
  std::vector<WindowRoute> routes_;
  MemberRegions regions_;
  WindowNotifications notifications_;
  std::vector<std::unique_ptr<const RegionHandle>> handles_;  // of members
  std::vector<SharedMemory> segments_;                        // of local peers
};

}  // namespace lfc
