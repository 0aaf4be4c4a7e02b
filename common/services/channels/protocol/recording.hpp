// Recording: counts of the messages that one process has sent and expected, by kinds of calls, and the order of the
// first ones.
//
//   Recording recording;
//   recording.note({.kind = LFC_RECORDED_SEND, .comm = 0, .comm_size = 2, .peer = 1, .tag = 7}, 8, true);
//   recording.text(0, 0);
//     // process rank=0 node=0
//     // send comm=0/2 peer=1 tag=7 mode=standard persistent=no messages=1 pieces=0 sizes=8:1
//     // order 0
//
// Memory is bounded: calls beyond the limits are only counted. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lfc/recording.h"

namespace lfc::channels {

struct RecordingLimits {
  std::size_t kinds = 8192;  // of calls
  std::size_t sizes = 8;     // of messages of one kind; the others are counted at the mean
  std::size_t order = 4096;  // calls of which the order is kept
};

class Recording {
 public:
  explicit Recording(const RecordingLimits& limits = {}) : limits_(limits) {}

  void note(const lfc_recorded& operation, std::size_t bytes, bool in_one_piece);
  // `node`: the same number for ranks that share one.
  std::string text(int rank, int node) const;

 private:
  struct Hash {
    std::size_t operator()(const lfc_recorded& operation) const noexcept;
  };
  struct Same {
    bool operator()(const lfc_recorded& a, const lfc_recorded& b) const noexcept;
  };
  struct Kind {
    lfc_recorded operation;
    std::uint64_t messages = 0, pieces = 0;                    // pieces: of those, not in one piece
    std::vector<std::pair<std::size_t, std::uint64_t>> sizes;  // bytes, messages
    std::uint64_t other_messages = 0, other_bytes = 0;         // of further sizes
  };

  static void describe(const Kind& kind, std::string& text);
  void describe_order(std::string& text) const;

  RecordingLimits limits_;
  std::unordered_map<lfc_recorded, std::uint32_t, Hash, Same> places_;
  std::vector<Kind> kinds_;  // in the order of their first use
  std::vector<std::uint32_t> order_;
  std::uint64_t calls_ = 0, unnoted_ = 0;
};

// Program: the program that this process runs, as the name of its file and a digest of its contents.
struct Program {
  std::string name;
  std::uint64_t digest = 0;  // 0: it cannot be read
};
Program own_program();
std::string title(const Program& program, int ranks);

}  // namespace lfc::channels
