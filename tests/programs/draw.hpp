// The source of all random choices of a program: a sequence that the seed determines, and numbers around the limits
// at which the implementation changes its path.
//
//   Draw draw(seed);
//   size_t bytes = draw.near(draw.pick({kFrame, kEager}));    // mostly limit - 1, limit, limit + 1
#ifndef LFC_TESTS_PROGRAMS_DRAW_HPP
#define LFC_TESTS_PROGRAMS_DRAW_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

namespace programs {

inline std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return scramble(scramble(a + 0x9e3779b97f4a7c15u) + b);
}

// Bytes at which something changes: see common/README.md, btl_lfc/README.md, mca/coll/README.md.
inline constexpr std::size_t kInline = 56;           // of a line of coll lfc's board
inline constexpr std::size_t kSmallPacket = 512;     // a multicast that needs no buffer
inline constexpr std::size_t kSlot = 632;            // payload within a slot of an shm ring
inline constexpr std::size_t kParked = 16384;        // NEON's early data
inline constexpr std::size_t kEager = 49152;         // btl_lfc_eager_limit, header included
inline constexpr std::size_t kPacket = 61440;        // of a collective's stream
inline constexpr std::size_t kFramePayload = 62392;  // a window's frame without its head
inline constexpr std::size_t kFrame = 62464;         // the largest frame of tcp and shm together
inline constexpr std::size_t kRing = 65536;   // the largest frame of shm alone; a board's room
inline constexpr std::size_t kBulk = 262144;  // btl_lfc_shm_bulk

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(scramble(seed)) {}

  std::uint64_t next() { return scramble(state_ += 0x9e3779b97f4a7c15u); }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  int in(int low, int high) {
    return low + static_cast<int>(below(1 + static_cast<std::uint64_t>(high - low)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }

  // Around `limit` or, more rarely, twice as much.
  std::size_t near(std::size_t limit) {
    if (one_in(8)) limit *= 2;
    const int width = limit > 4096 ? 160 : 9;
    const std::ptrdiff_t away = one_in(3)   ? in(-1, 1)
                                : one_in(2) ? in(-width, width / 4)
                                            : in(-width / 8, 2) * 8;
    const std::ptrdiff_t near = static_cast<std::ptrdiff_t>(limit) + away;
    return near < 0 ? 0 : static_cast<std::size_t>(near);
  }

  // Bytes of something: small, around a limit up to `most`, or anything.
  std::size_t bytes(std::size_t most) {
    std::size_t drawn = 0;
    switch (below(5)) {
      case 0: drawn = below(80); break;
      case 1: drawn = below(most < 20000 ? most : 20000); break;
      default:
        drawn = near(pick({kInline, kSmallPacket, kSlot, std::size_t{4096}, kParked, kEager,
                           kPacket, kFramePayload, kFrame, kRing, 2 * kRing, kBulk}));
    }
    return drawn > most ? drawn % (most + 1) : drawn;
  }

  // A number of items that are sent at once: few, or around a window, a list, a pool, up to `most`.
  int count(int most) {
    const int drawn =
        one_in(2) ? in(1, 6)
                  : static_cast<int>(near(
                        pick({std::size_t{8}, std::size_t{16}, std::size_t{32}, std::size_t{64},
                              std::size_t{128}, std::size_t{256}, std::size_t{1074}})));
    return drawn > most ? 1 + drawn % most : drawn < 1 ? 1 : drawn;
  }

  std::vector<int> permutation(int n) {
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }

 private:
  std::uint64_t state_;
};

}  // namespace programs

#endif
