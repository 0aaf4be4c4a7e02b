// Arrivals: puts the numbered frames of one stream, which come over several rails, into order.
//
//   switch (arrivals.judge(number)) {
//     case Arrivals::Order::due: deliver(frame); arrivals.next(); break;
//     case Arrivals::Order::early: if (!arrivals.keep(number, meta, payload)) protocol_error(); break;
//     case Arrivals::Order::had: break;                          // drop it
//   }
//   while (auto kept = arrivals.take_due()) deliver(*kept);
//
// The kept frames are bounded by the frames that a sender may leave unacknowledged (link/bond/retained.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "link/bond/bond_wire.hpp"
#include "link/bond/retained.hpp"
#include "wire/frame.hpp"

namespace lfc::bond {

class Arrivals {
 public:
  enum class Order : std::uint8_t { due, early, had };
  struct Kept {
    Meta meta{};
    std::vector<std::byte> bytes;  // aligned as operator new aligns
  };

  Order judge(std::uint32_t number) const noexcept {
    const std::int32_t ahead = distance(expected_, number);
    return ahead == 0 ? Order::due : ahead < 0 ? Order::had : Order::early;
  }
  // The frame that was due has been delivered.
  void next() noexcept { ++expected_; }
  // The last number up to which nothing is missing.
  std::uint32_t complete() const noexcept { return expected_ - 1; }

  // False: a correct sender is never that far ahead. A frame that is kept already is dropped.
  bool keep(std::uint32_t number, Meta meta, std::span<const std::byte> payload) {
    const std::size_t frames = limits::kBondFrames + limits::kBondControlFrames;
    const std::size_t bytes = limits::kBondBytes + Retained::kControlBytes;
    if (distance(expected_, number) >= static_cast<std::int32_t>(frames)) return false;
    if (bytes_ + payload.size() > bytes) return false;
    const auto [entry, fresh] = kept_.try_emplace(number);
    if (!fresh) return true;
    entry->second = {meta, {payload.begin(), payload.end()}};
    bytes_ += payload.size();
    return true;
  }
  // Takes out the frame that is due, if it has come; counts it as delivered.
  std::optional<Kept> take_due() {
    if (kept_.empty()) [[likely]]
      return std::nullopt;
    const auto entry = kept_.find(expected_);
    if (entry == kept_.end()) return std::nullopt;
    Kept frame = std::move(entry->second);
    kept_.erase(entry);
    bytes_ -= frame.bytes.size();
    ++expected_;
    return frame;
  }
  std::size_t memory() const noexcept { return bytes_; }

 private:
  std::uint32_t expected_ = 1;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint32_t, Kept> kept_;  // early ones
};

}  // namespace lfc::bond
