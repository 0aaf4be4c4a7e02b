// UnsharedLink: a link that reaches no peer. It stands in front of other links in the list of an engine, so that their
// positions differ from those in the lists of its peers.
//
//   ni.add_link(std::make_unique<UnsharedLink>());
//   ni.add_link(fabric.make_link(ni.sink(), ni.counters()));
//
// It registers memory under keys that mean nothing to other links. It may take smaller frames than they do, which
// limits the frames of its engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "link/link.hpp"

namespace lfc {

class UnsharedLink final : public Link {
 public:
  explicit UnsharedLink(std::size_t max_payload = SIZE_MAX)
      : Link({.name = "unshared"}), max_payload_(max_payload) {}
  std::size_t max_payload() const noexcept override { return max_payload_; }
  void publish(AddressWriter&) const override {}
  bool reach(const Address&, std::string& why_not) override {
    why_not = "no peer has this link";
    return false;
  }
  bool connect(PeerId, const Address&, std::string&) override { return false; }
  void close(PeerId) noexcept override {}
  SendStatus send(PeerId, Meta, const Slice*, int) noexcept override { return SendStatus::broken; }
  int poll() noexcept override { return 0; }
  bool register_memory(void*, std::size_t, LinkRegion& out) override {
    out = {UINT64_MAX, UINT64_MAX, nullptr};
    return true;
  }

 private:
  const std::size_t max_payload_;
};

}  // namespace lfc
