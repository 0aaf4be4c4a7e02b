// LoopLink: the link from a process to itself, through a ring in private memory. Frames wait in
// the ring and are delivered by poll(), never inside send(); remote memory is a memmove.
//
//   std::unique_ptr<Link> link = make_loop_link({}, identity, sink, why_not);
#pragma once

#include <memory>
#include <string>

#include "link/link.hpp"
#include "link/ring.hpp"

namespace lfc {

struct LoopOptions {
  bool bell = false;  // wait_fds() and arm(): the poller may sleep, and send() wakes it
  RingShape ring;
};

// `identity` is the process's own. Null: the shape is out of range, `why_not` names the value.
std::unique_ptr<Link> make_loop_link(const LoopOptions& options, const Identity& identity,
                                     FrameSink& sink, std::string& why_not);

}  // namespace lfc
