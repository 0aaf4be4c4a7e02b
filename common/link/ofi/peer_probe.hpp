// PeerProbe: asks the kernel of a peer's node whether the peer's process still listens.
//
// Providers over TCP answer "try again" for ever to a sender whose peer has died: they reconnect
// behind the scenes. A peer that computes and makes no progress looks the same. The difference is
// known to its kernel, which takes connections for a living process and refuses them for a dead
// one.
//
//   PeerProbe probe;
//   probe.start(address);                        // the peer's listening address
//   switch (probe.poll(why)) { case PeerProbe::Answer::dead: give_up(why); ... }
//
// Nothing is sent over the connection, and nothing blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lfc {

class PeerProbe {
 public:
  enum class Answer : std::uint8_t { none, alive, dead };

  PeerProbe() = default;
  ~PeerProbe() { stop(); }
  PeerProbe(const PeerProbe&) = delete;
  PeerProbe& operator=(const PeerProbe&) = delete;

  // Begins to connect to a socket address; no effect while one is under way.
  void start(std::span<const std::byte> address) noexcept;
  void stop() noexcept;
  bool running() const noexcept { return socket_ >= 0; }
  // `none` until the kernel knows; anything else ends the probe. `dead` is certain, and `why` says
  // why; in doubt the answer is `alive`.
  Answer poll(std::string& why);

 private:
  int socket_ = -1;
  int failed_ = 0;  // what connect() said at once
};

}  // namespace lfc
