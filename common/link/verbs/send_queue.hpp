// SendQueue: the work requests of one queue pair that have not ended, in order, and which of them ask for a completion.
//
//   if (queue.room() == 0) return busy();
//   const SendQueue::Place place = queue.push({.what = Work::What::buffer, .buffer = index}, false);
//   post(place.number, place.signalled);
//   ...
//   queue.end(number, [&](const Work& work) { ... });            // a completion of this number: it and all before
//
// One that holds a buffer asks, for the buffer is wanted back, unless the next piece of its frame follows it; of those
// that hold nothing each kEvery-th does, so that the queue never fills with requests of which nobody will hear.
// Pure. Held by tests/unit/link/verbs_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace lfc::verbs {

struct Transfer;

struct Work {
  enum class What : std::uint8_t { nothing, buffer, transfer, goodbye, probe };
  What what = What::nothing;
  std::uint32_t buffer = 0;
  Transfer* transfer = nullptr;
};

class SendQueue {
 public:
  static constexpr std::uint32_t kDepth = 128;  // a power of two
  static constexpr std::uint32_t kEvery = 16;

  struct Place {
    std::uint32_t number;
    bool signalled;
    std::uint32_t silent;  // before it
  };

  std::uint32_t room() const noexcept { return kDepth - (tail_ - head_); }
  std::uint32_t outstanding() const noexcept { return tail_ - head_; }
  // Some have left of which no completion will tell.
  bool is_silent() const noexcept { return silent_ != 0; }

  // `more`: another one that asks for a completion follows at once.
  Place push(const Work& work, bool more) {
    if (ring_.empty()) ring_.resize(kDepth);
    const bool wanted = work.what != Work::What::nothing && !more;
    const std::uint32_t before = silent_;
    const bool signalled = wanted || before + 1 >= kEvery;
    silent_ = signalled ? 0 : before + 1;
    ring_[tail_ % kDepth] = work;
    return {tail_++, signalled, before};
  }
  // The last one was refused by the device: as if it had never been.
  void take_back(const Place& place) noexcept {
    --tail_;
    silent_ = place.silent;
  }
  template <class Visit>
  void end(std::uint32_t number, Visit visit) {
    if (number - head_ >= outstanding()) return;  // told before
    while (head_ != number + 1) visit(ring_[head_++ % kDepth]);
  }
  template <class Visit>
  void end_all(Visit visit) {
    while (head_ != tail_) visit(ring_[head_++ % kDepth]);
    silent_ = 0;
  }

 private:
  std::vector<Work> ring_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t silent_ = 0;
};

}  // namespace lfc::verbs
