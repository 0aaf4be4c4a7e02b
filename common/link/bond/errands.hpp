// Errands: what sessions want done outside of any rail's poll(): to connect, to leave rails, to give a peer up, to send
// what waits, to end.
//
//   if (sessions.restless()) events += errands.attend();
//
// Invariant: a session that cannot do all of it now stays restless, and is tried again at the next poll
// (tests/unit/link/bond/bond_test.cpp). Threads: as the link's.
#pragma once

#include "link/bond/connector.hpp"
#include "link/bond/numbered_frames.hpp"

namespace lfc::bond {

class Errands {
 public:
  Errands(Link& link, Rails& rails, Sessions& sessions, Losses& losses, NumberedFrames& frames,
          Transfers& transfers, Connector& connector, FrameSink& sink) noexcept
      : link_(link),
        rails_(rails),
        sessions_(sessions),
        losses_(losses),
        frames_(frames),
        transfers_(transfers),
        connector_(connector),
        sink_(sink) {}

  // How many sessions want nothing more.
  int attend();

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
  Connector& connector_;
  FrameSink& sink_;
};

}  // namespace lfc::bond
