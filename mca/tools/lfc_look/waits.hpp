// Waits: the waits of each rank of a job, as far as LFC knows. They follow from the records of all ranks together,
// because only the other ranks show who is missing in a collective or holds a lock.
//
//   for (const Wait& wait : waits_of(job, rank)) ...       // "a credit of rank 5", on: 5
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snapshot.hpp"

namespace look {

struct Wait {
  std::string what;                   // behind "rank 3 waits for "
  std::optional<std::uint32_t> on{};  // the rank that could end it
  bool by_engine = false;             // LFC there could, without the rank's calling MPI
};

std::vector<Wait> waits_of(const Job& job, const Rank& rank);

// Null: it is not on this node.
const Rank* find_rank(const Job& job, std::uint32_t number) noexcept;
std::string called(std::uint32_t rank);  // "rank 5"

}  // namespace look
