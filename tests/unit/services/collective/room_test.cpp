// The room that a communicator reserves for its board.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "services/collective/communicator_state.hpp"

namespace lfc {
namespace {

// Notes what a communicator reserves, and has no memory.
class Notes final : public Environment {
 public:
  struct Note {
    ProcessName first;
    std::uint64_t key;
    std::uint32_t lanes;
    bool few;
  };
  std::byte* board(ProcessName, std::uint64_t, std::uint32_t, std::uint32_t, bool&) override {
    return nullptr;
  }
  bool reserve_board(ProcessName first, std::uint64_t key, std::uint32_t lanes, bool few) override {
    reserved = {first, key, lanes, few};
    return has_room;
  }
  void cancel_board(ProcessName first, std::uint64_t key) noexcept override {
    cancelled += first == reserved->first && key == reserved->key ? 1 : 0;
  }
  PeerId peer(ProcessName) override { return kNoPeer; }
  bool read(ProcessName, std::byte*, std::uint64_t, std::size_t) override { return false; }
  bool has_ended(ProcessName) override { return false; }

  std::optional<Note> reserved;
  int cancelled = 0;
  bool has_room = true;
};

constexpr std::uint64_t kKey = 77;

// A member of three processes on one node.
std::unique_ptr<CommunicatorState> join(Notes& notes, std::uint32_t self, lfc_coll_use use) {
  const std::vector<ProcessName> names{{1, 0}, {1, 1}, {1, 2}};
  return std::make_unique<CommunicatorState>(Membership(names, {5, 5, 5}), self,
                                             std::vector<std::uint32_t>{0, 1, 2}, kKey, nullptr,
                                             notes, use);
}

}  // namespace

TEST_CASE("each rank reserves room for the board of its communicator", "[coll]") {
  for (std::uint32_t self = 0; self < 3; ++self) {
    INFO("member " << self);
    Notes notes;
    notes.has_room = self != 1;
    {
      const auto state = join(notes, self, LFC_COLL_COMMUNICATOR);
      CHECK(state->has_room() == notes.has_room);
      REQUIRE(notes.reserved);
      CHECK(notes.reserved->first == ProcessName{1, 0});
      CHECK(notes.reserved->key == kKey);
      CHECK(notes.reserved->lanes == 3);
      CHECK(notes.cancelled == 0);
    }
    CHECK(notes.cancelled == 1);
  }
}

TEST_CASE("only communicators with numbers may take all boards", "[coll]") {
  const auto few = [](lfc_coll_use use) {
    Notes notes;
    (void)join(notes, 0, use);
    return notes.reserved->few;
  };
  CHECK_FALSE(few(LFC_COLL_COMMUNICATOR));
  CHECK(few(LFC_COLL_UNNUMBERED));
  CHECK(few(LFC_COLL_REQUEST));
  CHECK(few(LFC_COLL_NEIGHBOUR_REQUEST));
}

}  // namespace lfc
