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
  std::byte* const word = slot(next_);
  std::byte* to = word + sizeof(std::uint64_t);
  if (length > kInlinePayload) {
    const std::uint32_t need = units(length);
    if (need > bulk_until_ - bulk_next_) {
      const SendStatus status = make_room(need);
      if (status != SendStatus::sent) return status;
    }
    to = take_bulk(to, need);
  }
  for (int i = 0; i < count; ++i) {
    if (slices[i].size == 0) continue;  // its data may be null
    std::memcpy(to, slices[i].data, slices[i].size);
    to += slices[i].size;
  }
  const std::uint64_t number = next_++;
  show(word, RingWord::pack(number, meta, length));
  if (length > kInlinePayload) prepare_next(length);
  return SendStatus::sent;
}

// Reserves bulk for a payload and some more like it. It begins at the beginning of the area if the
// reader has consumed everything and the payload is not long: in a stream of long ones both sides would
// wait for the same lines. The check reads a line that the reader writes, so it becomes rarer (stretch_)
// while the reader does not keep up.
SendStatus RingWriter::make_room(std::uint32_t need) noexcept {
  if (!refresh()) return SendStatus::broken;
  std::uint32_t from = bulk_next_;
  if (bulk_consumed_ == bulk_next_ && need <= units(kAnewPayload)) {
    from = bulk_consumed_ = next_lap(from);
    stretch_ = kStretch;
  } else {
    if (!in_one_piece(from, need)) from = next_lap(from);
    if (from + need - bulk_consumed_ > bulk_units_) return SendStatus::again;
    stretch_ = std::min(2 * stretch_, bulk_units_);
  }
  bulk_next_ = from;
  const std::uint32_t free = bulk_consumed_ + bulk_units_ - from;
  const std::uint32_t piece = bulk_units_ - (from & (bulk_units_ - 1));
  bulk_until_ = from + std::min({std::max(need, stretch_), free, piece});
  return SendStatus::sent;
}

bool RingWriter::refresh() noexcept {
  // Pairs with the release in RingReader::publish: the reader has finished reading the freed slots and bulk.
  const std::uint64_t seen = progress_->consumed.load(std::memory_order_acquire);
  const std::uint64_t consumed = full_at_ - slot_count_;
  const std::uint32_t slots =
      static_cast<std::uint32_t>(seen) - static_cast<std::uint32_t>(consumed);
  if (slots > next_ - consumed) return false;
  full_at_ += slots;
  const auto bulk = static_cast<std::uint32_t>(seen >> 32);
  if (bulk == bulk_seen_) return true;  // nothing new; bulk_consumed_ may have been set beyond it
  if (bulk - bulk_consumed_ > bulk_next_ - bulk_consumed_) return false;
  bulk_seen_ = bulk_consumed_ = bulk;
  return true;
}

RingReader::Peek RingReader::look_at_stale(std::uint64_t word) noexcept {
  // It holds the frame of the lap before, or nothing.
  const bool stale = next_ < slot_count_ ? word == 0
                                         : RingWord::sequence(word) ==
                                               static_cast<std::uint16_t>(next_ + 1 - slot_count_);
  if (!stale) return Peek::corrupt;
  if (bulk_next_ != bulk_published_) publish();
  empty_word_ = word;
  return Peek::empty;
}

void RingReader::publish() noexcept {
  publish_at_ = next_ + slot_count_ / 4;
  bulk_published_ = bulk_next_;
  // Pairs with the acquire in RingWriter::refresh: our reads are complete before the writer reuses the memory.
  progress_->consumed.store(pack_progress(static_cast<std::uint32_t>(next_), bulk_published_),
                            std::memory_order_release);
}

}  // namespace lfc
