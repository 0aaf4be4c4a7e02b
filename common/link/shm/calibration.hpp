// Calibration: what is faster on this machine for a large message between two processes, the kernel's
// single copy (CMA), or two copies through a ring that overlap? Which one wins, and from which size on,
// differs between machines by orders of magnitude; so it is measured once, at first use, and kept.
//
//   Calibration calibration = calibrate();      // a few ms the first time on a host, then a small file
//   if (size >= calibration.single_copy_from) ...
//
// The file lies in the user's cache directory ($XDG_CACHE_HOME/lfc, else ~/.cache/lfc), one for each
// host; it names the processor and the kernel that it holds for, and is measured anew for others.
// Where it cannot be written, and as long as the machine is too busy to measure, each process measures
// for itself. Of the processes of one host that
// start together one measures, and the others wait for it, for a bounded time.
// Method: a ring between two threads on two cores (one after the other where there is only one),
// and process_vm_readv from this process's own memory; the best of a few runs each. Both are lines
// in the size, which meet where the single copy begins to pay, or nowhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace lfc {

struct Calibration {
  static constexpr std::size_t kNever = SIZE_MAX;
  std::size_t single_copy_from = kNever;  // bytes
  // What it follows from, in ns and bytes; `how` is for the user.
  double ring_ns_per_byte = 0;
  double ring_ns_start = 0;  // the first fragment's copy, with which nothing overlaps
  double cma_ns_per_byte = 0;
  double cma_ns_start = 0;
  bool disturbed = false;  // others were in the way: good enough for now, not to be kept
  std::string how;         // "measured now", "measured before, FILE", ...
};

// From the file, or measured and kept there. Never throws, never fails.
Calibration calibrate() noexcept;

// --- Its parts, for the tool that measures anew and for tests ---

// The size from which on the single copy is faster, from the other members.
std::size_t crossover(const Calibration& measured) noexcept;
// Measures; takes about `budget` at most (and not less than one run, about 1 ms).
Calibration measure_copies(std::chrono::microseconds budget);
// Where the file of this host is kept; empty when there is no place for it.
std::string calibration_file();
// nullopt: it is not there, is damaged, or belongs to another processor or kernel.
std::optional<Calibration> load_calibration(const std::string& file);
// Replaces the file as a whole; false when that is not possible, or `calibration` is not to be kept.
bool store_calibration(const std::string& file, const Calibration& calibration);

}  // namespace lfc
