#include "base/build_stamp.hpp"

#include <atomic>
#include <span>

#include "base/bytes.hpp"

namespace lfc {
namespace {

constinit std::atomic<std::uint64_t> sum{0};

}  // namespace

BuildStamp::BuildStamp(std::string_view part, std::initializer_list<std::uint64_t> facts) noexcept {
  const std::uint64_t name = fnv1a(std::as_bytes(std::span(part)));
  sum.fetch_add(fnv1a(std::as_bytes(std::span(facts.begin(), facts.size())), name),
                std::memory_order_relaxed);
}

std::uint32_t BuildStamp::of_all() noexcept {
  const std::uint64_t all = sum.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(all ^ all >> 32);
}

}  // namespace lfc
