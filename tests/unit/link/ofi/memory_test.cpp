// Remote memory over each provider.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <vector>

#include "catch.hpp"
#include "flight.hpp"
#include "link/ofi/ofi_fabric.hpp"
#include "link/ofi/ofi_link.hpp"
#include "unit/link/ofi/world.hpp"

namespace lfc::ofi_world {

// Starts an operation and waits for its end.
Result finish(Pair& pair, Flight& operation, const std::function<Link::Start()>& begin) {
  Link::Start start = Link::Start::again;
  REQUIRE(run(pair.both(), 10s, [&] {
    start = begin();
    return start != Link::Start::again;
  }));
  if (start == Link::Start::failed) return Result::not_supported;
  if (start == Link::Start::done) return Result::ok;
  REQUIRE(run(pair.both(), 20s, [&] { return operation.calls == 1; }));
  return operation.result;
}

TEST_CASE("ofi: put and get reach the peer's memory", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    for (const PutProof proof : {PutProof::automatic, PutProof::read_back}) {
      Pair pair(candidate.provider, [&](OfiOptions& options) { options.put_proof = proof; });
      pair.join();
      if (!pair.a.link().remote_memory(pair.a_to_b)) {
        WARN("no remote memory over " << candidate.provider);
        return;
      }
      const std::size_t size = candidate.slow ? (1u << 17) : (20u << 20);
      Bytes target = pattern(size, 1);
      Bytes local(size);
      LinkRegion local_region;
      LinkRegion target_region;
      REQUIRE(pair.a.link().register_memory(local.data(), size, local_region));
      REQUIRE(pair.b.link().register_memory(target.data(), size, target_region));
      const LinkRegion seen_by_peer{target_region.key, target_region.base, nullptr};
      const auto base = reinterpret_cast<std::uint64_t>(target.data());
      int seed = 50;
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4097}, size - 3}) {
        const std::size_t offset = std::min<std::size_t>(3, size - length);
        for (const LinkRegion& region : {local_region, LinkRegion{}}) {
          // A get returns the peer's bytes.
          std::fill(local.begin(), local.end(), std::byte{0});
          Flight got;
          REQUIRE(finish(pair, got, [&] {
                    return pair.a.link().get(pair.a_to_b, local.data() + offset, region,
                                             base + offset, seen_by_peer, length, &got);
                  }) == Result::ok);
          CHECK(std::memcmp(local.data() + offset, target.data() + offset, length) == 0);
          if (offset != 0) CHECK(local[offset - 1] == std::byte{0});

          // A put is visible when it is complete, without another poll of the peer.
          const Bytes fresh = pattern(length, static_cast<std::uint32_t>(++seed));
          if (length != 0) std::memcpy(local.data() + offset, fresh.data(), length);
          const std::byte guard = target[offset - 1];
          Flight written;
          REQUIRE(finish(pair, written, [&] {
                    return pair.a.link().put(pair.a_to_b, local.data() + offset, region,
                                             base + offset, seen_by_peer, length, &written);
                  }) == Result::ok);
          CHECK(std::equal(fresh.begin(), fresh.end(), target.data() + offset));
          CHECK(target[offset - 1] == guard);
        }
      }
      pair.a.link().deregister_memory(local_region);
      pair.b.link().deregister_memory(target_region);
      CHECK(pair.a.broken.empty());
      CHECK(pair.b.broken.empty());
    }
  });
}

TEST_CASE("ofi: many operations at once, frames in between", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    if (!pair.a.link().remote_memory(pair.a_to_b)) return;
    constexpr std::size_t kPiece = 1000;
    const std::size_t count = candidate.slow ? 40 : 500;
    Bytes source = pattern(count * kPiece, 21);
    Bytes target(count * kPiece);
    LinkRegion region;
    REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
    std::vector<Flight> operations(count);
    std::size_t started = 0;
    std::size_t sent = 0;
    REQUIRE(run(pair.both(), 20s, [&] {
      if (started < count) {
        const Link::Start start =
            pair.a.link().put(pair.a_to_b, source.data() + started * kPiece, {},
                              reinterpret_cast<std::uint64_t>(target.data()) + started * kPiece,
                              {region.key, region.base, nullptr}, kPiece, &operations[started]);
        REQUIRE(start != Link::Start::failed);
        if (start != Link::Start::again) ++started;
      }
      if (sent < count)
        sent += send_bytes(pair.a, pair.a_to_b, {FrameType::message}, pattern(100, 2)) ==
                SendStatus::sent;
      return pair.b.frames.size() == count &&
             std::all_of(operations.begin(), operations.end(),
                         [](const Flight& op) { return op.calls == 1; });
    }));
    CHECK(target == source);
    CHECK(std::all_of(operations.begin(), operations.end(),
                      [](const Flight& op) { return op.result == Result::ok; }));
    pair.b.link().deregister_memory(region);
  });
}

TEST_CASE("ofi: closing completes what is under way, once", "[ofi]") {
  for_each_provider([](const Candidate& candidate) {
    Pair pair(candidate.provider);
    pair.join();
    if (!pair.a.link().remote_memory(pair.a_to_b)) return;
    Bytes source = pattern(1 << 16, 1);
    Bytes target(1 << 16);
    LinkRegion region;
    REQUIRE(pair.b.link().register_memory(target.data(), target.size(), region));
    std::vector<Flight> operations(4);
    int started = 0;
    for (Flight& operation : operations)
      started += pair.a.link().put(pair.a_to_b, source.data(), {},
                                   reinterpret_cast<std::uint64_t>(target.data()),
                                   {region.key, region.base, nullptr}, source.size(),
                                   &operation) == Link::Start::started;
    REQUIRE(started > 0);
    pair.a.link().close(pair.a_to_b);
    const auto calls = [&] {
      return std::count_if(operations.begin(), operations.end(),
                           [](const Flight& op) { return op.calls == 1; });
    };
    CHECK(calls() == started);
    const auto end = Clock::now() + 200ms;
    REQUIRE(run(pair.both(), 2s, [&] { return Clock::now() > end; }));
    CHECK(calls() == started);
    pair.b.link().deregister_memory(region);
  });
}

}  // namespace lfc::ofi_world
