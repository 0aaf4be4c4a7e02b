// Stored words: each size at each place, and no byte beside it.
#include "base/stored_words.hpp"

#include <vector>

#include "catch.hpp"

namespace lfc {

TEST_CASE("words are stored at any place, and no byte beside them", "[base]") {
  constexpr std::size_t kMargin = 16;
  std::vector<std::byte> data(kStoredWords + 64);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes <= kStoredWords + 24;
       bytes += bytes < 40 || bytes >= kStoredWords - 9 ? 1 : 8)
    for (std::size_t to = 0; to < 8; ++to)
      for (std::size_t from = 0; from < 8; ++from) {
        std::vector<std::byte> memory(kMargin + bytes + 8 + kMargin, std::byte{0xee});
        std::vector<std::byte> wanted = memory;
        std::memcpy(wanted.data() + kMargin + to, data.data() + from, bytes);
        store_words(memory.data() + kMargin + to, data.data() + from, bytes);
        std::vector<std::byte> all(memory.size(), std::byte{0xee});
        store_all_words(all.data() + kMargin + to, data.data() + from, bytes);
        if (memory != wanted || all != wanted)
          FAIL(bytes << " bytes from " << from << " to " << to);
      }
  SUCCEED();
}

}  // namespace lfc
