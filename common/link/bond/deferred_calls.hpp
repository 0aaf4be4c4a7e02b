// DeferredCalls: calls of a session that must not be made inside a rail's poll(): to connect, to leave rails, to give
// up a peer, to send waiting frames, to end.
//
//   if (sessions.restless()) events += deferred_calls.run();
//
// Invariant: a session that cannot make all of them now stays restless, and the next poll tries again
// (tests/unit/link/bond/bond_test.cpp). Threads: as the link's.
#pragma once

#include "link/bond/connector.hpp"
#include "link/bond/entries.hpp"
#include "link/bond/numbered_frames.hpp"

namespace lfc::bond {

class DeferredCalls {
 public:
  DeferredCalls(Link& link, Rails& rails, Sessions& sessions, Losses& losses,
                NumberedFrames& frames, Transfers& transfers, Entries& entries,
                Connector& connector, FrameSink& sink) noexcept
      : link_(link),
        rails_(rails),
        sessions_(sessions),
        losses_(losses),
        frames_(frames),
        transfers_(transfers),
        entries_(entries),
        connector_(connector),
        sink_(sink) {}

  // Returns how many sessions have no call left.
  int run();

 private:
  bool settle(Session& session);
  bool connect(Session& session);
  bool leave_lost_rails(Session& session);
  bool send_notes(Session& session);

  Link& link_;
  Rails& rails_;
  Sessions& sessions_;
  Losses& losses_;
  NumberedFrames& frames_;
  Transfers& transfers_;
  Entries& entries_;
  Connector& connector_;
  FrameSink& sink_;
};

}  // namespace lfc::bond
