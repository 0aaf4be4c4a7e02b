// Shared: state that the parts of one verbs link share.
//
// Threads: as Link.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "link/present_time.hpp"
#include "link/verbs/buffers.hpp"
#include "link/verbs/connection.hpp"
#include "link/verbs/transfers.hpp"
#include "link/verbs/verbs_link.hpp"

namespace lfc::verbs {

struct Shared {
  Shared(Link& link_of, const VerbsOptions& options_given, const Identity& own, FrameSink& sink_of,
         Counters& counters_of, std::unique_ptr<Device> opened)
      : link(link_of),
        options(options_given),
        identity(own),
        sink(sink_of),
        counters(counters_of),
        device(std::move(opened)),
        transfers(*device, outstanding) {}

  Link& link;
  const VerbsOptions options;
  const Identity identity;
  FrameSink& sink;
  Counters& counters;
  const std::unique_ptr<Device> device;
  Endpoint here;
  std::uint32_t outstanding = 0;  // work requests of all connections
  bool is_unresponsive =
      false;  // a peer was given up without a reply, and no datagram has come since
  ReceivePool receives;
  SendPool sends;
  Transfers transfers;
  PresentTime present;  // of all deadlines of connections
};

}  // namespace lfc::verbs
