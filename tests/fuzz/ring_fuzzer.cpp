#include <cstdlib>
#include <optional>

#include "fuzz/fuzzer.hpp"
#include "link/ring.hpp"

namespace lfc {
namespace {

class RingFuzzer final : public Fuzzer {
 public:
  explicit RingFuzzer(std::uint64_t seed) : Fuzzer(seed) { renew(); }

  void round() override {
    ++counts_.executions;
    if (random_.chance(10)) scribble();
    if (random_.chance(500)) {
      write();
    } else {
      read();
    }
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  // A ring with an invalid word is abandoned, as the link does.
  void renew() {
    shape_.slots = 16;
    shape_.bulk = 4096;
    shape_.max_payload = 1024;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kRingAlignment, size())));
    std::memset(memory_.get(), 0, size());
    writer_.emplace(memory_.get(), shape_);
    reader_.emplace(memory_.get(), shape_);
  }
  std::size_t size() const {
    return (shape_.bytes() + kRingAlignment - 1) / kRingAlignment * kRingAlignment;
  }

  // The other side writes any value: a control word, the progress, or a byte.
  void scribble() {
    std::uint64_t word = odd_number();
    std::size_t at = random_.below(shape_.bytes() - sizeof word);
    if (random_.chance(700)) {
      const std::size_t slot = random_.below(shape_.slots);
      at = random_.chance(300) ? 0 : kRingHead + slot * kSlotBytes;
      const Meta meta{static_cast<FrameType>(random_.below(14)), 0, 0};
      if (random_.chance(700))
        word = RingWord::pack(random_.below(64), meta, static_cast<std::size_t>(odd_number()));
      if (random_.chance(200)) at += sizeof word;  // the position of a payload in the bulk area
    }
    std::memcpy(memory_.get() + at, &word, sizeof word);
  }

  void write() {
    const std::vector<std::byte> bytes = junk(random_.below(1100));
    const std::size_t split = random_.below(bytes.size() + 1);
    const Slice slices[] = {{bytes.data(), split}, {bytes.data() + split, bytes.size() - split}};
    if (writer_->send({FrameType::message}, slices, 2) != SendStatus::broken) {
      ++counts_.accepted;
      return;
    }
    ++counts_.broken;
    renew();
  }

  void read() {
    RingFrame frame;
    switch (reader_->peek(frame)) {
      case RingReader::Peek::empty: return;
      case RingReader::Peek::corrupt:
        ++counts_.broken;
        renew();
        return;
      case RingReader::Peek::frame: break;
    }
    if (frame.payload.size() > shape_.max_payload) fail("a frame longer than any may be");
    const std::byte* end = memory_.get() + shape_.bytes();
    if (frame.payload.data() < memory_.get() || frame.payload.data() + frame.payload.size() > end)
      fail("a payload outside the ring");
    ++counts_.accepted;
    reader_->pop();
  }

  RingShape shape_;
  std::unique_ptr<std::byte, Free> memory_;
  std::optional<RingWriter> writer_;
  std::optional<RingReader> reader_;
};

}  // namespace

std::unique_ptr<Fuzzer> make_ring_fuzzer(std::uint64_t seed) {
  return std::make_unique<RingFuzzer>(seed);
}

}  // namespace lfc
