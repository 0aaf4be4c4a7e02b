// Protocol: one window of one member: its memory, the two halves, and the epochs that join them. It takes frames and
// calls, and uses only its Carrier: a service of the NI (window_service.hpp), or a test.
//
//   Protocol protocol(rank, ranks, flavor, base, size, control, operations, carrier);
//   verdict = protocol.on_head(from, head, rest);
//   protocol.epochs.begin_lock(1, true, false);
//   protocol.origin.issue(call);
//
// Threads: the caller serialises.
#pragma once

#include <cstdint>
#include <span>

#include "services/windows/protocol/epochs.hpp"
#include "wire/verdict.hpp"

namespace lfc::rma {

struct Protocol {
  Protocol(Rank self, std::uint32_t ranks, Flavor flavor, std::byte* base, std::uint64_t size,
           WindowControl* control, Operations& operations, Carrier& carrier)
      : memory(flavor, base, size, control),
        origin(ranks, memory, operations, carrier),
        target(ranks, memory, carrier),
        epochs(self, origin, target) {}

  // Handles a frame of a member of the window.
  Verdict on_head(Rank from, const WindowHead& head, std::span<const std::byte> rest);

  ExposedMemory memory;
  Origin origin;
  Target target;
  Epochs epochs;
};

// Returns the status that the target reports in an ack; `invalid` if the value is no status.
WindowStatus status_of(const WindowAck& ack) noexcept;

}  // namespace lfc::rma
