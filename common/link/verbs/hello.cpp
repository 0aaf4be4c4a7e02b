#include "link/verbs/hello.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "link/proof.hpp"
#include "wire/frame.hpp"

namespace lfc::verbs {

Key proof_of(const HelloPart& head, const Identity& responder, std::string_view link,
             std::span<const std::byte> address) {
  std::vector<std::byte> proven(1 + sizeof head.offer + address.size());
  proven[0] = static_cast<std::byte>(head.kind);
  std::memcpy(proven.data() + 1, &head.offer, sizeof head.offer);
  std::copy(address.begin(), address.end(), proven.begin() + 1 + sizeof head.offer);
  return hello_proof(responder, link, head.nonce, proven);
}

std::vector<std::vector<std::byte>> encode(const HelloPart& head,
                                           std::span<const std::byte> address, std::size_t room) {
  std::vector<std::vector<std::byte>> parts;
  const std::size_t step = room - sizeof head;
  std::size_t at = 0;
  do {
    HelloPart part = head;
    part.version = kWireVersion;
    part.size = static_cast<std::uint16_t>(address.size());
    part.at = static_cast<std::uint16_t>(at);
    const std::size_t size = std::min(step, address.size() - at);
    std::vector<std::byte>& bytes = parts.emplace_back(sizeof part + size);
    std::memcpy(bytes.data(), &part, sizeof part);
    if (size != 0) std::memcpy(bytes.data() + sizeof part, address.data() + at, size);
    at += size;
  } while (at < address.size());
  return parts;
}

const Hello* HelloInbox::accept(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(HelloPart)) return nullptr;
  const auto part = load_pod<HelloPart>(bytes.data());
  bytes = bytes.subspan(sizeof part);
  if (part.tag != tag_ || part.version != kWireVersion || part.size > kMaxAddress ||
      part.at > part.size || bytes.size() > std::size_t{part.size} - part.at)
    return nullptr;
  if (bytes.size() == part.size) {
    whole_ = {part, {bytes.begin(), bytes.end()}};
    return &whole_;
  }
  auto found = std::find_if(partial_.begin(), partial_.end(), [&](const Partial& each) {
    const HelloPart& head = each.hello.head;
    return head.nonce == part.nonce && head.proof == part.proof && head.size == part.size;
  });
  if (found == partial_.end()) {
    if (partial_.size() == kMost) partial_.pop_front();
    partial_.push_back({{part, std::vector<std::byte>(part.size)}, 0, {}});
    found = partial_.end() - 1;
  }
  if (std::find(found->parts.begin(), found->parts.end(), part.at) != found->parts.end())
    return nullptr;
  found->parts.push_back(part.at);
  std::copy(bytes.begin(), bytes.end(), found->hello.address.begin() + part.at);
  found->have += bytes.size();
  if (found->have != part.size) return nullptr;
  whole_ = std::move(found->hello);
  partial_.erase(found);
  return &whole_;
}

}  // namespace lfc::verbs
