#include "link/proof.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "wire/frame.hpp"

namespace lfc {
namespace {

// The subject of every proof, all of a fixed size, so that no two messages have the same bytes.
struct Subject {
  std::array<char, 7> label{};
  std::uint8_t version = kWireVersion;
  std::array<char, 16> link{};
  ProcessName target;
  Key nonce;
};
static_assert(sizeof(Subject) == 48);

Key prove(std::string_view label, const Identity& target, std::string_view link, const Key& nonce,
          std::span<const std::byte> rest) {
  Subject subject;
  std::copy_n(label.begin(), std::min(label.size(), subject.label.size()), subject.label.begin());
  std::copy_n(link.begin(), std::min(link.size(), subject.link.size()), subject.link.begin());
  subject.target = target.name;
  subject.nonce = nonce;
  std::vector<std::byte> message(sizeof subject + rest.size());
  std::memcpy(message.data(), &subject, sizeof subject);
  std::copy(rest.begin(), rest.end(), message.begin() + sizeof subject);
  return siphash(target.key, message);
}

}  // namespace

Key hello_proof(const Identity& target, std::string_view link, const Key& nonce,
                std::span<const std::byte> from) {
  return prove("hello", target, link, nonce, from);
}

Key ack_proof(const Identity& target, std::string_view link, const Key& nonce) {
  return prove("ack", target, link, nonce, {});
}

}  // namespace lfc
