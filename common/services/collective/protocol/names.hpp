// CommunicatorNames: the numbers of communicators on boards and in packets, the same at all members and never reused.
// Open MPI reuses its own numbers, while a thread may still use the old communicator's board, or a packet of its last
// reduction may be under way.
//
//   CommunicatorNames names;                                      // of this process
//   const std::uint64_t name = names.next(key);            // key: of the communicator, and of its members
//   names.forget(key);                                     // if no other communicator will have it
//
// Members make the communicators of one key in the same order, so they count alike. Memory: a few words for each key
// that was used and not forgotten. A job that makes and frees communicators again and again has few keys: Open MPI
// takes the lowest free number, so there is one for each number and list of members. Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace lfc {

// MurmurHash3's finalizer. It is bijective: different inputs have different results.
inline std::uint64_t scramble(std::uint64_t value) noexcept {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

// Adds to a hash. The hash is scrambled first: small numbers must not cancel each other.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return scramble(scramble(hash + 0x9e3779b97f4a7c15u) + value);
}

class CommunicatorNames {
 public:
  std::uint64_t next(std::uint64_t key) { return mix(key, joined_[key]++); }
  void forget(std::uint64_t key) noexcept { joined_.erase(key); }
  std::size_t size() const noexcept { return joined_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> joined_;  // how many groups, by key
};

}  // namespace lfc
