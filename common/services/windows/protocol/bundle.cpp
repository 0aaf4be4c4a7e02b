#include "services/windows/protocol/bundle.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "elements/accumulate.hpp"

namespace lfc::rma {
namespace {

constexpr auto kPut = static_cast<std::uint8_t>(WindowKind::put);
constexpr auto kAccumulate = static_cast<std::uint8_t>(WindowKind::accumulate);

bool is_whole_words(const BundleEntry& entry) noexcept {
  return (entry.offset | entry.bytes) % sizeof(std::uint64_t) == 0;
}

bool is_valid_entry(const BundleEntry& entry) noexcept {
  if (entry.bytes == 0) return false;
  if (entry.kind == kPut) return true;
  const auto operation = static_cast<Accumulate>(entry.operation);
  const auto element = static_cast<Element>(entry.element);
  return entry.kind == kAccumulate && is_valid(operation, element) &&
         operation != Accumulate::no_op && entry.bytes % size_of(element) == 0;
}

}  // namespace

void Bundle::reserve(std::uint64_t bytes) {
  const std::size_t needed = bytes_.size() + bytes;
  if (needed > bytes_.capacity()) bytes_.reserve(std::max(needed, 2 * bytes_.capacity()));
}

void Bundle::add(const BundleEntry& entry, const std::byte* operands) noexcept {
  if (entry.kind != kPut || !extend(entry, operands)) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + room_for(entry.bytes));
    std::memcpy(bytes_.data() + at, &entry, sizeof entry);
    std::memcpy(bytes_.data() + at + sizeof entry, operands, entry.bytes);
    last_ = at;
  }
  ++operations_;
}

// Appends the words of a put to the last one, if it ends where they begin.
bool Bundle::extend(const BundleEntry& entry, const std::byte* operands) noexcept {
  if (bytes_.empty() || !is_whole_words(entry)) return false;
  BundleEntry last;
  std::memcpy(&last, bytes_.data() + last_, sizeof last);
  if (last.kind != kPut || !is_whole_words(last) || last.offset + last.bytes != entry.offset)
    return false;
  const std::size_t end = last_ + sizeof last + last.bytes;
  last.bytes += entry.bytes;
  bytes_.resize(last_ + room_for(last.bytes));
  std::memcpy(bytes_.data() + last_, &last, sizeof last);
  std::memcpy(bytes_.data() + end, operands, entry.bytes);
  return true;
}

void Bundle::clear() noexcept {
  bytes_.clear();
  last_ = 0;
  operations_ = 0;
  by_link_ = false;
}

std::unique_ptr<Bundle> BundlePool::take() {
  std::unique_ptr<Bundle> bundle = spares_.take();
  held_ += bundle->capacity();
  return bundle;
}

void BundlePool::reserve(Bundle& bundle, std::uint64_t bytes) {
  const std::size_t before = bundle.capacity();
  bundle.reserve(bytes);
  held_ += bundle.capacity() - before;
}

void BundlePool::give_back(std::unique_ptr<Bundle> bundle) noexcept {
  held_ -= bundle->capacity();
  bundle->clear();
  spares_.keep(std::move(bundle));
}

std::size_t BundlePool::room(std::size_t frame) const noexcept {
  const std::size_t most =
      held_ <= limits::kWindowBundles ? limits::kWindowBundle : limits::kWindowSmallBundle;
  return std::min({frame - sizeof(WindowHead), limits::kWindowBundle, most});
}

bool is_bundle(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return false;
  BundleReader reader(bytes);
  while (reader) reader.advance();
  return reader.at_end();
}

void BundleReader::read() noexcept {
  good_ = rest_.size() >= sizeof entry_;
  if (!good_) return;
  std::memcpy(&entry_, rest_.data(), sizeof entry_);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler does not read it again
  good_ = Bundle::room_for(entry_.bytes) <= rest_.size() && is_valid_entry(entry_);
}

void BundleReader::advance() noexcept {
  rest_ = rest_.subspan(Bundle::room_for(entry_.bytes));
  read();
}

}  // namespace lfc::rma
