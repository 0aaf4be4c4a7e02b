// Native remote memory of links: put and get, over every kind that has them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "conformance/kinds.hpp"
#include "flight.hpp"
#include "link/sim/random.hpp"

namespace lfc {
namespace {

std::string bytes_of(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

template <class Start>
void begin(Lan& lan, Flight& flight, Start start) {
  REQUIRE(lan.poll_until([&] {
    flight.start = start();
    return flight.start != Link::Start::again;
  }));
}

// Opens two ends and connects them. False: this kind has no native remote memory, or cannot be opened, which link_test
// reports.
bool native(Lan& lan) {
  if (!lan.open() || !lan.connect(0, lan.other())) return false;
  if (!lan.send(0, lan.other(), {FrameType::message}, "x", 1)) return false;
  if (!lan.poll_until([&] { return lan[lan.other()].frame_count == 1; })) return false;
  return lan[0].link->remote_memory(lan.id(0, lan.other()));
}

}  // namespace

TEST_CASE("native put and get move the right bytes, exactly once", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!native(lan)) {
        std::printf("conformance: %s: no native remote memory\n", kind.name.c_str());
        continue;
      }
      const int b = lan.other();
      const PeerId peer = lan.id(0, b);
      constexpr std::size_t kSize = 3u << 20;
      std::string there = bytes_of(kSize, 1);
      std::string here = bytes_of(kSize, 2);
      LinkRegion remote;
      LinkRegion local;
      REQUIRE(lan[b].link->register_memory(there.data(), kSize, remote));
      REQUIRE(lan[0].link->register_memory(here.data(), kSize, local));
      const auto base = reinterpret_cast<std::uint64_t>(there.data());

      Random random(4);
      for (const std::size_t size :
           {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{4096}, std::size_t{65537},
            std::size_t{1} << 20, kSize}) {
        INFO("size " << size);
        const std::size_t from = random.below(kSize - size + 1);
        const std::size_t to = random.below(kSize - size + 1);
        std::string expected = there;
        expected.replace(to, size, here.substr(from, size));
        Flight put;
        begin(lan, put, [&] {
          return lan[0].link->put(peer, here.data() + from, local, base + to, remote, size, &put);
        });
        REQUIRE(put.start != Link::Start::failed);
        REQUIRE(lan.poll_until([&] { return put.finished(); }));
        if (put.calls == 1) REQUIRE(put.result == Result::ok);
        REQUIRE(there == expected);

        Flight get;
        const std::size_t into = random.below(kSize - size + 1);
        std::string here_expected = here;
        here_expected.replace(into, size, there.substr(to, size));
        begin(lan, get, [&] {
          return lan[0].link->get(peer, here.data() + into, local, base + to, remote, size, &get);
        });
        REQUIRE(get.start != Link::Start::failed);
        REQUIRE(lan.poll_until([&] { return get.finished(); }));
        if (get.calls == 1) REQUIRE(get.result == Result::ok);
        REQUIRE(here == here_expected);
        for (int i = 0; i < 20; ++i) lan.poll();
        REQUIRE(put.calls == (put.start == Link::Start::started ? 1 : 0));
        REQUIRE(get.calls == (get.start == Link::Start::started ? 1 : 0));
      }

      // Many operations at once, among frames.
      std::vector<std::unique_ptr<Flight>> flights;
      constexpr std::size_t kPiece = 10000;
      for (std::size_t i = 0; i < 100; ++i) {
        Flight& put = *flights.emplace_back(std::make_unique<Flight>());
        begin(lan, put, [&] {
          return lan[0].link->put(peer, here.data() + i * kPiece, local, base + i * kPiece, remote,
                                  kPiece, &put);
        });
        REQUIRE(put.start != Link::Start::failed);
        if (i % 10 == 0) REQUIRE(lan.send(0, b, {FrameType::message}, "between", 7));
      }
      REQUIRE(lan.poll_until([&] {
        return std::all_of(flights.begin(), flights.end(),
                           [](const auto& flight) { return flight->finished(); });
      }));
      REQUIRE(there.compare(0, 100 * kPiece, here, 0, 100 * kPiece) == 0);
      REQUIRE(lan.poll_until([&] { return lan[b].frame_count == 11; }));
      lan[0].link->deregister_memory(local);
      lan[b].link->deregister_memory(remote);
      CHECK(lan[b].offences.empty());
    }
  }
}

TEST_CASE("a put with a notification reports itself once, behind its bytes", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!native(lan)) continue;
      const int b = lan.other();
      const PeerId peer = lan.id(0, b);
      std::string there(1u << 20, 't');
      std::string here = bytes_of(there.size(), 3);
      LinkRegion remote, local;
      REQUIRE(lan[b].link->register_memory(there.data(), there.size(), remote));
      REQUIRE(lan[0].link->register_memory(here.data(), here.size(), local));
      const auto base = reinterpret_cast<std::uint64_t>(there.data());
      const auto put = [&](Flight& flight, std::size_t at, std::size_t size, std::uint32_t value) {
        begin(lan, flight, [&] {
          return lan[0].link->put_notified(peer, here.data() + at, local, base + at, remote, size,
                                           value, &flight);
        });
      };
      if (!lan[0].link->traits().notified_puts) {
        std::printf("conformance: %s: no puts with notifications\n", kind.name.c_str());
        Flight flight;
        put(flight, 0, 8, 1);
        CHECK(flight.start == Link::Start::failed);
        CHECK(lan[b].notified.empty());
        continue;
      }
      std::vector<std::pair<std::size_t, std::size_t>> parts;  // offset and size
      std::size_t next = 0;
      for (const std::size_t size :
           std::initializer_list<std::size_t>{1, 7, 8, 255, 257, 4096, 65537, 300000}) {
        parts.emplace_back(next, size);
        next += size;
      }
      while (parts.size() < 200) {  // more than the link has receive buffers
        parts.emplace_back(next, 1000);
        next += 1000;
      }
      constexpr std::uint32_t kFirst = 0xffffff00u;  // value
      bool behind = true;
      lan[b].on_each_notified = [&] {
        const auto [at, size] = parts[lan[b].notified.back().second - kFirst];
        behind = behind && there.compare(at, size, here, at, size) == 0;
      };
      std::vector<std::unique_ptr<Flight>> flights;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        flights.push_back(std::make_unique<Flight>());
        put(*flights.back(), parts[i].first, parts[i].second,
            static_cast<std::uint32_t>(kFirst + i));
        REQUIRE(flights.back()->start != Link::Start::failed);
        if (i % 10 == 0) REQUIRE(lan.send(0, b, {FrameType::message}, "between", 7));
      }
      REQUIRE(lan.poll_until([&] {
        return lan[b].notified.size() == parts.size() &&
               std::all_of(flights.begin(), flights.end(),
                           [](const auto& flight) { return flight->finished(); });
      }));
      for (int i = 0; i < 20; ++i) lan.poll();
      REQUIRE(lan[b].notified.size() == parts.size());
      CHECK(behind);
      std::sort(lan[b].notified.begin(), lan[b].notified.end());  // they may overtake each other
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (flights[i]->calls == 1) CHECK(flights[i]->result == Result::ok);
        CHECK(lan[b].notified[i].first == lan.id(b, 0));
        CHECK(lan[b].notified[i].second == kFirst + i);
      }
      CHECK(lan[b].frame_count == 1 + parts.size() / 10);
      lan[0].link->deregister_memory(local);
      lan[b].link->deregister_memory(remote);
      CHECK(lan[b].offences.empty());
    }
  }
}

TEST_CASE("operations under way are completed when the peer is closed", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!native(lan)) continue;
      const PeerId peer = lan.id(0, lan.other());
      constexpr std::size_t kSize = 1u << 20;
      std::string there(kSize, 't');
      std::string here(kSize, 'h');
      LinkRegion remote;
      LinkRegion local;
      REQUIRE(lan[lan.other()].link->register_memory(there.data(), kSize, remote));
      REQUIRE(lan[0].link->register_memory(here.data(), kSize, local));
      const auto base = reinterpret_cast<std::uint64_t>(there.data());
      std::vector<std::unique_ptr<Flight>> flights;
      for (int i = 0; i < 8; ++i) {
        Flight& flight = *flights.emplace_back(std::make_unique<Flight>());
        flight.start =
            i % 2 == 0 ? lan[0].link->put(peer, here.data(), local, base, remote, kSize, &flight)
                       : lan[0].link->get(peer, here.data(), local, base, remote, kSize, &flight);
        if (flight.start == Link::Start::again) flights.pop_back();
      }
      lan[0].link->close(peer);
      REQUIRE(lan.poll_until([&] {
        return std::all_of(flights.begin(), flights.end(),
                           [](const auto& flight) { return flight->finished(); });
      }));
      for (int i = 0; i < 50; ++i) lan.poll();
      for (const auto& flight : flights)
        REQUIRE(flight->calls == (flight->start == Link::Start::started ? 1 : 0));
      lan[0].link->deregister_memory(local);
      lan[lan.other()].link->deregister_memory(remote);
    }
  }
}

TEST_CASE("a link that copies at once needs no operation", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!native(lan) || !lan[0].link->traits().copies_at_once) continue;
      const PeerId peer = lan.id(0, lan.other());
      std::string there = bytes_of(100, 1);
      std::string here = bytes_of(100, 2);
      LinkRegion remote;
      REQUIRE(lan[lan.other()].link->register_memory(there.data(), there.size(), remote));
      const auto base = reinterpret_cast<std::uint64_t>(there.data());
      REQUIRE(lan[0].link->put(peer, here.data(), {}, base, remote, 50, nullptr) ==
              Link::Start::done);
      CHECK(there.substr(0, 50) == here.substr(0, 50));
      REQUIRE(lan[0].link->get(peer, here.data(), {}, base, remote, 100, nullptr) ==
              Link::Start::done);
      CHECK(here == there);
      // More pieces than one call of the kernel takes, the last over the first.
      constexpr std::size_t kPieces = 700, kGap = 24;
      std::string target = bytes_of(kPieces * kGap, 3), wanted = target;
      const std::string words = bytes_of(kPieces * 8 + 8, 4);
      const auto to = reinterpret_cast<std::uint64_t>(target.data());
      std::vector<CopyPiece> pieces;
      for (std::size_t i = 0; i <= kPieces; ++i) {
        const std::size_t at = i % kPieces * kGap;
        pieces.push_back({words.data() + 8 * i, to + at, 8});
        wanted.replace(at, 8, words, 8 * i, 8);
      }
      LinkRegion whole;
      REQUIRE(lan[lan.other()].link->register_memory(target.data(), target.size(), whole));
      CHECK(lan[0].link->put_pieces(peer, pieces, whole));
      CHECK(target == wanted);
    }
  }
}

}  // namespace lfc
