// Address: the data by which other processes connect to this one: a small, checked, self-describing blob.
//
// It is built once at start, published by the host (Open MPI's modex) and carried in `hello`
// frames. Each link adds one section; a link reads only its own section of a peer's address.
//
//   AddressWriter writer{identity};
//   shm.publish(writer); ofi.publish(writer);
//   std::vector<std::byte> blob = std::move(writer).finish();
//   ...
//   std::optional<Address> peer = Address::parse(blob);      // nullopt: fault_of(blob)
//   std::span<const std::byte> mine = peer->section("shm");  // empty: peer has no such link
//
// The published address contains the process's key, and any process that has the key may connect. The address in a
// hello is without_key().
// Layout: AddressHead, then sections {u8 name length, name, u16 size, bytes}. At most kMaxAddress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "wire/key.hpp"

namespace lfc {

inline constexpr std::size_t kMaxAddress = 1024;

// The name of a process in its job: unique among all processes that can ever be peers.
struct ProcessName {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  friend bool operator==(const ProcessName&, const ProcessName&) = default;
  std::uint64_t packed() const noexcept { return std::uint64_t{job} << 32 | rank; }
};

struct Identity {
  ProcessName name;
  Key key;                           // random, secret; zero: not known
  std::uint32_t initial_window = 0;  // credits that every new peer may assume
  // Frames to this process carry it if an endpoint is shared. It also distinguishes processes of one name.
  std::uint32_t tag = tag_of(key);
};

class AddressWriter {
 public:
  explicit AddressWriter(const Identity& identity);
  // Adds a section; `name` is a link's name (1..15 characters). Throws std::length_error when the
  // address would exceed kMaxAddress.
  void add(std::string_view name, std::span<const std::byte> bytes);
  std::vector<std::byte> finish() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Address {
 public:
  // Checks the whole blob, and that the memory and frames of its process are laid out as ours
  // (base/build_stamp.hpp). The result owns a copy.
  static std::optional<Address> parse(std::span<const std::byte> blob);
  // The fault of a blob that parse() refuses, for the user.
  static const char* fault_of(std::span<const std::byte> blob) noexcept;

  const Identity& identity() const noexcept { return identity_; }
  bool has_key() const noexcept { return static_cast<bool>(identity_.key); }
  // The bytes that the link of this name published; empty if it published none.
  std::span<const std::byte> section(std::string_view name) const noexcept;
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  template <class>
  friend struct Insight;  // lfc-look
  Identity identity_;
  std::vector<std::byte> bytes_;
};

// The same address without its secret. It must be well-formed.
std::vector<std::byte> without_key(std::span<const std::byte> address);

}  // namespace lfc
