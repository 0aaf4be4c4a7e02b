// Ways to exchange halos in the ring (ring.hpp), by name.
//
//   auto exchange = ring::make("pscw", layout, "allocate");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ring.hpp"
#ifdef APP_NEON
#include "ring_neon.hpp"
#endif

namespace ring {

inline const std::vector<std::string> kWays = {
    "sendrecv", "isend",  "fence", "pscw", "lock",
#ifdef APP_NEON
    "neon",     "notify",
#endif
};

// Collective. `way` is one of kWays, `windows` one of app::kWindows.
inline std::unique_ptr<Exchange> make(const std::string& way, Layout layout,
                                      const std::string& windows) {
  if (way == "sendrecv") return std::make_unique<SendReceive>(layout);
  if (way == "isend") return std::make_unique<Nonblocking>(layout);
  if (way == "fence") return std::make_unique<Fence>(layout, windows);
  if (way == "pscw") return std::make_unique<Pscw>(layout, windows);
  if (way == "lock") return std::make_unique<Flush>(layout, windows);
#ifdef APP_NEON
  if (way == "neon") return std::make_unique<Neon>(layout, windows);
  if (way == "notify") return std::make_unique<Notify>(layout, windows);
#endif
  app::fail("no way '%s'", way.c_str());
}

}  // namespace ring
