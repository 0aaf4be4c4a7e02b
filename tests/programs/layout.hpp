// Elements and their layouts in memory: contiguous, strided, irregular, in structs; as MPI datatypes, and as the
// model uses them. Data between two layouts is *packed* here: element after element, without gaps and holes.
//
//   Layout l = draw_layout(draw, Element::kDouble, 7799);
//   Typed t(l);                                                // commits, frees at the end
//   MPI_Put(memory, l.count, t.type, ...);
#ifndef LFC_TESTS_PROGRAMS_LAYOUT_HPP
#define LFC_TESTS_PROGRAMS_LAYOUT_HPP

#include <mpi.h>

#include <string>
#include <vector>

#include "draw.hpp"

namespace programs {

// kRecord: an int and a double with a hole between them.
enum class Element { kByte, kInt, kLong, kDouble, kRecord };
inline constexpr int kElements = 5;

std::size_t size_of(Element e);    // in memory
std::size_t packed_of(Element e);  // without its hole
MPI_Datatype type_of(Element e);   // of the program's whole life
const char* name_of(Element e);
void make_types();  // before any other call that needs them
void free_types();

struct Layout {
  enum Shape { kContiguous, kVector, kResized, kIndexed, kStruct } shape = kContiguous;
  Element element = Element::kByte;
  int count = 0;                           // of the datatype, for the call
  int blocks = 1, length = 0, stride = 0;  // of kVector and kResized, in elements
  std::vector<int> lengths, places;        // of kIndexed and kStruct, in elements
  std::size_t total = 0;                   // elements
  std::size_t span = 0;                    // elements from the first to behind the last

  std::size_t bytes() const { return span * size_of(element); }
  std::size_t packed() const { return total * packed_of(element); }
  std::string text() const;

  // f(place, first, n): elements first ... first + n - 1 lie at `place`, in the order of the datatype.
  template <typename F>
  void each(F f) const {
    if (shape == kContiguous) {
      if (total > 0) f(std::size_t{0}, std::size_t{0}, total);
    } else if (shape == kVector || shape == kResized) {
      std::size_t at = 0, first = 0;
      for (; first < total;
           first += static_cast<std::size_t>(length), at += static_cast<std::size_t>(stride))
        f(at, first, static_cast<std::size_t>(length));
    } else {
      std::size_t first = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        f(static_cast<std::size_t>(places[i]), first, static_cast<std::size_t>(lengths[i]));
        first += static_cast<std::size_t>(lengths[i]);
      }
    }
  }
};

Layout contiguous(Element element, std::size_t total);
// Any shape; `irregular`: of many blocks of different length.
Layout draw_layout(Draw& draw, Element element, std::size_t total, bool irregular = false);

class Typed {
 public:
  explicit Typed(const Layout& layout);
  ~Typed();
  Typed(const Typed&) = delete;
  Typed& operator=(const Typed&) = delete;
  MPI_Datatype type;
};

void unpack(const Layout& to, char* memory, const char* packed);
void pack(const Layout& from, const char* memory, char* packed);

// Packed contents that wrong data cannot match by chance.
std::vector<char> contents(std::uint64_t key, std::size_t bytes);

// Memory in a layout; gaps and holes keep a mark, and no call may change it.
inline constexpr char kMark = 0x5a;
std::vector<char> marked(const Layout& layout);
std::vector<char> spread(const Layout& layout, const std::vector<char>& packed);
// The first byte that is wrong, or -1.
std::ptrdiff_t first_difference(const std::vector<char>& is, const std::vector<char>& should);

}  // namespace programs

#endif
