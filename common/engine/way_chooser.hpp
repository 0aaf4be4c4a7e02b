// WayChooser: chooses between two ways for the bytes of a large message between processes of one node. Copied: the
// kernel copies them once, on the receiver's processor. Streamed: they pass through the ring, where the copies of both
// sides overlap. No measurement at start can decide. A single copy wins if the sender has not written the bytes since
// the last message, because they are in the receiver's cache. If they were just written, it mostly loses. So the
// receiver tries both ways and takes the faster one.
//
//   WayChooser chooser;                                     // one for each peer
//   const WayChooser::Choice choice = chooser.choose(size);
//   ... bring the message by choice.way, and take the time ...
//   chooser.took(choice, size, {began, ended, undisturbed}, WayChooser::sample(data, size));
//
// The times of each class of sizes (a power of two) count separately. In each class those of messages that repeat the
// one before count separately from those of messages with other contents. A sample of a few words decides which of the
// two a message is; that is only a hint whether the sender writes its buffer. The time decides. It includes the pause
// between two messages: the least one, and pauses not much longer. The sender must fetch back the lines that a copy has
// brought into the receiver's cache when it writes again, and that may take longer than the copy. Invariants
// (tests/unit/engine/way_chooser_test.cpp): - Beyond the first two tries, tries cost at most kPrice of the time that
// messages take. - A message counts only if it follows one of the same way, because the first one finds nothing in the
// caches. - A try is decided by the median of three, so one interruption changes nothing and is not charged. Threads:
// one at a time. No clock in here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lfc {

class WayChooser {
 public:
  static constexpr double kPrice = 0.01;

  enum class Way : std::uint8_t { copied, streamed };
  struct Choice {
    Way way = Way::copied;
    bool tried = false;    // chosen not as the better way, but to measure it
    bool repeats = false;  // expected to repeat the message before it
  };

  Choice choose(std::size_t size) noexcept;
  // In ns, of any clock. `undisturbed`: the time between them belongs to this message alone.
  struct Times {
    double began;
    double ended;
    bool undisturbed;
  };
  // `contents`: the result of sample().
  void took(const Choice& choice, std::size_t size, const Times& times,
            std::uint64_t contents) noexcept;

  // Equal for messages with equal contents.
  static std::uint64_t sample(const std::byte* data, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kSamples = 3;
  static constexpr std::size_t kClasses = 12;  // up to 4 KiB, 8 KiB, ..., beyond 4 MiB

  struct Course {
    // ns for a byte, by way.
    std::array<double, 2> cost{};  // 0: not known
    std::array<double, 2> rest{};  // between two messages, the least
    double allowance = 0;          // ns that tries may cost
    double price = 0;              // that the last try has cost
    std::array<double, kSamples> samples{};
    std::uint8_t sampled = 0;
    std::uint16_t begun = 0;    // messages of this try
    std::uint16_t counted = 0;  // messages since the last try
    Way better = Way::copied;
    bool trying = false;
  };
  struct Class {
    std::array<Course, 2>
        courses;  // of messages with other contents than the last one's, of repeated ones
    std::uint64_t contents = 0;  // of the last message
    double ended = 0;            // the last message
    bool any = false;            // there was one
    bool repeats = false;        // it was the same as the one before
    Way last = Way::copied;
  };

  static bool is_due(const Course& course) noexcept;
  static double total(const Course& course, Way way) noexcept;
  static void record(Course& course, Way way, double cost, double rest) noexcept;
  static void look_at(Course& course, std::size_t size, double cost, double rest) noexcept;
  static void end_try(Course& course, double excess) noexcept;
  static bool add_sample(Course& course, Way way, double cost, double rest) noexcept;
  static double median(Course& course) noexcept;
  Class& class_of(std::size_t size) noexcept;

  std::array<Class, kClasses> classes_;
};

}  // namespace lfc
