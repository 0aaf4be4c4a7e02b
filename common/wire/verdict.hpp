// Verdict: the result of a protocol that has examined a frame.
//
//   Verdict Target::on_lock(Rank from, const WindowHead& head) {
//     if (tickets_.size() >= peers_.size()) return Verdict::malformed;
//
// It is here, and not in the engine, so that a protocol can be tested without an engine.
#pragma once

#include <cstdint>

namespace lfc {

enum class Verdict : std::uint8_t {
  release,    // handled: the receive buffer is free
  hold,       // ServicePort::release() or ack() follows, or has been called already
  malformed,  // the peer violates the protocol: its connection is closed
};

}  // namespace lfc
