// ShmLink: the shared-memory link: frames through rings between the processes of one node, and remote
// memory in a single copy by CMA where the kernel permits it.
//
//   ShmOptions options;
//   std::string why_not;
//   std::unique_ptr<Link> link = make_shm_link(options, sink, why_not);   // null: why_not has the reason
//
// A sender connects by claiming a ring place in the receiver's segment (segment.hpp). The receiver
// polls only places that have a sender, so an idle peer costs a load of a line in its cache, and a
// process without senders has no ring at all. Memory per active sender: the pages it
// has used, at most RingShape::bytes(). Descriptors: one for each peer that sends or receives.
//
// An orderly end (close(), or the destruction of the peer's link) is not reported until the next
// send(), which returns `broken`; on_broken() follows. poll() detects a dead peer within about a fifth
// of a second of polling; the frames that the peer had sent are delivered first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "link/link.hpp"
#include "link/ring.hpp"

namespace lfc {

struct ShmOptions {
  RingShape ring;              // of the rings in which this process receives
  std::uint32_t places = 256;  // processes that can be connected to this one at the same time
  bool cma = true;             // use single copy where it is permitted
  bool bell = false;           // wait_fds() and arm(): the owner may sleep, and senders wake it
  std::size_t single_copy_from =
      0;  // bytes of a message from which on it is taken; 0: where it is faster
  // Receives one line for the user, at most once per link: the reason why there is no single copy.
  void (*notice)(std::string_view line) = nullptr;
};

std::unique_ptr<Link> make_shm_link(const ShmOptions& options, FrameSink& sink,
                                    std::string& why_not);

}  // namespace lfc
