// TagTable: map from tags to items that never move. Tags below 256, which are all tags of the thesis, are found by
// index, others by hashing.
//
//   TagTable<Record> records;
//   Record& record = records.make(7);     // made on first use
//   if (Record* known = records.find(9)) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

namespace lfc::neon {

template <class T>
class TagTable {
 public:
  T* find(std::uint32_t tag) const noexcept {
    if (tag < kDense) return dense_ != nullptr ? (*dense_)[tag] : nullptr;
    const auto known = sparse_.find(tag);
    return known == sparse_.end() ? nullptr : known->second;
  }
  T& make(std::uint32_t tag) {
    if (T* known = find(tag)) return *known;
    T& item = items_.emplace_back();
    if (tag >= kDense) {
      sparse_.emplace(tag, &item);
    } else {
      if (dense_ == nullptr) dense_ = std::make_unique<std::array<T*, kDense>>();
      (*dense_)[tag] = &item;
    }
    return item;
  }
  std::size_t size() const noexcept { return items_.size(); }
  auto begin() noexcept { return items_.begin(); }
  auto end() noexcept { return items_.end(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

 private:
  static constexpr std::uint32_t kDense = 256;
  std::unique_ptr<std::array<T*, kDense>> dense_;
  std::unordered_map<std::uint32_t, T*> sparse_;
  std::deque<T> items_;
};

}  // namespace lfc::neon
