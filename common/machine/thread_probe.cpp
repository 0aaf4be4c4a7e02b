#include "machine/thread_probe.hpp"

#include <system_error>
#include <thread>

namespace lfc {

std::string why_no_thread() try {
  std::thread([] {}).join();
  return {};
} catch (const std::system_error& error) {
  return "no thread can be started: " + error.code().message() +
         " (see ulimit -u, and pids.max of the control group)";
}

}  // namespace lfc
