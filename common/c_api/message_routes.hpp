// MessageRoutes: the functions that receive the rank's messages, by their tags: the host's, or another one for a tag
// that a protocol of LFC uses.
//
//   MessageRoutes routes;
//   routes.set_host(host.receive);                 // it receives the messages of all tags
//   routes.divert(tag, receive_on_channels);       // but not those of this tag
//   routes.pass(endpoint, peer, tag, data, size);  // a message has arrived
//   routes.restore(tag);                           // the host receives them again
//
// Any tag costs one load and one jump. Threads: the one that calls the host back. Tests:
// tests/unit/c_api/message_routes_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lfc {

class MessageRoutes {
 public:
  // As lfc_host.receive: the sender's endpoint, null before it has one; the sender; tag and bytes.
  using Receive = void (*)(void* endpoint, std::uint32_t peer, std::uint8_t tag, const void* data,
                           std::size_t size);

  // The host receives the messages of all tags from now on.
  void set_host(Receive host) noexcept {
    host_ = host;
    routes_.fill(host);
  }
  void divert(std::uint8_t tag, Receive receive) noexcept { routes_[tag] = receive; }
  void restore(std::uint8_t tag) noexcept { routes_[tag] = host_; }
  // Call set_host() before.
  [[gnu::always_inline]] void pass(void* endpoint, std::uint32_t peer, std::uint8_t tag,
                                   const void* data, std::size_t size) const {
    routes_[tag](endpoint, peer, tag, data, size);
  }

 private:
  Receive host_ = nullptr;
  std::array<Receive, UINT8_MAX + 1> routes_{};
};

}  // namespace lfc
