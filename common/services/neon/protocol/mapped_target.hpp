// MappedTarget: the announcements of a target that are open in mapped memory (mapped_entries.hpp). It is the part of
// Target that completes them when their origins have notified there.
//
// Threads: the caller of Neon serialises, but for is_open() and is_due().
// Tests: tests/unit/services/neon/neon_mapped_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/mapped_entries.hpp"
#include "services/neon/protocol/operation.hpp"

namespace lfc::neon {

// The state of an origin and tag.
struct Opened {
  Rank origin = 0;
  std::uint32_t tag = 0;
  std::uint32_t announced = 0;  // how often; the generation that `live` is for
  Announcement* live = nullptr;
  Announcement* closing = nullptr;  // withdrawn while its origin copied
  MappedEntry* entry = nullptr;     // once there is one
  bool open = false;                // `announced` is open there, or its origin copies there
  bool ending = false;              // close() has found that its origin copies there
  std::size_t index = 0;            // in `opened_`, if it is open
};

class MappedTarget {
 public:
  // Returns whether announcements are open in mapped memory. Any thread.
  bool is_open() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  // Returns whether look() may have something to do. Reads the words of up to kLooks entries, and takes no lock. If the
  // last notification came a few calls ago, the next one may be near: then it reads them again and again, for some
  // 0.1 us. Any thread, but one at a time.
  bool is_due() noexcept;
  // Completes announcements whose origins have notified by the word of an entry, and returns their number. Looks at up
  // to kLooks entries.
  int look();
  // Returns the origins that may still notify so, once for each announcement.
  std::vector<Rank> open_origins() const;

 protected:
  explicit MappedTarget(Carrier& carrier) noexcept : carrier_(carrier) {}
  ~MappedTarget() = default;

  // Publishes the announcement that is live, if the origin maps the window and the buffer is part of it.
  void open(Opened& each);
  // Ends the announcement for its origin. Busy: the origin copies, and look() ends it later. Done: the final put came
  // first, and all bytes are in the buffer.
  MappedEntry::State close(Opened& each);
  // True: the final put of an open announcement has come, all bytes are in the buffer, and the entry has ended.
  bool take_final(Opened& each);
  // Ends it without regard to an origin that copies.
  void forget(Opened& each);
  // The final put is in place.
  virtual void fire(Opened& each) = 0;

 private:
  static constexpr std::size_t kLooks = 32;

  // False: the buffer is not part of the window.
  bool locate(Announcement& buffer);
  void land(Opened& each);
  void list(Opened& each, std::size_t index);

  Carrier& carrier_;
  std::vector<Opened*> opened_;
  // For is_due(): the entries of the first ones of `opened_`. An entry stays as long as its window.
  std::array<std::atomic<const MappedEntry*>, kLooks> entries_{};
  std::atomic<std::size_t> count_{0};   // of `opened_`
  std::atomic<std::size_t> ending_{0};  // of them
  std::size_t next_ = 0;                // the index at which look() goes on
  int hopes_ = 0;                       // calls of is_due() that read again and again
};

}  // namespace lfc::neon
