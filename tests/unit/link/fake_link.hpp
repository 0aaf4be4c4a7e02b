// FakeLink: a link that reaches and connects to all peers, accepts each frame, and delivers none. Tests derive their
// links from it, and override the calls that matter to them.
//
//   struct Busy final : FakeLink {
//     Busy() : FakeLink({.name = "busy"}) {}
//     SendStatus send(PeerId, Meta, const Slice*, int) noexcept override { return SendStatus::again; }
//   };
#pragma once

#include <cstddef>
#include <string>

#include "link/link.hpp"

namespace lfc {

struct FakeLink : Link {
  using Link::Link;
  std::size_t max_payload() const noexcept override { return 4096; }
  void publish(AddressWriter&) const override {}
  bool reach(const Address&, std::string&) override { return true; }
  bool connect(PeerId, const Address&, std::string&) override { return true; }
  void close(PeerId) noexcept override {}
  SendStatus send(PeerId, Meta, const Slice*, int) noexcept override { return SendStatus::sent; }
  int poll() noexcept override { return 0; }
};

}  // namespace lfc
