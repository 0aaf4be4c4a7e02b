// Service waits: waits of ranks in windows, collectives, NEON and ordered broadcast (waits.hpp has the rest).
#pragma once

#include <vector>

#include "waits.hpp"

namespace look {

void add_window_waits(const Job& job, const Rank& rank, std::vector<Wait>& to);
void add_collective_waits(const Job& job, const Rank& rank, std::vector<Wait>& to);
void add_neon_waits(const Job& job, const Rank& rank, std::vector<Wait>& to);
void add_ordered_waits(const Job& job, const Rank& rank, std::vector<Wait>& to);

}  // namespace look
