// Verdict: sentences about the rank that holds up a job and the waits of the others; a function of the snapshot alone.
//
//   const std::vector<std::string> lines = verdict(job);
//   // rank 3 waits for a credit of rank 5; rank 5 has not called MPI for 12 s: it sleeps in do_nanosleep
//
// Tests: tests/unit/look/verdict_test.cpp (snapshots made up).
#pragma once

#include <string>
#include <vector>

#include "snapshot.hpp"

namespace look {

std::vector<std::string> verdict(const Job& job);
// "has not called MPI for 12 s: it computes", "waits inside MPI", "is stopped".
std::string doing(const Rank& rank);

}  // namespace look
