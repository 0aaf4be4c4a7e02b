// Upkeep: what poll() of a tcp link does now and then: it ends what others have found to be broken, looks at the clock
// for what has a deadline, and whether the nodes of peers are still there; and frees dead connections.
//
//   if (connections.need_attention()) events += upkeep.attend();
//   if (time_to_look && connections.timed()) events += upkeep.check_time(Clock::now());
//   events += upkeep.look_after_peers();            // the timer has rung
//
// Threads: as Link.
#pragma once

#include "link/tcp/connections.hpp"
#include "link/tcp/greeting.hpp"
#include "link/tcp/hot_list.hpp"
#include "link/tcp/sending.hpp"
#include "link/tcp/strangers.hpp"

namespace lfc::tcp {

class Upkeep {
 public:
  Upkeep(Connections& connections, Sending& sending, HotList& hot, Strangers& strangers,
         Greeting& greeting)
      : connections_(connections),
        sending_(sending),
        hot_(hot),
        strangers_(strangers),
        greeting_(greeting) {}

  int attend();
  int check_time(Clock::time_point now);
  int look_after_peers();
  // Reads and forgets what a closed peer still sends.
  int discard(Connection& connection) noexcept;

 private:
  void bury() noexcept;

  Connections& connections_;
  Sending& sending_;
  HotList& hot_;
  Strangers& strangers_;
  Greeting& greeting_;
};

}  // namespace lfc::tcp
