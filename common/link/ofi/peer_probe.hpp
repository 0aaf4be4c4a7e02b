// PeerProbe: a test, by the kernel of a peer's node, whether the peer's process still listens.
//
// Providers over TCP return "try again" for ever to a sender whose peer has ended, because they reconnect internally. A
// peer that computes and makes no progress looks the same. Its kernel distinguishes both: it accepts connections for a
// running process and refuses them for one that has ended.
//
//   PeerProbe probe;
//   probe.start(address);                        // the peer's listening address
//   switch (probe.poll(why)) { case PeerProbe::Outcome::dead: give_up(why); ... }
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
  enum class Outcome : std::uint8_t { none, alive, dead };

  PeerProbe() = default;
  ~PeerProbe() { stop(); }
  PeerProbe(const PeerProbe&) = delete;
  PeerProbe& operator=(const PeerProbe&) = delete;

  // Begins to connect to a socket address; no effect while a probe is under way.
  void start(std::span<const std::byte> address) noexcept;
  void stop() noexcept;
  bool running() const noexcept { return socket_ >= 0; }
  // Returns `none` while the kernel has not replied; another result ends the probe. `dead` is certain, and `why` is the
  // reason; in doubt the result is `alive`. Does not wait.
  Outcome poll(std::string& why);

 private:
  int socket_ = -1;
  int failed_ = 0;  // the error that connect() returned at once
};

}  // namespace lfc
