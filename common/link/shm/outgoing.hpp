// Outgoing: this process's place in a local peer's segment, and whether large messages may be copied by the kernel to
// and from it.
//
//   Outgoing out(std::move(*place), std::move(watch), name);
//   out.cma = single_copy.permitted(own_name, out.owner);
//   out.writer.send(meta, slices, count);
//   out.end(Outgoing::State::gone);             // no more frames go into the ring; it and the watch are given back
//
// A process may meet any number of peers that end before it (MPI_Comm_spawn), and Open MPI need not remove them. So an
// Outgoing that has ended keeps neither memory of the peer nor a descriptor.
//
// Held by tests/unit/link/shm. Threads: as Link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "link/ring.hpp"
#include "link/shm/incoming_places.hpp"
#include "link/shm/segment.hpp"
#include "machine/cma.hpp"
#include "machine/process_watch.hpp"

namespace lfc {

struct Outgoing {
  enum class State : std::uint8_t {
    open,
    gone,     // the peer has closed; reported by the next send()
    failing,  // to be reported
    broken,   // reported
  };

  Outgoing(RemotePlace&& place_, ProcessWatch&& watch_, const SegmentName& name)
      : writer(place_.ring(), place_.shape()),
        owner(name),
        place(std::move(place_)),
        watch(std::move(watch_)) {
    writer.set_cord(place->cord());
  }

  // No more frames go into the ring, also none that the engine writes directly: the writer touches it no more.
  void end(State how) noexcept {
    state = how;
    writer.shut();
    place.reset();
    watch.reset();
  }

  RingWriter writer;
  State state = State::open;
  bool cma = false;
  SegmentName owner;
  const char* why = "";
  std::optional<RemotePlace> place;   // none: it has ended
  std::optional<ProcessWatch> watch;  // likewise
};

// Whether the kernel copies between this process and a local peer. If not, the user gets one line about it.
class SingleCopy {
 public:
  SingleCopy(bool wanted, void (*notice)(std::string_view)) noexcept
      : wanted_(wanted), notice_(notice) {}

  bool permitted(const SegmentName& own, const SegmentName& peer) {
    if (!wanted_) return false;
    std::string why = "in another pid namespace";
    const bool is = counts_alike(own, peer) &&
                    cma_permitted(peer.memory.pid, peer.probe, peer.memory.cookie[0], why);
    if (is || notice_given_ || notice_ == nullptr) return is;
    notice_given_ = true;
    notice_("shm: no single copy between processes (" + why +
            "); large transfers go through shared buffers");
    return false;
  }

 private:
  const bool wanted_;
  void (*const notice_)(std::string_view);
  bool notice_given_ = false;
};

}  // namespace lfc
