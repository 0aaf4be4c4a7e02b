// Measures anew what link/shm/calibration.hpp keeps: whether messages between the processes of this
// host go sooner through a ring or in a single copy by the kernel. For a machine that has changed, or
// whose first job found it busy.
//
//   calibrate [milliseconds=200]
//
// Prints the figures, and the file in which they are kept. Exit status 1: they cannot be kept.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "link/shm/calibration.hpp"

int main(int argc, char** argv) {
  using namespace lfc;
  const long milliseconds = argc > 1 ? std::clamp(std::atol(argv[1]), 1L, 60000L) : 200;
  const Calibration found = measure_copies(std::chrono::milliseconds(milliseconds));
  std::printf("ring         %.4f ns/B after %.0f ns\n", found.ring_ns_per_byte,
              found.ring_ns_start);
  std::printf("single copy  %.4f ns/B after %.0f ns\n", found.cma_ns_per_byte, found.cma_ns_start);
  if (found.single_copy_from == Calibration::kNever) {
    std::printf("the single copy is never faster\n");
  } else {
    std::printf("the single copy is faster from %zu B on\n", found.single_copy_from);
  }
  if (found.disturbed) {
    std::printf("not kept: the machine is too busy, the ring's figure is only an estimate\n");
    return 1;
  }
  const std::string file = calibration_file();
  if (file.empty() || !store_calibration(file, found)) {
    std::printf("not kept: %s\n", file.empty() ? "no home directory" : file.c_str());
    return 1;
  }
  std::printf("kept in %s\n", file.c_str());
}
