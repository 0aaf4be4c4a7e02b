// RemoteTarget: serves the frames by which peers reach this process's registered memory, without its host.
//
//   RemoteTarget target(regions, sender);
//   if (!target.serve(peer, meta.type, payload)) ...         // it breaks the protocol
//   target.send_data(peer, get);                             // the answer to a get, when it may be sent
//
// Invariants: every access lies within a live region and has its permission, checked for each frame. A get keeps its
// receive buffer until its reply has left (tests/unit/engine/ni_remote_test.cpp, tests/fuzz).
// Threads: under the NI's lock.
#pragma once

#include <cstddef>
#include <span>

#include "engine/remote_memory.hpp"
#include "engine/sender.hpp"
#include "link/region.hpp"

namespace lfc {

class RemoteTarget {
 public:
  RemoteTarget(RegionTable& regions, Sender& sender) : regions_(regions), sender_(sender) {}

  // Serves a put, get or atomic. False: the frame breaks the protocol.
  bool serve(Peer& peer, FrameType type, std::span<const std::byte> payload);
  // Sends the next frame of the answer to a get, which is the first of the peer's `services`.
  Sender::Step send_data(Peer& peer, GetService& get);

 private:
  bool serve_put(Peer& peer, std::span<const std::byte> payload);
  bool serve_get(Peer& peer, std::span<const std::byte> payload);
  bool serve_atomic(Peer& peer, std::span<const std::byte> payload);

  RegionTable& regions_;
  Sender& sender_;
};

}  // namespace lfc
