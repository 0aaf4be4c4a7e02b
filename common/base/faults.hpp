// Faults on purpose: places at which what is legal but rare happens at random in a small world (base/small_world.hpp):
// a link has no room, a write is short, the host stays away, the thread runs. In the normal build none exists.
//
//   if (fault(Fault::send_refused)) return Attempt::no_room;
//
// Whether the n-th pass of a point fires depends on the seed, the point's name and n alone, so what runs in one thread,
// as the simulator does, is replayed by its seed. A point fires seldom enough that whoever tries again gets on. By
// seed, half of the points (never pass_skipped) are off, and the others fire in one of 2 to 256 passes; with seed 0 all
// do, in one of 16. LFC_SMALL_WORLD_FAULTS can name the only ones that may; 0: none. At its end a process that had
// points to pass says, on standard error, which fired how often:
//
//   lfc-faults fired=31 send_refused=12/340 ...
//
// Threads: any.
#pragma once

#include <cstdint>

namespace lfc {

enum class Fault : std::uint8_t {
  send_refused,  // a link has no room for a frame
  copy_refused,  // nor for a put or get of its own
  pass_skipped,  // the host comes by and does not poll (a turn of the thread is whole: it ends with a look)
  host_absent,   // the host does not take what waits for it
  host_leaves,   // messages are queued as if the host were away
  queue_full,    // a queued message keeps its receive buffer
  thread_wakes,  // the NI's thread looks at once
  thread_runs,   // and drives the control program although the host is there
  rail_strays,   // a frame takes another rail
  write_short,   // the kernel takes part of what tcp writes
  read_short,    // and gives a few bytes of what there is
  board_waits,   // a step of a board may not be written yet
  count_
};

#ifdef LFC_SMALL_WORLD
bool fault(Fault where) noexcept;
// All points begin anew, under this seed as well.
void restart_faults(std::uint64_t seed) noexcept;
#else
constexpr bool fault(Fault) noexcept { return false; }
constexpr void restart_faults(std::uint64_t) noexcept {}
#endif

}  // namespace lfc
