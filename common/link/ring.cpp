#include "link/ring.hpp"

namespace lfc {
namespace {

bool power_of_two_within(std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  return std::has_single_bit(value) && value >= low && value <= high;
}

std::uint64_t pack_progress(std::uint32_t slots, std::uint32_t bulk) noexcept {
  return std::uint64_t{bulk} << 32 | slots;
}

}  // namespace

bool RingShape::valid(std::string& why_not) const {
  if (!power_of_two_within(slots, kMinSlots, kMaxSlots)) {
    why_not = "slots must be a power of two from 16 to 16384, not " + std::to_string(slots);
  } else if (!power_of_two_within(bulk, kMinBulk, kMaxBulk)) {
    why_not = "bulk must be a power of two from 4 KiB to 64 MiB, not " + std::to_string(bulk);
  } else if (max_payload < kInlinePayload || max_payload > std::min(bulk / 4, kMaxPayload)) {
    why_not = "max_payload must be from " + std::to_string(kInlinePayload) +
              " to a quarter of the bulk, and below 16 MiB, not " + std::to_string(max_payload);
  } else {
    return true;
  }
  return false;
}

SendStatus RingWriter::send(Meta meta, const Slice* slices, int count) noexcept {
  if (next_ + reserve(meta) >= full_at_) {
    if (shut_ || !refresh()) return SendStatus::broken;
    if (next_ + reserve(meta) >= full_at_) return SendStatus::again;
  }
  const Slice none{nullptr, 0};
  if (count <= 2 && send_short(meta, count > 0 ? slices[0] : none, count > 1 ? slices[1] : none))
    return SendStatus::sent;
  return send_long(meta, slices, count, total_size(slices, count));
}

// There is room in the slots.
SendStatus RingWriter::send_long(Meta meta, const Slice* slices, int count,
                                 std::size_t length) noexcept {
  if (length > max_payload_) return SendStatus::broken;
  const std::uint32_t need = units(length);
  const std::uint32_t start = place_bulk(bulk_next_, need);
  const auto fits = [&] { return start + need - bulk_consumed_ <= bulk_units_; };
  std::byte* to = slot(next_) + sizeof(std::uint64_t);
  if (length > kInlinePayload) {
    if (!fits()) {
      if (!refresh()) return SendStatus::broken;
      if (!fits()) return SendStatus::again;
    }
    to = bulk(start);
    bulk_next_ = start + need;
  }
  for (int i = 0; i < count; ++i) {
    if (slices[i].size == 0) continue;  // its data may be null
    std::memcpy(to, slices[i].data, slices[i].size);
    to += slices[i].size;
  }
  show(next_, meta, length);
  ++next_;
  prefetch_to_write(bulk(place_bulk(bulk_next_, need)), length);  // as in send_short()
  return SendStatus::sent;
}

bool RingWriter::refresh() noexcept {
  // Pairs with the release in RingReader::publish: the reader has done with what we overwrite.
  const std::uint64_t seen = progress_->consumed.load(std::memory_order_acquire);
  const std::uint64_t consumed = full_at_ - slot_count_;
  const std::uint32_t slots =
      static_cast<std::uint32_t>(seen) - static_cast<std::uint32_t>(consumed);
  const std::uint32_t bulk_units = static_cast<std::uint32_t>(seen >> 32) - bulk_consumed_;
  if (slots > next_ - consumed || bulk_units > bulk_next_ - bulk_consumed_) return false;
  full_at_ += slots;
  bulk_consumed_ += bulk_units;
  return true;
}

RingReader::Peek RingReader::look_at_stale(std::uint64_t word) noexcept {
  // It holds the frame of the lap before, or nothing.
  const bool stale = next_ < slot_count_ ? word == 0
                                         : RingWord::sequence(word) ==
                                               static_cast<std::uint16_t>(next_ + 1 - slot_count_);
  if (!stale) return Peek::corrupt;
  empty_word_ = word;
  return Peek::empty;
}

void RingReader::publish() noexcept {
  publish_at_ = next_ + slot_count_ / 4;
  bulk_published_ = bulk_next_;
  // Pairs with the acquire in RingWriter::refresh.
  progress_->consumed.store(pack_progress(static_cast<std::uint32_t>(next_), bulk_published_),
                            std::memory_order_release);
}

}  // namespace lfc
