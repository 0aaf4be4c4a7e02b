// How epochs, locks and windows end: beside other windows, other threads' locks, and memory that is detached meanwhile.
#include "windows_world.hpp"

namespace lfc {

TEST_CASE("memory that is detached while an operation waits is not written, and the epoch says so",
          "[windows]") {
  Setting at(1, {}, Flavor::dynamic);
  const std::uint32_t self = 0;
  std::uint64_t value = 5;
  const auto place = reinterpret_cast<std::int64_t>(at.words(0));
  REQUIRE(at.at(0).attach(at.words(0), 8) == WindowStatus::ok);
  REQUIRE(at.at(0).start({&self, 1}, false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(0, Word(&value).view, Word(nullptr, place / 8).view, nullptr) ==
          WindowStatus::ok);
  REQUIRE(at.at(0).detach(at.words(0)) == WindowStatus::ok);
  REQUIRE(at.at(0).post({&self, 1}, false) == WindowStatus::ok);
  CHECK(at.at(0).complete() == WindowStatus::range);
  CHECK(at.at(0).wait() == WindowStatus::ok);
  CHECK(at.words(0)[0] == 0);
}

}  // namespace lfc
