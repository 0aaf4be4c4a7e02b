#include "datatype_pieces.hpp"

#include <algorithm>
#include <cstring>

#include "base/stored_words.hpp"
#include "ompi_glue.h"

namespace lfc::neon {

DatatypePieces::DatatypePieces(MPI_Datatype type, int count) {
  const std::int64_t contiguous = lfc_contiguous_bytes(type, count);
  if (contiguous >= 0) {
    bytes_ = static_cast<std::uint64_t>(contiguous);
    end_ = contiguous;
    return;
  }
  MPI_Count size = 0;
  MPI_Type_size_x(type, &size);
  bytes_ = static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(count);
  end_ = static_cast<std::ptrdiff_t>(bytes_);
  if (bytes_ == 0) return;
  lfc_pieces(
      type, count,
      [](void* context, std::ptrdiff_t offset, std::size_t length) {
        static_cast<std::vector<Piece>*>(context)->push_back({offset, length});
      },
      &pieces_);
  begin_ = pieces_.front().offset;
  end_ = begin_;
  for (const Piece& each : pieces_) {
    begin_ = std::min(begin_, each.offset);
    end_ = std::max(end_, each.offset + static_cast<std::ptrdiff_t>(each.size));
  }
}

void DatatypePieces::gather(std::byte* packed, const std::byte* data) const {
  if (contiguous() && bytes_ > 0) std::memcpy(packed, data, bytes_);
  for (const Piece& each : pieces_) {
    std::memcpy(packed, data + each.offset, each.size);
    packed += each.size;
  }
}

void DatatypePieces::scatter(std::byte* data, const std::byte* packed) const {
  if (contiguous()) store_words(data, packed, bytes_);
  for (const Piece& each : pieces_) {
    store_words(data + each.offset, packed, each.size);
    packed += each.size;
  }
}

}  // namespace lfc::neon
