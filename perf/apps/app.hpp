// Tools of all application kernels: options, start and end, a watchdog, failures, repeatable random
// numbers, calibrated work, and the lines of output.
//
//   int main(int argc, char** argv) {
//     app::Options options(argc, argv, "asp", "All-pairs shortest paths.");
//     const int n = options.number("--vertices", 256, 64, "vertices of the graph");
//     app::Run run(options);                                  // MPI is up until the end of main
//     const double seconds = app::longest([&] { solve(); });  // of the slowest rank
//     app::require(right, "row %d is wrong", i);              // ends the job with exit code 1
//     run.report({.bench = "asp", .size = n, .values = {seconds * 1e6}, .counts = {{"rows", n}}});
//     return run.finish();                                    // "ok" is the last line
//   }
//
// Every result is one JSON line, as mpi_bench prints it (measure/applications.py reads it), and one
// line for people. For programs with one thread.
#pragma once

#include "app/broadcast.hpp"
#include "app/job.hpp"
#include "app/options.hpp"
#include "app/random.hpp"
#include "app/run.hpp"
#include "app/shares.hpp"
#include "app/window.hpp"
#include "app/work.hpp"
