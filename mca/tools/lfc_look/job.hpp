// Jobs: the ranks on this node, read twice, to detect progress in between.
//
//   Found found = look_at(processes(), 0.3);
//   for (const auto& [number, job] : found.jobs) ...
//   for (const std::string& line : found.problems) ...         // processes that may not be looked into
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "snapshot.hpp"

namespace look {

struct Found {
  std::map<std::uint32_t, Job> jobs;  // by number
  std::vector<std::string> problems;
};

Found look_at(const std::vector<int>& pids, double seconds);

}  // namespace look
