// Spares: objects that are used again instead of being made anew, up to a useful number.
//
//   Spares<Carrier> spare_carriers;
//   std::unique_ptr<Carrier> carrier = spare_carriers.take();
//   spare_carriers.keep(std::move(carrier));
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lfc {

template <class T, std::size_t kMost = 256>
class Spares {
 public:
  std::unique_ptr<T> take() {
    if (kept_.empty()) {
      kept_.reserve(kMost);  // so that keep() needs no memory
      return std::make_unique<T>();
    }
    std::unique_ptr<T> one = std::move(kept_.back());
    kept_.pop_back();
    return one;
  }
  // Needs no memory if the object is from take().
  void keep(std::unique_ptr<T> one) {
    if (kept_.size() < kMost) kept_.push_back(std::move(one));
  }

 private:
  std::vector<std::unique_ptr<T>> kept_;
};

}  // namespace lfc
