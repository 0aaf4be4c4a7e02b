// WayChooser: which of two ways the bytes of a large message take between processes of one node: the kernel copies them
// once, on the receiver's processor, or they are streamed through the ring, where the copies of both sides overlap. No
// measurement at start can know: a single copy of what its sender has not written since the last one reads from the
// receiver's own cache and wins, and of what has just been written it mostly loses. So the receiver tries both, and
// takes the one that was faster.
//
//   WayChooser chooser;                                     // one for each peer
//   const WayChooser::Choice choice = chooser.choose(size);
//   ... bring the message by choice.way, and take the time ...
//   chooser.took(choice, size, {began, ended, undisturbed}, WayChooser::sample(data, size));
//
// Each class of sizes (a power of two) learns by itself; and in each, messages that repeat the one before them and
// messages with other contents do: what a few words of both tell is the best hint there is at whether the sender writes
// its buffer. A hint, no more: what counts is the time. With it counts what passes between two messages, at the least
// and where that is not much longer: what a copy has fetched into the receiver's cache the sender has to get back when
// it writes again, and this may take longer than the copy.
// Invariants (tests/unit/engine/way_chooser_test.cpp):
//  - Beyond the first two tries, tries cost at most kPrice of the time that messages take.
//  - Only messages that follow one of the same way are counted: the first one finds nothing in the caches.
//  - A try is decided by the median of three, so one interruption changes nothing and is not charged.
// Threads: one at a time. No clock in here.
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
    bool tried = false;    // not for it is the better one, but to see whether it is
    bool repeats = false;  // what the message was expected to do
  };

  Choice choose(std::size_t size) noexcept;
  // In ns, of any clock. `undisturbed`: the time between them is that of this message alone.
  struct Times {
    double began;
    double ended;
    bool undisturbed;
  };
  // `contents`: as of sample().
  void took(const Choice& choice, std::size_t size, const Times& times,
            std::uint64_t contents) noexcept;

  // Of messages with the same contents it is the same.
  static std::uint64_t sample(const std::byte* data, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kSamples = 3;
  static constexpr std::size_t kClasses = 12;  // up to 4 KiB, 8 KiB, ..., beyond 4 MiB

  struct Course {
    // Of each way, ns for a byte.
    std::array<double, 2> cost{};  // 0: not known
    std::array<double, 2> rest{};  // between two messages, at the least
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
  static void learn(Course& course, Way way, double cost, double rest) noexcept;
  static void look_at(Course& course, std::size_t size, double cost, double rest) noexcept;
  static void end_try(Course& course, double excess) noexcept;
  static bool add_sample(Course& course, Way way, double cost, double rest) noexcept;
  static double median(Course& course) noexcept;
  Class& class_of(std::size_t size) noexcept;

  std::array<Class, kClasses> classes_;
};

}  // namespace lfc
