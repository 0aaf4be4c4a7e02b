#include "wire/address.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/build_stamp.hpp"
#include "base/bytes.hpp"

namespace lfc {
namespace {

struct AddressHead {
  std::uint32_t magic;
  std::uint32_t job;
  std::uint32_t rank;
  std::uint32_t tag;
  std::uint32_t initial_window;
  std::array<std::uint32_t, 4> key;  // zero if it is left out
  std::uint32_t stamp;               // of the build
};
constexpr std::uint32_t kMagic = 0x3343464c;  // "LFC3": magic and version in one
constexpr std::size_t kMaxName = 15;

bool is_ours(const AddressHead& head) noexcept {
  return head.magic == kMagic && head.stamp == BuildStamp::of_all();
}

// Walks the sections and calls visit(name, bytes) for each. False: a section is malformed.
template <class Visit>
bool for_each_section(std::span<const std::byte> rest, Visit visit) {
  while (!rest.empty()) {
    const std::size_t name_size = std::to_integer<std::size_t>(rest[0]);
    if (name_size == 0 || name_size > kMaxName || rest.size() < 1 + name_size + 2) return false;
    const std::string_view name{reinterpret_cast<const char*>(rest.data() + 1), name_size};
    std::uint16_t size = 0;
    std::memcpy(&size, rest.data() + 1 + name_size, sizeof size);
    rest = rest.subspan(1 + name_size + sizeof size);
    if (rest.size() < size) return false;
    visit(name, rest.first(size));
    rest = rest.subspan(size);
  }
  return true;
}

}  // namespace

AddressWriter::AddressWriter(const Identity& identity) {
  const AddressHead head{kMagic,
                         identity.name.job,
                         identity.name.rank,
                         identity.tag,
                         identity.initial_window,
                         std::bit_cast<decltype(AddressHead::key)>(identity.key),
                         BuildStamp::of_all()};
  bytes_.resize(sizeof head);
  std::memcpy(bytes_.data(), &head, sizeof head);
}

void AddressWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  if (name.empty() || name.size() > kMaxName)
    throw std::length_error("address section name: " + std::string(name));
  const std::size_t total = bytes_.size() + 1 + name.size() + 2 + bytes.size();
  if (total > kMaxAddress)
    throw std::length_error("address too long with section " + std::string(name));
  const auto append = [this](const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  };
  const auto name_size = static_cast<std::uint8_t>(name.size());
  const auto size = static_cast<std::uint16_t>(bytes.size());
  append(&name_size, sizeof name_size);
  append(name.data(), name.size());
  append(&size, sizeof size);
  append(bytes.data(), bytes.size());
}

std::optional<Address> Address::parse(std::span<const std::byte> blob) {
  if (blob.size() < sizeof(AddressHead) || blob.size() > kMaxAddress) return std::nullopt;
  const auto head = load_pod<AddressHead>(blob.data());
  if (!is_ours(head) || head.initial_window == 0) return std::nullopt;
  const auto key = std::bit_cast<Key>(head.key);
  if (key && head.tag != tag_of(key)) return std::nullopt;
  if (!for_each_section(blob.subspan(sizeof head), [](auto, auto) {})) return std::nullopt;
  Address address;
  address.identity_ = {{head.job, head.rank}, key, head.initial_window, head.tag};
  address.bytes_.assign(blob.begin(), blob.end());
  return address;
}

const char* Address::fault_of(std::span<const std::byte> blob) noexcept {
  if (blob.size() >= sizeof(AddressHead) && !is_ours(load_pod<AddressHead>(blob.data())))
    return "it has another build of LFC; all nodes need the same one";
  return "its address is malformed";
}

std::span<const std::byte> Address::section(std::string_view name) const noexcept {
  std::span<const std::byte> found;
  for_each_section(std::span(bytes_).subspan(sizeof(AddressHead)), [&](auto key, auto bytes) {
    if (key == name) found = bytes;
  });
  return found;
}

std::vector<std::byte> without_key(std::span<const std::byte> address) {
  std::vector<std::byte> bytes(address.begin(), address.end());
  std::memset(bytes.data() + offsetof(AddressHead, key), 0, sizeof(AddressHead::key));
  return bytes;
}

}  // namespace lfc
