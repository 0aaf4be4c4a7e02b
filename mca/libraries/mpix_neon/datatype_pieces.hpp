// DatatypePieces: the contiguous pieces of some items of an MPI datatype, in their order.
//
//   const DatatypePieces pieces(type, count);
//   if (!pieces.contiguous()) pieces.gather(packed, data);
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lfc::neon {

class DatatypePieces {
 public:
  struct Piece {
    std::ptrdiff_t offset;
    std::size_t size;
  };

  DatatypePieces() = default;
  DatatypePieces(MPI_Datatype type, int count);

  std::uint64_t bytes() const { return bytes_; }
  // One piece at offset 0.
  bool contiguous() const { return pieces_.empty(); }
  // For pieces that are not contiguous.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // The bytes from begin() to end() hold all pieces.
  std::ptrdiff_t begin() const { return begin_; }
  std::ptrdiff_t end() const { return end_; }

  // Copy between items at `data` and their bytes one after the other. scatter() stores aligned words as
  // base/stored_words.hpp does: another process may poll them.
  void gather(std::byte* packed, const std::byte* data) const;
  void scatter(std::byte* data, const std::byte* packed) const;

 private:
  std::uint64_t bytes_ = 0;
  std::ptrdiff_t begin_ = 0, end_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace lfc::neon
