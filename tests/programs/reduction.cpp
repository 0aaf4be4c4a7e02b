#include "reduction.hpp"

#include <algorithm>
#include <cstring>

namespace programs {

namespace {
struct Affine {
  std::uint32_t a, b;
};
// First `left`, then `right`.
Affine compose(Affine left, Affine right) { return {left.a * right.a, right.a * left.b + right.b}; }

MPI_Op compose_op = MPI_OP_NULL;
MPI_Datatype affine_type = MPI_DATATYPE_NULL;

void compose_all(void* in, void* inout, int* count, MPI_Datatype*) {
  const Affine* left = static_cast<const Affine*>(in);
  Affine* right = static_cast<Affine*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = compose(left[i], right[i]);
}

template <typename T>
T combined(Reduction::Op by, T a, T b) {
  if (by == Reduction::kMax) return std::max(a, b);
  if (by == Reduction::kMin) return std::min(a, b);
  return static_cast<T>(a + b);
}

template <typename T>
void combine_all(Reduction::Op by, std::vector<char>& left, const std::vector<char>& right) {
  for (std::size_t at = 0; at < left.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, left.data() + at, sizeof a);
    std::memcpy(&b, right.data() + at, sizeof b);
    a = combined(by, a, b);
    std::memcpy(left.data() + at, &a, sizeof a);
  }
}

// Small whole numbers: sums stay exact in every type.
template <typename T>
void draw_all(std::uint64_t key, std::vector<char>& to) {
  for (std::size_t at = 0; at < to.size(); at += sizeof(T)) {
    const T value = static_cast<T>(mixed(key, at) % 15);
    std::memcpy(to.data() + at, &value, sizeof value);
  }
}
}  // namespace

Reduction draw_reduction(Draw& draw) {
  Reduction r;
  r.on = static_cast<Reduction::Type>(draw.below(6));
  r.by = r.on == Reduction::kAffine ? Reduction::kCompose
         : r.on == Reduction::kDouble || r.on == Reduction::kFloat
             ? draw.pick({Reduction::kSum, Reduction::kMax, Reduction::kMin})
             : draw.pick({Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kXor});
  return r;
}

std::size_t Reduction::size() const {
  const std::size_t sizes[] = {4, 8, 4, 8, 1, sizeof(Affine)};
  return sizes[on];
}

MPI_Datatype Reduction::type() const {
  const MPI_Datatype types[] = {MPI_INT,     MPI_DOUBLE,        MPI_FLOAT,
                                MPI_INT64_T, MPI_UNSIGNED_CHAR, affine_type};
  return types[on];
}

MPI_Op Reduction::op() const {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, compose_op};
  return ops[by];
}

std::string Reduction::text() const {
  const char* const types[] = {"int", "double", "float", "long", "char", "affine"};
  const char* const ops[] = {"sum", "max", "min", "xor", "compose"};
  return std::string(types[on]) + " " + ops[by];
}

std::vector<char> Reduction::operand(std::uint64_t key, std::size_t count) const {
  std::vector<char> made(count * size());
  switch (on) {
    case kInt: draw_all<int>(key, made); break;
    case kDouble: draw_all<double>(key, made); break;
    case kFloat: draw_all<float>(key, made); break;
    case kLong: draw_all<std::int64_t>(key, made); break;
    case kChar: draw_all<unsigned char>(key, made); break;
    default:
      for (std::size_t at = 0; at < made.size(); at += 8) {
        const std::uint64_t word = mixed(key, at) | 1;
        std::memcpy(made.data() + at, &word, 8);
      }
  }
  return made;
}

void Reduction::combine(std::vector<char>& left, const std::vector<char>& right) const {
  if (by == kXor) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<char>(left[i] ^ right[i]);
    return;
  }
  switch (on) {
    case kInt: combine_all<int>(by, left, right); break;
    case kDouble: combine_all<double>(by, left, right); break;
    case kFloat: combine_all<float>(by, left, right); break;
    case kLong: combine_all<std::int64_t>(by, left, right); break;
    case kChar: combine_all<unsigned char>(by, left, right); break;
    default:
      for (std::size_t at = 0; at < left.size(); at += sizeof(Affine)) {
        Affine a, b;
        std::memcpy(&a, left.data() + at, sizeof a);
        std::memcpy(&b, right.data() + at, sizeof b);
        a = compose(a, b);
        std::memcpy(left.data() + at, &a, sizeof a);
      }
  }
}

void make_reductions() {
  MPI_Type_contiguous(2, MPI_UINT32_T, &affine_type);
  MPI_Type_commit(&affine_type);
  MPI_Op_create(compose_all, 0, &compose_op);
}

void free_reductions() {
  MPI_Op_free(&compose_op);
  MPI_Type_free(&affine_type);
}

}  // namespace programs
