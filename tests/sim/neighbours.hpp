// Neighbours: process topologies for tests, and the buffers of a rank in a neighbourhood collective.
//
//   const Edges edges = Edges::random(random, 5);          // or Edges::ring(5)
//   auto neighbours = communicator.meet(edges.at(rank));
//   NeighbourPart part(edges, rank, sizes);                // sizes(writer, edge)
//   operation = CollOperation(part.call(LFC_COLL_NEIGHBOR_ALLTOALL, neighbours.get()));
//   ...
//   REQUIRE(part.is_right());
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "lfc/collective_call.h"
#include "link/sim/random.hpp"

namespace lfc {

struct Edges {
  std::vector<std::vector<int>> from, to;  // by rank
  bool crossed = false;

  // A torus of one dimension. In a ring of two both neighbours are the same; a single rank is its own neighbour.
  static Edges ring(int ranks) {
    Edges made;
    for (int rank = 0; rank < ranks; ++rank)
      made.from.push_back({(rank + ranks - 1) % ranks, (rank + 1) % ranks});
    made.to = made.from;
    made.crossed = true;
    return made;
  }
  // Any multigraph, with edges to the rank itself, edges to MPI_PROC_NULL, and perhaps ranks without edges.
  static Edges random(Random& random, std::uint32_t ranks) {
    Edges made;
    made.from.resize(ranks);
    made.to.resize(ranks);
    for (std::uint64_t left = random.below(3 * ranks + 1); left > 0; --left) {
      const auto writer = random.below(ranks);
      const auto reader = random.below(ranks);
      made.to[writer].push_back(static_cast<int>(reader));
      auto& list = made.from[reader];  // in a separate random order
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(random.below(list.size() + 1)),
                  static_cast<int>(writer));
    }
    for (auto* lists : {&made.from, &made.to})
      for (auto& list : *lists)
        if (random.chance(200)) list.push_back(-1);
    return made;
  }
  lfc_coll_topology at(std::uint32_t rank) const noexcept {
    return {from[rank].data(), to[rank].data(), static_cast<int>(from[rank].size()),
            static_cast<int>(to[rank].size()), crossed};
  }
  // The index at the writer of this incoming edge. Equal edges keep their order at both ends.
  std::size_t writers(std::uint32_t rank, std::size_t edge) const {
    if (crossed) return edge ^ 1;
    const int writer = from[rank][edge];
    auto before = std::count(from[rank].begin(),
                             from[rank].begin() + static_cast<std::ptrdiff_t>(edge), writer);
    const auto& list = to[static_cast<std::size_t>(writer)];
    for (std::size_t at = 0; at < list.size(); ++at)
      if (list[at] == static_cast<int>(rank) && before-- == 0) return at;
    return list.size();
  }
};

class NeighbourPart {
 public:
  using Sizes = std::function<std::size_t(std::uint32_t writer, std::size_t edge)>;

  NeighbourPart(const Edges& edges, std::uint32_t rank, const Sizes& sizes)
      : edges_(edges), rank_(rank) {
    for (std::size_t edge = 0; edge < edges.to[rank].size(); ++edge) {
      auto& bytes = in_.emplace_back(edges.to[rank][edge] < 0 ? 0 : sizes(rank, edge));
      for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = mark(rank, edge, at);
    }
    for (std::size_t edge = 0; edge < edges.from[rank].size(); ++edge) {
      const int writer = edges.from[rank][edge];
      const std::size_t size =
          writer < 0 ? 0 : sizes(static_cast<std::uint32_t>(writer), edges.writers(rank, edge));
      out_.emplace_back(size + 1, kUntouched);
    }
    for (auto& bytes : in_) gives_.push_back({bytes.data(), bytes.size()});
    for (auto& bytes : out_) takes_.push_back({bytes.data(), bytes.size() - 1});
  }
  lfc_coll_call call(lfc_coll_kind kind, lfc_coll_neighbours* neighbours) const {
    lfc_coll_call made{};
    made.kind = kind;
    made.neighbours = neighbours;
    made.gives = gives_.data();
    made.takes = takes_.data();
    for (const lfc_coll_part& part : gives_) made.bytes += part.bytes;
    return made;
  }
  bool has_come(std::size_t edge) const {
    const auto& bytes = out_[edge];
    const auto writer = static_cast<std::uint32_t>(edges_.from[rank_][edge]);
    for (std::size_t at = 0; at + 1 < bytes.size(); ++at)
      if (bytes[at] != mark(writer, edges_.writers(rank_, edge), at)) return false;
    return bytes.back() == kUntouched;
  }
  bool is_right() const {
    for (std::size_t edge = 0; edge < out_.size(); ++edge)
      if (!has_come(edge)) return false;
    return true;
  }
  // The input of an allgather: all edges share one block.
  void give_one(std::size_t size) {
    one_.assign(size, std::byte{0});
    for (std::size_t at = 0; at < size; ++at) one_[at] = mark(rank_, 0, at);
    for (std::size_t edge = 0; edge < gives_.size(); ++edge)
      gives_[edge] = {one_.data(), edges_.to[rank_][edge] < 0 ? 0 : size};
  }
  void spoil() {
    for (auto& bytes : in_) std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  }
  const std::vector<std::byte>& got(std::size_t edge) const { return out_[edge]; }

  static std::byte mark(std::uint32_t writer, std::size_t edge, std::size_t at) noexcept {
    return static_cast<std::byte>(1 + (writer * 37 + edge * 11 + at * 3 + (at >> 8)) % 200);
  }

 private:
  static constexpr std::byte kUntouched{0x5a};
  const Edges& edges_;
  const std::uint32_t rank_;
  std::vector<std::vector<std::byte>> in_, out_;
  std::vector<std::byte> one_;
  std::vector<lfc_coll_part> gives_, takes_;
};

}  // namespace lfc
