// Frames: decoding returns the encoded values, and rejects each damaged header.
#include "wire/frame.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "catch.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

constexpr std::uint32_t kKey = 0xfeed1234u;

std::vector<std::byte> make_frame(Meta meta, std::uint32_t source, std::uint32_t sequence,
                                  std::uint32_t length) {
  std::vector<std::byte> frame(sizeof(Header) + length, std::byte{0x5a});
  Header header;
  encode_header(header, kKey, source, sequence, meta, length);
  std::memcpy(frame.data(), &header, sizeof header);
  return frame;
}

HeaderFault decode(const std::vector<std::byte>& frame) {
  Header header;
  return decode_header(frame, kKey, header);
}

void reseal(std::vector<std::byte>& frame, Header header) {
  header.check = header_check(header);
  std::memcpy(frame.data(), &header, sizeof header);
}

}  // namespace

TEST_CASE("a header is decoded as it was encoded", "[frame]") {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto type = static_cast<FrameType>(random.between(1, 11));
    const Meta meta{type, static_cast<std::uint8_t>(random.next()),
                    static_cast<std::uint8_t>(random.next())};
    const auto source = static_cast<std::uint32_t>(random.next());
    const auto sequence = static_cast<std::uint32_t>(random.next());
    const auto length = static_cast<std::uint32_t>(random.below(300));
    const auto frame = make_frame(meta, source, sequence, length);
    Header out;
    REQUIRE(decode_header(frame, kKey, out) == HeaderFault::none);
    REQUIRE(out.key == kKey);
    REQUIRE(out.source == source);
    REQUIRE(out.sequence == sequence);
    REQUIRE(out.length == length);
    REQUIRE(static_cast<FrameType>(out.type) == meta.type);
    REQUIRE(out.tag == meta.tag);
    REQUIRE(out.credits == meta.credits);
    REQUIRE(out.version == kWireVersion);
  }
}

TEST_CASE("every single-bit flip of a header is recognised", "[frame]") {
  for (std::uint32_t length : {0u, 1u, 64u, 1000u}) {
    const auto good = make_frame({FrameType::message, 7, 3}, 5, 0x1234567, length);
    REQUIRE(decode(good) == HeaderFault::none);
    for (std::size_t bit = 0; bit < sizeof(Header) * 8; ++bit) {
      auto bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      INFO("bit " << bit << " of a frame with " << length << " payload bytes");
      REQUIRE(decode(bad) != HeaderFault::none);
    }
  }
}

TEST_CASE("a frame cut short or grown is recognised at every length", "[frame]") {
  const auto good = make_frame({FrameType::put}, 1, 2, 40);
  for (std::size_t size = 0; size < good.size(); ++size) {
    Header header;
    const HeaderFault fault = decode_header(std::span(good).first(size), kKey, header);
    REQUIRE(fault == (size < sizeof(Header) ? HeaderFault::short_frame : HeaderFault::length));
  }
  auto grown = good;
  grown.push_back(std::byte{0});
  REQUIRE(decode(grown) == HeaderFault::length);
}

TEST_CASE("each fault of a header has its name", "[frame]") {
  auto frame = make_frame({FrameType::message}, 1, 2, 8);
  Header header;
  std::memcpy(&header, frame.data(), sizeof header);

  SECTION("another version") {
    header.version = kWireVersion + 1;
    reseal(frame, header);
    REQUIRE(decode(frame) == HeaderFault::version);
  }
  SECTION("damaged") {
    frame[4] ^= std::byte{1};
    REQUIRE(decode(frame) == HeaderFault::check);
  }
  SECTION("a wrong key") {
    header.key ^= 1;
    reseal(frame, header);
    REQUIRE(decode(frame) == HeaderFault::key);
  }
  SECTION("unknown types") {
    for (int type : {0, static_cast<int>(FrameType::last_) + 1, 255}) {
      header.type = static_cast<std::uint8_t>(type);
      reseal(frame, header);
      REQUIRE(decode(frame) == HeaderFault::type);
    }
  }
  SECTION("a length that lies") {
    for (std::uint32_t length : {0u, 7u, 9u, 0xffffffffu}) {
      header.length = length;
      reseal(frame, header);
      REQUIRE(decode(frame) == HeaderFault::length);
    }
  }
}

TEST_CASE("random bytes are never taken for a frame", "[frame]") {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(random.below(64));
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
    REQUIRE(decode(bytes) != HeaderFault::none);
  }
}

TEST_CASE("every frame type has a name and a class", "[frame]") {
  int data = 0;
  for (int value = 0; value < 256; ++value) {
    const auto type = static_cast<FrameType>(value);
    REQUIRE(is_valid(type) == (std::string(to_string(type)) != "unknown"));
    if (!is_valid(type)) REQUIRE_FALSE(is_data(type));
    data += is_data(type) ? 1 : 0;
  }
  REQUIRE(data == 7);
}

}  // namespace lfc
