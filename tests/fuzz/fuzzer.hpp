// Fuzzers: hostile bytes for all code that reads a peer's writes. Each round() performs one step. The fuzzer and the
// sanitizers check the invariants.
//
//   NiFuzzer fuzzer(seed);
//   for (...) fuzzer.round();
//   if (!fuzzer.fault().empty()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "link/sim/random.hpp"

namespace lfc {

struct FuzzCounts {
  std::uint64_t executions = 0;
  std::uint64_t accepted = 0;
  std::uint64_t dropped = 0;  // frames counted in frames_dropped, or rejected by a parser
  std::uint64_t broken = 0;   // peers disconnected for invalid frames
};

class Fuzzer {
 public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed) {}
  virtual ~Fuzzer() = default;
  virtual void round() = 0;
  const FuzzCounts& counts() const noexcept { return counts_; }
  const std::string& fault() const noexcept { return fault_; }

 protected:
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }
  // A number that is likely to be invalid: at and around limits, or any.
  std::uint64_t odd_number() {
    static constexpr std::uint64_t kBases[] = {
        0, 1, 24, 32, 255, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull};
    if (random_.chance(300)) return random_.next();
    return kBases[random_.below(std::size(kBases))] + random_.below(5) - 2;
  }
  // Bytes of exactly that size on the heap, so that a sanitizer detects the first access beyond them.
  std::vector<std::byte> junk(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.next());
    return bytes;
  }

  Random random_;
  FuzzCounts counts_;
  std::string fault_;
};

// Valid and invalid frames to an NI.
std::unique_ptr<Fuzzer> make_ni_fuzzer(std::uint64_t seed);
// Frames of multicasts, recoveries and ordered broadcasts.
std::unique_ptr<Fuzzer> make_multicast_fuzzer(std::uint64_t seed);
// Headers and addresses.
std::unique_ptr<Fuzzer> make_parse_fuzzer(std::uint64_t seed);
// The shared-memory ring, while the other side writes anything at any time.
std::unique_ptr<Fuzzer> make_ring_fuzzer(std::uint64_t seed);

}  // namespace lfc
