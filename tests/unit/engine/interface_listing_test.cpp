// How often opening an engine lists the interfaces of this node, and reads the kernel's files about a device. Both are
// counted where the library calls them: this program's functions take precedence over those of the C library.
#include <dlfcn.h>
#include <ifaddrs.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "engine/link_kinds.hpp"
#include "engine/open.hpp"

namespace {

using lfc::Ni;
using lfc::NiOptions;

std::atomic<int> listings{0};
std::mutex mutex;
std::map<std::string, int> device_files;  // how often each was opened

void note(const char* path) {
  if (!std::string_view(path).starts_with("/sys/class/net/")) return;
  const std::lock_guard guard(mutex);
  ++device_files[path];
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define TAKES_PRECEDENCE extern "C" __attribute__((visibility("default")))

TAKES_PRECEDENCE int getifaddrs(ifaddrs** list) noexcept {
  ++listings;
  return next<int(ifaddrs**)>("getifaddrs")(list);
}
TAKES_PRECEDENCE FILE* fopen(const char* path, const char* mode) {
  note(path);
  return next<FILE*(const char*, const char*)>("fopen")(path, mode);
}
TAKES_PRECEDENCE FILE* fopen64(const char* path, const char* mode) {
  note(path);
  return next<FILE*(const char*, const char*)>("fopen64")(path, mode);
}

TEST_CASE("an opening lists the interfaces once, and reads each file of a device once") {
  NiOptions options;
  options.name = {7, 0};
  options.links = "loop,shm,tcp";
  options.interfaces = "lo";
  options.notice = [](std::string_view) {};
  listings = 0;
  device_files.clear();
  std::string error, notes;
  const std::unique_ptr<Ni> ni = lfc::open_ni(options, error, notes);
  INFO(error);
  REQUIRE(ni != nullptr);
  CHECK(listings == 1);
  const std::lock_guard guard(mutex);
  CHECK(device_files.count("/sys/class/net/lo/device/vendor") == 1);
  for (const auto& [path, times] : device_files) {
    INFO(path);
    CHECK(times == 1);
  }
}
