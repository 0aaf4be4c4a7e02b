// Some ranks on some nodes with one communicator of coll lfc, in one process. The NIs are those of a World, boards are
// plain memory, and hosts make progress at random.
//
//   CollWorld world({.ranks = 6, .per_node = 2, .seed = 7});
//   std::vector<CollOperation> operations(6);       // filled in
//   for (std::uint32_t rank = 0; rank < 6; ++rank) world.communicator(rank).submit(operations[rank]);
//   REQUIRE(world.finish(operations));
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "services/collective/communicator.hpp"
#include "sim/world.hpp"

namespace lfc {

// A fabric on which each packet has a different delay.
inline SimOptions uneven_fabric(std::uint64_t seed) {
  return {.seed = seed, .max_payload = 1024, .maximum_delay = 40};
}

// Numbers whose sum depends on the order in which they are added.
inline std::vector<double> order_dependent_numbers(std::uint32_t rank, std::size_t count) {
  std::vector<double> numbers(count);
  Random random(rank + 1);
  for (double& number : numbers)
    number = std::ldexp(static_cast<double>(random.below(1u << 30)) - (1 << 29),
                        static_cast<int>(random.below(60)) - 30);
  return numbers;
}

class CollWorld {
 public:
  struct Shape {
    std::uint32_t ranks = 2;
    std::uint32_t per_node = 1;
    std::uint64_t seed = 1;
    CollOptions options{.packet = 512};
    std::uint32_t credits = 16;
  };

  explicit CollWorld(const Shape& shape)
      : shape_(shape),
        world_(shape.ranks, uneven_fabric(shape.seed),
               {.initial_window = shape.credits, .maximum_window = shape.credits}),
        random_(shape.seed),
        away_(shape.ranks) {
    std::vector<ProcessName> names;
    std::vector<std::uint64_t> nodes;
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
      names.push_back({1, rank});
      nodes.push_back(rank / shape.per_node);
      numbers_.push_back(rank);
    }
    const Membership members(names, nodes);
    for (std::uint32_t node = 0; node < members.nodes(); ++node)
      boards_.push_back(std::make_unique<Memory>(lanes(node), lanes(node)));
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) join(members, rank);
  }
  ~CollWorld() {
    std::vector<std::unique_ptr<TreeNode>> trees;
    for (auto& communicator : communicators_) trees.push_back(communicator->take_tree());
    communicators_.clear();
    world_.settle();
    for (auto& tree : trees)
      if (tree != nullptr) tree->leave();
  }
  CollWorld(const CollWorld&) = delete;
  CollWorld& operator=(const CollWorld&) = delete;

  World& world() noexcept { return world_; }
  Communicator& communicator(std::uint32_t rank) noexcept { return *communicators_[rank]; }
  Multicast& multicast(std::uint32_t rank) noexcept { return *services_[rank]; }
  // If `away`, its host makes no progress; its NI always does.
  void set_away(std::uint32_t rank, bool away) noexcept { away_[rank] = away; }

  // While `late`, no rank finds the board of its node.
  void set_boards_late(bool late) noexcept { boards_late_ = late; }
  // How often the rank has looked for the board of its node.
  int board_looks(std::uint32_t rank) const noexcept { return around_[rank]->looks; }

  // Whether ranks may read each other's memory.
  void set_readable(bool readable) noexcept { readable_ = readable; }

  // Whether the NIs' threads advance operations.
  void set_helped(bool helped) noexcept { helped_ = helped; }

  void step() {
    world_.step();
    for (std::uint32_t rank = 0; helped_ && rank < shape_.ranks; ++rank)
      if (random_.chance(300)) communicators_[rank]->advance_aside();
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank)
      if (!away_[rank] && random_.chance(300)) communicators_[rank]->advance();
    if (++ticks_ % 1000 == 0)
      for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank)
        if (!away_[rank]) communicators_[rank]->query();
  }
  template <class Operations>
  bool finish(const Operations& operations, int limit = 200000) {
    const auto over = [&] {
      return std::all_of(operations.begin(), operations.end(),
                         [](const CollOperation& one) { return one.finished.load(); });
    };
    while (!over() && limit-- > 0) step();
    return over();
  }

 private:
  struct Memory {
    Memory(std::uint32_t lanes, std::uint32_t users)
        : bytes(static_cast<std::byte*>(
              ::operator new (Board::size(lanes), std::align_val_t{Board::kLine}))) {
      Board::format(bytes, lanes, users);
    }
    ~Memory() { ::operator delete (bytes, std::align_val_t{Board::kLine}); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* bytes;
  };
  struct Around final : Environment {
    Around(CollWorld& of, std::uint32_t number) : world(of), rank(number) {}
    std::byte* board(ProcessName first, std::uint64_t, std::uint32_t lanes, std::uint32_t users,
                     bool&) override {
      if (lanes > 1) {
        ++looks;
        return world.boards_late_ ? nullptr
                                  : world.boards_[first.rank / world.shape_.per_node]->bytes;
      }
      auto& made = world.own_boards_[first.rank];  // for the neighbours of the rank
      if (made == nullptr && first.rank == rank) made = std::make_unique<Memory>(1, users);
      return made == nullptr ? nullptr : made->bytes;
    }
    PeerId peer(ProcessName name) override { return world.world_.peer(rank, name.rank); }
    bool read(ProcessName, std::byte* to, std::uint64_t from, std::size_t size) override {
      if (world.readable_) std::memcpy(to, reinterpret_cast<const std::byte*>(from), size);
      return world.readable_;
    }
    bool has_ended(ProcessName) override { return false; }
    CollWorld& world;
    std::uint32_t rank;
    int looks = 0;
  };

  std::uint32_t lanes(std::uint32_t node) const noexcept {
    return std::min(shape_.per_node, shape_.ranks - node * shape_.per_node);
  }
  void join(const Membership& members, std::uint32_t rank) {
    services_.push_back(std::make_unique<Multicast>(
        world_.ni(rank).services(), Multicast::Options{.share = Pace::share(shape_.options)}));
    std::unique_ptr<TreeNode> tree;
    if (members.nodes() > 1) {
      std::vector<PeerId> peers(shape_.ranks, kNoPeer);
      for (std::uint32_t node = 0; node < members.nodes(); ++node)
        if (members.first(node) != rank)
          peers[members.first(node)] = world_.peer(rank, members.first(node));
      tree = std::make_unique<TreeNode>(*services_.back());
      tree->join(9, members, rank, std::move(peers));
    }
    Around& around = *around_.emplace_back(std::make_unique<Around>(*this, rank));
    communicators_.push_back(std::make_unique<Communicator>(
        std::make_unique<CommunicatorState>(members, rank, numbers_, 9, std::move(tree), around),
        shape_.options));
  }

  const Shape shape_;
  World world_;
  Random random_;
  std::vector<bool> away_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::unique_ptr<Memory>> boards_;
  std::map<std::uint32_t, std::unique_ptr<Memory>> own_boards_;  // by rank
  std::vector<std::unique_ptr<Multicast>> services_;
  std::vector<std::unique_ptr<Around>> around_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::uint64_t ticks_ = 0;
  bool helped_ = false;
  bool readable_ = true;
  bool boards_late_ = false;
};

}  // namespace lfc
