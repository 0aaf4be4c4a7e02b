// Faults: points at which legal but rare events happen at random in a small world (base/small_world.hpp). A link has no
// room, a write is short, the host stays away, the thread runs. In the normal build none exists.
//
//   if (fault(Fault::send_refused)) return Attempt::no_room;
//
// Whether the n-th pass of a point fires depends on the seed, the point's name and n alone. So a run in one thread,
// like that of the simulator, is replayed by its seed. A point fires so seldom that retries succeed. By
// seed, half of the points (never pass_skipped) are off, and the others fire in one of 2 to 256 passes. With seed 0 all
// fire, in one of 16. LFC_SMALL_WORLD_FAULTS can name the only points that may fire; 0: none. At its end a process that
// has passed points prints on standard error how often each fired:
//
//   lfc-faults fired=31 send_refused=12/340 ...
//
// Threads: any.
#pragma once

#include <cstdint>

namespace lfc {

enum class Fault : std::uint8_t {
  send_refused,  // a link has no room for a frame
  copy_refused,  // a link has no room for a put or get of its own
  pass_skipped,  // progress() of the host does not poll (a turn of the thread is whole: it ends with a look)
  host_absent,   // the host does not take messages that wait for it
  host_leaves,   // messages are queued as if the host were away
  queue_full,    // a queued message keeps its receive buffer
  thread_wakes,  // the NI's thread looks at once
  thread_runs,   // the thread drives the control program although the host is inside
  rail_strays,   // a frame takes another rail
  write_short,   // the kernel takes only a part of a write of tcp
  read_short,    // the kernel returns only a few of the bytes that have arrived
  board_waits,   // a step of a board may not be written yet
  count_
};

#ifdef LFC_SMALL_WORLD
bool fault(Fault where) noexcept;
// Resets all points, with this additional seed.
void restart_faults(std::uint64_t seed) noexcept;
#else
constexpr bool fault(Fault) noexcept { return false; }
constexpr void restart_faults(std::uint64_t) noexcept {}
#endif

}  // namespace lfc
