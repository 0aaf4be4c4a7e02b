#include "wire/frame.hpp"

#include <bit>
#include <cstring>

#include "base/build_stamp.hpp"

namespace lfc {

static_assert(std::endian::native == std::endian::little,
              "headers are little-endian on the wire; add byte swaps for this machine");

namespace {

const BuildStamp stamp("frame", {kWireVersion, static_cast<std::uint64_t>(FrameType::last_),
                                 sizeof(Header), sizeof(Meta)});

}  // namespace

std::uint32_t header_check(const Header& header) noexcept {
  // FNV-1a over 32-bit words: cheap, and every single-bit change changes the result.
  std::uint32_t words[offsetof(Header, check) / 4];
  std::memcpy(words, &header, sizeof words);
  std::uint32_t hash = 0x811c9dc5u;
  for (std::uint32_t word : words) hash = (hash ^ word) * 0x01000193u;
  return hash;
}

void encode_header(Header& out, std::uint32_t key, std::uint32_t source, std::uint32_t sequence,
                   Meta meta, std::uint32_t length) noexcept {
  out.key = key;
  out.source = source;
  out.sequence = sequence;
  out.length = length;
  out.type = static_cast<std::uint8_t>(meta.type);
  out.tag = meta.tag;
  out.credits = meta.credits;
  out.version = kWireVersion;
  out.check = header_check(out);
}

HeaderFault decode_header(std::span<const std::byte> frame, std::uint32_t key,
                          Header& out) noexcept {
  if (frame.size() < sizeof(Header)) return HeaderFault::short_frame;
  std::memcpy(&out, frame.data(), sizeof out);
  if (out.version != kWireVersion) return HeaderFault::version;
  if (out.check != header_check(out)) return HeaderFault::check;
  if (out.key != key) return HeaderFault::key;
  if (!is_valid(static_cast<FrameType>(out.type))) return HeaderFault::type;
  if (out.length != frame.size() - sizeof(Header)) return HeaderFault::length;
  return HeaderFault::none;
}

}  // namespace lfc
