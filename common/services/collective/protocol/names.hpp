// CommunicatorNames: what a communicator is called on boards and in packets: the same at all members, and never the
// same again. Open MPI uses its numbers for communicators again, while somewhere a thread may still be busy
// with the old one's board, or a packet of its last reduction be under way.
//
//   CommunicatorNames names;                                      // of this process
//   const std::uint64_t name = names.next(key);            // key: of the communicator, and of its members
//
// Members make the communicators of one key in the same order, so they count alike. Memory: a few words for each
// key that has ever been. Threads: the caller serialises.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace lfc {

// Bijective (MurmurHash3's finalizer): what goes in different comes out different.
inline std::uint64_t scramble(std::uint64_t value) noexcept {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

// Adds to a hash. The hash is scrambled first: small numbers must not make up for each other.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return scramble(scramble(hash + 0x9e3779b97f4a7c15u) + value);
}

class CommunicatorNames {
 public:
  std::uint64_t next(std::uint64_t key) { return mix(key, joined_[key]++); }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> joined_;  // how many groups, by key
};

}  // namespace lfc
