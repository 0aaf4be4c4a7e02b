#include "base/nearest.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

namespace lfc {
namespace {

// The number of single mistakes from one word to the other; two swapped letters are one.
std::size_t distance(std::string_view from, std::string_view to) {
  // Rows of the table of distances between beginnings of the words: this row, and the two before.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(to.size() + 1);
  auto& [before, last, row] = rows;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t other = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, other});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::size_t nearest(std::span<const char* const> names, std::string_view written) {
  std::size_t best = names.size();
  std::size_t least = written.size() / 3 + 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t mistakes = distance(written, names[i]);
    if (mistakes >= least) continue;
    best = i;
    least = mistakes;
  }
  return best;
}

}  // namespace lfc
