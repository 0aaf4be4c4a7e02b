// Rails: the links of a bond, each with a sink that adds its number. A rail without events is polled less often.
//
//   Rails rails(events);
//   rails.add("eth0", make_link(rails.next_sink()), RailUse::all);
//   int found = rails.poll();                  // events.on_rail_frame(rail, ...)
//   rails[rail].link->send(session.id, meta, slices, count);
//
// Invariants: a rail without events for 4,096 polls is polled each 16th time, and not all at once; one that was armed
// is polled at once (tests/unit/link/bond/rails_test.cpp). A region is registered with all rails under one key, or with
// none.
// Threads: as the link's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "link/bond/bond_link.hpp"

namespace lfc::bond {

// RailEvents: calls from rails, which know the peer by the id of its session.
class RailEvents {
 public:
  virtual ~RailEvents() = default;
  virtual void on_rail_frame(std::uint8_t rail, PeerId id, Meta meta,
                             std::span<const std::byte> payload) = 0;
  virtual PeerId on_rail_connect(std::uint8_t rail, const Address& from) = 0;
  virtual Batch may_batch(bool stream) noexcept = 0;
  virtual void on_rail_broken(std::uint8_t rail, PeerId id, std::string_view why) = 0;
};

struct Rail {
  std::string label;
  std::unique_ptr<Link> link;
  RailUse use = RailUse::all;
  std::uint32_t quiet = 0;  // polls since it had an event
};

class Rails {
 public:
  explicit Rails(RailEvents& events);

  FrameSink& next_sink() { return *sinks_[all_.size()]; }
  void add(std::string label, std::unique_ptr<Link> link, RailUse use);
  std::uint8_t count() const noexcept { return static_cast<std::uint8_t>(all_.size()); }
  Rail& operator[](std::size_t rail) noexcept { return all_[rail]; }
  const Rail& operator[](std::size_t rail) const noexcept { return all_[rail]; }
  // The least of all rails, in bytes.
  std::size_t max_payload() const noexcept { return max_payload_; }
  std::size_t max_message() const noexcept { return max_message_; }

  void publish(AddressWriter& writer) const;
  void set_own_address(std::span<const std::byte> address);
  // True: at least one rail reaches the peer.
  bool reach(const Address& peer, std::string& why_not);

  int poll() noexcept;
  std::uint64_t polls() const noexcept { return polls_; }
  void flush() noexcept;
  std::chrono::nanoseconds batched_since() const noexcept;
  void wait_fds(std::vector<int>& out) const;
  // Returns the least of `least` and the results of the rails. If that is busy, no rail is armed.
  Link::Armed arm(Link::Armed least) noexcept;
  void disarm() noexcept;
  bool drained() const noexcept;
  std::size_t memory() const noexcept;

  bool register_memory(void* data, std::size_t size, LinkRegion& out);
  void deregister_memory(LinkRegion& region) noexcept;

 private:
  class Sink;

  std::vector<std::unique_ptr<FrameSink>> sinks_;
  std::vector<Rail> all_;
  std::size_t max_payload_ = 0;
  std::size_t max_message_ = 0;
  std::uint64_t polls_ = 0;
};

}  // namespace lfc::bond
