#include "base/make_room.hpp"

#include <vector>

#include "catch.hpp"
#include "unit/failing_allocation.hpp"

using namespace lfc;

TEST_CASE("room in a vector at least doubles, and adding then allocates nothing", "[base]") {
  std::vector<int> numbers;
  int moves = 0;
  for (int i = 0; i < 1000; ++i) {
    const int* const before = numbers.data();
    make_room(numbers, 1);
    moves += numbers.data() != before ? 1 : 0;
    numbers.push_back(i);
  }
  CHECK(moves <= 11);
  make_room(numbers, 5000);
  bool has_allocated = false;
  {
    const FailingAllocation failing(0);
    for (int i = 1000; i < 6000; ++i) numbers.push_back(i);
    has_allocated = failing.has_failed();
  }
  CHECK_FALSE(has_allocated);
  CHECK(numbers.back() == 5999);
}
