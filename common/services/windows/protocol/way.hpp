// Way: the path of an operation to its target. One function chooses it for every operation.
//
//   switch (choose(peer.reach, shape, moment)) { ... }
//
// | way     | effect                                               | when                                             |
// |---------|------------------------------------------------------|--------------------------------------------------|
// | stores  | loads, stores, CPU atomics of the caller             | the target's memory is mapped here               |
// | at_once | the link copies within the call                      | contiguous put or get, the lock is held, and the |
// |         |                                                      | link needs no work of the target                 |
// | link    | the link moves the bytes                             | contiguous put or get: large, or in a passive    |
// |         |                                                      | epoch, and the link needs no work of the target  |
// | frames  | the target's NI serves it                            | everything else                                  |
// | later   | one of these, once permitted and first in the queue  | no lock, no post, no credit yet                  |
//
// Small puts and accumulates in frames join a bundle (bundle.hpp) if they cannot start, or others are not done yet. So
// do small puts at_once behind another one, until the next wait.
//
// Small operations stay in order. MPI orders only accumulates, but programs put, fetch and get the same element without
// a flush between them, and other implementations keep that order. So no small operation goes by the link beside frames
// that are under way. In an active epoch a small operation ends only when the target reports that, so a frame is early
// enough, and costs a tenth. In a passive epoch it must not wait for any work of the target.
// *Held by* tests/unit/services/windows/way_test.cpp (all that can be, against this table).
#pragma once

#include <cstdint>

#include "base/limits.hpp"

namespace lfc {

enum class Way : std::uint8_t { stores, at_once, link, frames, later };

// Properties of a member that last as long as the window.
struct Reach {
  bool mapped = false;         // its memory, in this process
  bool registered = false;     // its memory, with the links, by its owner
  bool remote_memory = false;  // the link writes to it
  bool one_sided = false;      // without any work of the target
  bool within_call = false;    // the link finishes before the call returns, if possible
};

struct Shape {
  enum class Kind : std::uint8_t { put, get, other };
  Kind kind = Kind::other;
  bool contiguous = false;  // on both sides
  bool request = false;     // the caller wants a completion
  std::uint64_t bytes = 0;
};

struct Moment {
  bool ready = false;             // it is permitted, and nothing waits before it
  bool passive = false;           // by a lock
  bool held = false;              // and the lock is held
  bool frames_under_way = false;  // to that target, not done yet
};

// Returns the way that it takes if nothing waits before it.
inline Way lasting_way(const Reach& reach, const Shape& shape, const Moment& moment) noexcept {
  if (reach.mapped) return Way::stores;
  if (!reach.registered || !shape.contiguous || shape.kind == Shape::Kind::other)
    return Way::frames;
  // A get by the link is a get in frames where the link reads nothing itself.
  const bool is_get = shape.kind == Shape::Kind::get;
  if (shape.bytes >= limits::kWindowNative)
    return is_get || reach.remote_memory ? Way::link : Way::frames;
  const bool alone = moment.passive && !moment.frames_under_way;
  return alone && (is_get || reach.one_sided) ? Way::link : Way::frames;
}

inline Way choose(const Reach& reach, const Shape& shape, const Moment& moment) noexcept {
  if (!moment.ready) return Way::later;
  const Way way = lasting_way(reach, shape, moment);
  const bool at_once = way == Way::link && reach.within_call && moment.held &&
                       !moment.frames_under_way && !shape.request;
  return at_once ? Way::at_once : way;
}

}  // namespace lfc
