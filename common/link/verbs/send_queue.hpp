// SendQueue: the outstanding work requests of one queue pair, in order, and whether each is signalled (has a
// completion).
//
//   if (queue.room() == 0) return busy();
//   const SendQueue::Place place = queue.push({.what = Work::What::buffer, .buffer = index}, false);
//   post(place.number, place.signalled);
//   ...
//   queue.end(number, [&](const Work& work) { ... });            // a completion of this number: it and all before
//
// A request that holds a buffer is signalled, because the buffer is needed again, unless the next piece of its frame
// follows it. Of the requests without a buffer each kEvery-th is signalled, so that the queue never fills with
// unsignalled requests.
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
    std::uint32_t silent;  // unsignalled requests before it
  };

  std::uint32_t room() const noexcept { return kDepth - (tail_ - head_); }
  std::uint32_t outstanding() const noexcept { return tail_ - head_; }
  // True: the last requests are unsignalled, so no completion will report their end.
  bool is_silent() const noexcept { return silent_ != 0; }

  // `more`: another signalled request follows at once.
  Place push(const Work& work, bool more) {
    if (ring_.empty()) ring_.resize(kDepth);
    const bool wanted = work.what != Work::What::nothing && !more;
    const std::uint32_t before = silent_;
    const bool signalled = wanted || before + 1 >= kEvery;
    silent_ = signalled ? 0 : before + 1;
    ring_[tail_ % kDepth] = work;
    return {tail_++, signalled, before};
  }
  // Removes the last request, which the device has refused.
  void take_back(const Place& place) noexcept {
    --tail_;
    silent_ = place.silent;
  }
  template <class Visit>
  void end(std::uint32_t number, Visit visit) {
    if (number - head_ >= outstanding()) return;  // reported before
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
