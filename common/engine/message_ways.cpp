#include "engine/message_ways.hpp"

#include <chrono>

namespace lfc {

std::uint64_t MessageWays::now() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

void MessageWays::choose(RemoteOp& op) {
  if (op.peer >= peers_.size()) peers_.resize(op.peer + std::size_t{1});
  std::unique_ptr<PeerWays>& peer = peers_[op.peer];
  if (peer == nullptr) peer = std::make_unique<PeerWays>();
  op.choice = peer->chooser.choose(op.size);
  op.native = op.choice->way == WayChooser::Way::copied;
  op.began = now();
  op.copies = copies_;
  counters_.add(op.native ? Counter::fetches_copied : Counter::fetches_streamed);
  if (op.choice->tried) counters_.add(Counter::fetches_tried);
}

void MessageWays::copied(const RemoteOp& op, std::uint64_t began) noexcept {
  ++copies_;
  took(op, began, now(), true);
}

void MessageWays::streamed(const RemoteOp& op) noexcept {
  PeerWays& peer = *peers_[op.peer];
  const std::uint64_t end = now();
  const bool alone = op.began >= peer.last_end;
  const std::uint64_t began = alone ? op.began : peer.last_end;
  const bool undisturbed = copies_ == (alone ? op.copies : peer.last_copies);
  peer.last_end = end;
  peer.last_copies = copies_;
  took(op, began, end, undisturbed);
}

void MessageWays::took(const RemoteOp& op, std::uint64_t began, std::uint64_t ended,
                       bool undisturbed) noexcept {
  peers_[op.peer]->chooser.took(
      *op.choice, op.size, {static_cast<double>(began), static_cast<double>(ended), undisturbed},
      WayChooser::sample(op.local, op.size));
}

}  // namespace lfc
