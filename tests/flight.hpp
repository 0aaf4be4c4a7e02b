// Flight: a remote operation that a test has begun, and how often and how it has ended.
//
//   Flight put;
//   put.start = link.put(peer, source, local, address, remote, size, &put);
//   ... until put.finished(); then put.ended(Result::ok)
#pragma once

#include <functional>

#include "link/link.hpp"

namespace lfc {

struct Flight : Operation {
  Flight() {
    done = [](Operation* self, Result ended) {
      auto& flight = static_cast<Flight&>(*self);
      ++flight.calls;
      flight.result = ended;
      if (flight.then) flight.then();
    };
  }
  // Valid if the caller has stored the result of the start in `start`.
  bool finished() const { return start == Link::Start::done || calls == 1; }
  bool ended(Result expected) const { return calls == 1 && result == expected; }

  int calls = 0;
  Result result = Result::not_supported;
  Link::Start start = Link::Start::failed;
  std::function<void()> then;
};

}  // namespace lfc
