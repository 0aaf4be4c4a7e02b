#include "layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace programs {

namespace {
struct Record {
  int number;
  double value;
};
MPI_Datatype record_type = MPI_DATATYPE_NULL;

}  // namespace

void make_types() {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, offsetof(Record, value)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &record_type);
  MPI_Type_commit(&record_type);
}
void free_types() { MPI_Type_free(&record_type); }

std::size_t size_of(Element e) {
  switch (e) {
    case Element::kByte: return 1;
    case Element::kInt: return 4;
    case Element::kRecord: return sizeof(Record);
    default: return 8;
  }
}

std::size_t packed_of(Element e) { return e == Element::kRecord ? 12 : size_of(e); }

MPI_Datatype type_of(Element e) {
  switch (e) {
    case Element::kByte: return MPI_BYTE;
    case Element::kInt: return MPI_INT;
    case Element::kLong: return MPI_INT64_T;
    case Element::kDouble: return MPI_DOUBLE;
    default: return record_type;
  }
}

const char* name_of(Element e) {
  const char* const names[] = {"byte", "int", "long", "double", "record"};
  return names[static_cast<int>(e)];
}

std::string Layout::text() const {
  const char* const names[] = {"contiguous", "vector", "resized", "indexed", "struct"};
  std::string text = std::to_string(total) + " " + name_of(element) + " " + names[shape];
  if (shape == kVector || shape == kResized)
    text += " " + std::to_string(length) + "/" + std::to_string(stride);
  if (shape >= kIndexed) text += " of " + std::to_string(lengths.size());
  return text;
}

Layout contiguous(Element element, std::size_t total) {
  Layout l;
  l.element = element;
  l.count = static_cast<int>(total);
  l.total = l.span = total;
  return l;
}

namespace {
void draw_vector(Draw& draw, Layout& l) {
  int length = draw.one_in(2) ? 1 : draw.in(1, 9);
  while (l.total % static_cast<std::size_t>(length) != 0) --length;
  l.length = length;
  l.stride = length + draw.in(0, 3);
  l.blocks = static_cast<int>(l.total / static_cast<std::size_t>(length));
  l.count = 1;
  if (l.shape == Layout::kResized) std::swap(l.count, l.blocks);
  l.span = static_cast<std::size_t>(l.stride) * static_cast<std::size_t>(l.blocks) *
           static_cast<std::size_t>(l.count);
}

void draw_blocks(Draw& draw, Layout& l, bool many) {
  l.count = 1;
  const std::size_t blocks = many ? 20 + draw.below(2000) : 1 + draw.below(12);
  const std::size_t most = l.total / blocks + 1;
  std::size_t left = l.total, at = 0;
  while (left > 0) {
    const std::size_t n = std::min(left, most / 2 + draw.below(most + 1) + 1);
    at += draw.below(5);
    l.lengths.push_back(static_cast<int>(n));
    l.places.push_back(static_cast<int>(at));
    at += n;
    left -= n;
  }
  // Out of order, as MPI allows.
  const std::size_t last = l.lengths.size() - 1;
  if (last > 0 && draw.one_in(3)) {
    std::swap(l.lengths[0], l.lengths[last]);
    std::swap(l.places[0], l.places[last]);
  }
  l.span = at;
}
}  // namespace

Layout draw_layout(Draw& draw, Element element, std::size_t total, bool irregular) {
  Layout l = contiguous(element, total);
  if (total == 0) return l;
  l.shape = irregular
                ? Layout::kIndexed
                : draw.pick({Layout::kContiguous, Layout::kContiguous, Layout::kVector,
                             Layout::kVector, Layout::kResized, Layout::kIndexed, Layout::kStruct});
  if (l.shape == Layout::kVector || l.shape == Layout::kResized) draw_vector(draw, l);
  if (l.shape == Layout::kIndexed || l.shape == Layout::kStruct)
    draw_blocks(draw, l, irregular || draw.one_in(4));
  return l;
}

Typed::Typed(const Layout& l) : type(type_of(l.element)) {
  const MPI_Datatype base = type;
  const MPI_Aint size = static_cast<MPI_Aint>(size_of(l.element));
  switch (l.shape) {
    case Layout::kContiguous: return;
    case Layout::kVector: MPI_Type_vector(l.blocks, l.length, l.stride, base, &type); break;
    case Layout::kResized: {
      MPI_Datatype row;
      MPI_Type_contiguous(l.length, base, &row);
      MPI_Type_create_resized(row, 0, size * l.stride, &type);
      MPI_Type_free(&row);
      break;
    }
    case Layout::kIndexed:
      MPI_Type_indexed(static_cast<int>(l.lengths.size()), l.lengths.data(), l.places.data(), base,
                       &type);
      break;
    case Layout::kStruct: {
      std::vector<MPI_Aint> places;
      for (int place : l.places) places.push_back(size * place);
      const std::vector<MPI_Datatype> types(places.size(), base);
      MPI_Type_create_struct(static_cast<int>(places.size()), l.lengths.data(), places.data(),
                             types.data(), &type);
      break;
    }
  }
  MPI_Type_commit(&type);
}

Typed::~Typed() {
  int integers, addresses, types, how;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &how);
  if (how != MPI_COMBINER_NAMED && type != record_type) MPI_Type_free(&type);
}

namespace {
// Moves n elements between memory and their packed form.
template <typename Copy>
void move(const Layout& l, char* memory, char* packed, Copy copy) {
  const std::size_t size = size_of(l.element), dense = packed_of(l.element);
  l.each([&](std::size_t place, std::size_t first, std::size_t n) {
    char* there = memory + place * size;
    char* here = packed + first * dense;
    if (size == dense) {
      copy(there, here, n * size);
      return;
    }
    for (; n > 0; --n, there += size, here += dense) {
      copy(there, here, sizeof(int));
      copy(there + offsetof(Record, value), here + sizeof(int), sizeof(double));
    }
  });
}
}  // namespace

void unpack(const Layout& to, char* memory, const char* packed) {
  move(to, memory, const_cast<char*>(packed),
       [](char* there, const char* here, std::size_t n) { std::memcpy(there, here, n); });
}

void pack(const Layout& from, const char* memory, char* packed) {
  move(from, const_cast<char*>(memory), packed,
       [](const char* there, char* here, std::size_t n) { std::memcpy(here, there, n); });
}

std::vector<char> contents(std::uint64_t key, std::size_t bytes) {
  std::vector<char> made(bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = mixed(key, at);
    std::memcpy(made.data() + at, &word, std::min<std::size_t>(8, bytes - at));
  }
  return made;
}

std::vector<char> marked(const Layout& layout) {
  return std::vector<char>(layout.bytes() + 8, kMark);
}

std::vector<char> spread(const Layout& layout, const std::vector<char>& packed) {
  std::vector<char> memory = marked(layout);
  unpack(layout, memory.data(), packed.data());
  return memory;
}

std::ptrdiff_t first_difference(const std::vector<char>& is, const std::vector<char>& should) {
  if (is == should) return -1;
  std::size_t at = 0;
  while (is[at] == should[at]) ++at;
  return static_cast<std::ptrdiff_t>(at);
}

}  // namespace programs
