// Trace: a ring of an NI's last events for lfc-look. It records each frame, sent or received, and each connection. It
// stands between the NI and its links: as a link around each link, and as the links' sink. Without a trace nothing of
// it is there and nothing costs time. With a trace, frames are not written to rings directly.
//
//   auto trace = std::make_shared<Trace>(ni.sink(), 1000);       // events
//   std::unique_ptr<Link> traced = trace->around(make_shm_link(options, trace->sink(), why_not));     // for the NI
//
// Threads: under the NI's lock, as links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "link/link.hpp"
#include "look/published.hpp"
#include "look/states.hpp"

namespace lfc {

class Trace final : public std::enable_shared_from_this<Trace>, private FrameSink {
 public:
  using What = look::LinkEvent;
  struct Event {
    std::int64_t time = 0;  // ns of the steady clock
    std::uint64_t bytes = 0;
    PeerId peer = kNoPeer;
    What what = What::none;
    FrameType type{};
    std::uint8_t tag = 0;
    std::uint8_t credits = 0;
  };

  Trace(FrameSink& to, std::size_t events);
  FrameSink& sink() noexcept { return *this; }
  std::unique_ptr<Link> around(std::unique_ptr<Link> link);

  void note(What what, PeerId peer, Meta meta = {}, std::size_t bytes = 0) noexcept;

 private:
  void on_frame(PeerId peer, Meta meta, std::span<const std::byte> payload) override;
  PeerId on_connect(Link& link, const Address& from) override;
  const Address* published(const Address& claimed) const override { return to_.published(claimed); }
  Batch may_batch(bool stream) noexcept override { return to_.may_batch(stream); }
  bool on_unanswered(PeerId peer, Link& link, std::string_view why) override {
    return to_.on_unanswered(peer, outer(link), why);
  }
  void on_broken(PeerId peer, Link& link, std::string_view why) override;
  Link& outer(Link& link) const noexcept;

  FrameSink& to_;
  std::vector<Event> events_;
  std::size_t next_ = 0;
  std::vector<std::pair<Link*, Link*>> links_;  // as they are, and as the NI has them
  const look::Published shown_;
};

}  // namespace lfc
