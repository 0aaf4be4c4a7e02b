#include "fuzz/push_frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lfc {
namespace {

constexpr std::size_t kCanary = 64;
constexpr std::byte kCanaryByte{0xc5};
constexpr std::size_t kMostMessages = 8;

// The layout on the wire: push.hpp.
struct Head {
  std::uint64_t number;
  std::uint32_t total;
  std::uint32_t asks;
  std::uint64_t offset;
};

// The message length, known to both sides.
std::uint64_t total_of(std::uint64_t number) noexcept { return 1 + number * 211 % 600; }

std::uint64_t usually(Random& random, std::uint64_t right) {
  static constexpr std::uint64_t kOdd[] = {0, 1, 511, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull};
  if (random.chance(985)) return right;
  return random.chance(500) ? right + random.below(3) - 1 : kOdd[random.below(std::size(kOdd))];
}

}  // namespace

void PushFrames::join(PeerId peer) {
  leave();
  peer_ = peer;
  number_ = 1;
  offset_ = 0;
}

void PushFrames::leave() {
  for (const Offered& each : offered_) push_.release(peer_, each.number);
  offered_.clear();
  (void)fault();
  for (const Fetch& each : fetches_)
    if (each.calls != 1)
      fault_ = "a fetch of a pushed message was completed " + std::to_string(each.calls) + " times";
  if (peer_ != kNoPeer && push_.kept(peer_) != 0) fault_ = "pushed bytes of a lost peer are kept";
  fetches_.clear();
}

void PushFrames::act(Random& random) {
  if (random.chance(400) && !offered_.empty()) {
    push_.release(peer_, offered_.front().number);
    offered_.pop_front();
  } else if (random.chance(300) && offered_.size() < kMostMessages) {
    const std::size_t size = random.between(1, 1500);
    const std::uint64_t number = push_.offer(peer_, size);
    if (number == 0) return;
    Offered& made = offered_.emplace_back(Offered{number, std::vector<std::byte>(size)});
    push_.push(peer_, number, made.bytes.data(), size);
  } else {
    const std::uint64_t number = number_ + random.below(3) - random.below(2);
    const std::size_t size = random.chance(850) ? total_of(number) : random.below(600);
    Fetch& fetch = fetches_.emplace_back();
    fetch.memory.assign(size + 2 * kCanary, kCanaryByte);
    fetch.done = [](Operation* self, Result) { ++static_cast<Fetch*>(self)->calls; };
    if (!push_.fetch(peer_, number, fetch.memory.data() + kCanary, size, &fetch))
      fetches_.pop_back();
  }
}

std::vector<std::byte> PushFrames::make(Random& random, FrameType type) {
  std::vector<std::byte> payload;
  const auto append = [&](const auto& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    payload.insert(payload.end(), bytes, bytes + sizeof value);
  };
  if (type == FrameType::service_ack) {
    for (auto words = random.between(1, 4); words > 0; --words) {
      const std::uint64_t taken =
          offered_.empty() ? random.below(4) : offered_[random.below(offered_.size())].number;
      append(usually(random, random.chance(50) ? taken | 1ull << 63 : taken));
    }
    return payload;
  }
  const std::uint64_t total = total_of(number_);
  const std::uint64_t part = std::min(total - offset_, random.between(1, 400));
  append(Head{usually(random, number_), static_cast<std::uint32_t>(usually(random, total)),
              static_cast<std::uint32_t>(random.below(2)), usually(random, offset_)});
  payload.resize(payload.size() + part, std::byte{0xee});
  offset_ += part;
  if (offset_ < total) return payload;
  ++number_;
  offset_ = 0;
  return payload;
}

const std::string& PushFrames::fault() {
  const auto own = [](std::byte byte) { return byte == kCanaryByte; };
  for (const Fetch& each : fetches_) {
    if (!std::all_of(each.memory.begin(), each.memory.begin() + kCanary, own) ||
        !std::all_of(each.memory.end() - kCanary, each.memory.end(), own))
      fault_ = "memory beside a message that is fetched was written";
    if (each.calls > 1) fault_ = "a fetch was completed twice";
  }
  return fault_;
}

}  // namespace lfc
