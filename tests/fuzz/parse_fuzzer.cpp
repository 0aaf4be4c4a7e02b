#include "fuzz/fuzzer.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace lfc {
namespace {

class ParseFuzzer final : public Fuzzer {
 public:
  using Fuzzer::Fuzzer;
  void round() override {
    ++counts_.executions;
    const bool accepted = random_.chance(500) ? header() : address();
    ++(accepted ? counts_.accepted : counts_.dropped);
  }

 private:
  static constexpr std::uint32_t kKey = 77;

  bool header() {
    std::vector<std::byte> frame = junk(random_.below(80));
    if (frame.size() >= sizeof(Header) && random_.chance(800)) {
      Header made;
      const Meta meta{static_cast<FrameType>(random_.below(14)),
                      static_cast<std::uint8_t>(random_.next()),
                      static_cast<std::uint8_t>(random_.next())};
      encode_header(made, kKey, static_cast<std::uint32_t>(odd_number()),
                    static_cast<std::uint32_t>(odd_number()), meta,
                    random_.chance(700) ? static_cast<std::uint32_t>(frame.size() - sizeof made)
                                        : static_cast<std::uint32_t>(odd_number()));
      std::memcpy(frame.data(), &made, sizeof made);
    }
    Header out;
    std::vector<std::byte> bent = frame;
    std::size_t flip = 0;
    const bool bend = !frame.empty() && random_.chance(500);
    if (bend) {
      flip = random_.below(frame.size());
      bent[flip] ^= static_cast<std::byte>(1u << random_.below(8));
    }
    const bool good = decode_header(bent, kKey, out) == HeaderFault::none;
    if (good && (out.length != bent.size() - sizeof out || out.key != kKey))
      fail("a header was believed that lies about its length or key");
    if (good && bend && flip < sizeof out) fail("a damaged header was believed");
    return good;
  }

  bool address() {
    AddressWriter writer({{1, 2}, 3, static_cast<std::uint32_t>(random_.below(3))});
    for (auto sections = random_.below(4); sections > 0; --sections)
      writer.add(random_.chance(500) ? "shm" : "tcp", junk(random_.below(40)));
    std::vector<std::byte> blob = std::move(writer).finish();
    for (auto changes = random_.below(4); changes > 0; --changes)
      blob[random_.below(blob.size())] = static_cast<std::byte>(odd_number());
    if (random_.chance(300)) blob.resize(random_.below(blob.size() + 10));
    blob.shrink_to_fit();
    const auto parsed = Address::parse(blob);
    if (!parsed) return false;
    for (const char* name : {"shm", "tcp", ""}) {
      std::uint32_t sum = 0;
      for (const std::byte byte : parsed->section(name)) sum += std::to_integer<unsigned>(byte);
      checksum_ = checksum_ + sum;
    }
    return true;
  }

  volatile std::uint32_t checksum_ = 0;  // so that the bytes are read
};

}  // namespace

std::unique_ptr<Fuzzer> make_parse_fuzzer(std::uint64_t seed) {
  return std::make_unique<ParseFuzzer>(seed);
}

}  // namespace lfc
