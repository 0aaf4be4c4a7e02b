#include "link/tcp/pairs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

namespace lfc::tcp {
namespace {

constexpr std::size_t kMostRails = 8;
constexpr std::uint64_t kSlower = 4;  // times than the best: such a pair would only hold it up

enum class Way : std::uint8_t { subnet, gateways, unknown, none };
constexpr const char* kWays[] = {"same subnet", "by gateways", "route not known"};

struct Candidate {
  Pair pair;
  Way way;
  std::uint32_t megabits;         // 0: not known
  int standard;                   // ends with a default route
  std::array<IpAddress, 2> ends;  // in order, so that both sides see the same

  int sum() const noexcept { return pair.ours + pair.theirs; }
  int apart() const noexcept { return std::abs(pair.ours - pair.theirs); }
  auto tie() const noexcept {
    return std::tuple(-std::int64_t{megabits}, -standard, way, apart(), sum(), ends[0].bytes,
                      ends[1].bytes);
  }
};

// Both nodes have an address of this subnet in common: it is not one network, but a network of each.
bool is_copy(const Endpoint& a, const Rails& ours, const Rails& theirs) {
  for (const auto& rail : ours)
    for (const Endpoint& mine : rail)
      for (const auto& other : theirs)
        for (const Endpoint& theirs_too : other)
          if (mine.ip == theirs_too.ip && mine.ip.in_subnet(a.ip, a.prefix)) return true;
  return false;
}

Way way_between(const Endpoint& a, const Endpoint& b, const Rails& ours, const Rails& theirs) {
  if (a.ip.family != b.ip.family || a.ip.is_loopback() != b.ip.is_loopback()) return Way::none;
  if (is_same_node(a.node, b.node, a.ip == b.ip)) return a.ip == b.ip ? Way::subnet : Way::gateways;
  if (a.ip.is_loopback()) return Way::none;
  if (a.ip.in_subnet(b.ip, b.prefix) && b.ip.in_subnet(a.ip, a.prefix))
    return is_copy(a, ours, theirs) ? Way::none : Way::subnet;
  if (a.ip.is_link_local() || b.ip.is_link_local() || a.ip == b.ip) return Way::none;
  return a.gateway && b.gateway ? Way::gateways : Way::unknown;
}

std::uint32_t slower(std::uint32_t a, std::uint32_t b) noexcept {
  return a == 0 || b == 0 ? 0 : std::min(a, b);
}

bool is_first(const std::vector<Endpoint>& rail) {
  return !rail.empty() && rail.front().strand == 0;
}

// The further connection of that number beside a first one; or null.
const std::vector<Endpoint>* strand_of(const Rails& rails, std::size_t first, unsigned strand) {
  for (const auto& each : rails)
    if (each.size() == rails[first].size() && each.front().strand == strand &&
        each.front().ip == rails[first].front().ip)
      return &each;
  return nullptr;
}

// The further connections beside those that have been paired.
void pair_strands(const Rails& ours, const Rails& theirs, std::vector<Pair>& pairs) {
  const std::size_t firsts = pairs.size();
  for (unsigned strand = 1; strand < kMostStrands; ++strand)
    for (std::size_t i = 0; i < firsts; ++i) {
      const Pair& first = pairs[i];
      const auto* mine = strand_of(ours, first.ours, strand);
      const auto* other = strand_of(theirs, first.theirs, strand);
      if (mine == nullptr || other == nullptr) continue;
      pairs.push_back({static_cast<std::uint8_t>(mine - ours.data()),
                       static_cast<std::uint8_t>(other - theirs.data()), first.from, first.to,
                       "connection " + std::to_string(strand + 1) + " between these"});
    }
}

// The best way between two rails, the same one from both sides. Among equals IPv4 comes first, then the addresses that
// stand for their devices.
std::optional<Candidate> candidate(std::uint8_t i, std::uint8_t j, const Rails& ours,
                                   const Rails& theirs) {
  const auto rank = [](const Candidate& each) {
    return std::tuple(each.way, each.ends[0].family == AF_INET6, each.pair.from + each.pair.to,
                      each.ends[0].bytes, each.ends[1].bytes);
  };
  std::optional<Candidate> best;
  for (std::uint8_t from = 0; from < ours[i].size(); ++from)
    for (std::uint8_t to = 0; to < theirs[j].size(); ++to) {
      const Endpoint& a = ours[i][from];
      const Endpoint& b = theirs[j][to];
      const Way way = way_between(a, b, ours, theirs);
      if (way == Way::none) continue;
      Candidate found{{i, j, from, to, {}},
                      way,
                      slower(a.megabits, b.megabits),
                      int{a.standard} + int{b.standard},
                      {a.ip, b.ip}};
      if (found.ends[1].bytes < found.ends[0].bytes) std::swap(found.ends[0], found.ends[1]);
      if (!best || rank(found) < rank(*best)) best = std::move(found);
    }
  return best;
}

std::vector<Candidate> candidates(const Rails& ours, const Rails& theirs) {
  std::vector<Candidate> all;
  for (std::uint8_t i = 0; i < ours.size(); ++i)
    for (std::uint8_t j = 0; j < theirs.size(); ++j)
      if (is_first(ours[i]) && is_first(theirs[j]))
        if (auto found = candidate(i, j, ours, theirs)) all.push_back(*found);
  // Pairs of an unknown kind are used only where no other pair exists.
  const bool known = std::any_of(all.begin(), all.end(),
                                 [](const Candidate& each) { return each.way != Way::unknown; });
  if (known) std::erase_if(all, [](const Candidate& each) { return each.way == Way::unknown; });
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.way, a.tie()) < std::pair(b.way, b.tie());
  });
  return all;
}

bool on_one_host(const Endpoint& mine, const Rails& theirs) {
  return std::any_of(theirs.begin(), theirs.end(), [&](const auto& rail) {
    return !rail.empty() && is_same_node(rail.front().node, mine.node, rail.front().ip == mine.ip);
  });
}

std::string speed_text(std::uint32_t megabits) {
  return megabits == 0 ? "speed not known" : std::to_string(megabits) + " Mbit/s";
}

}  // namespace

Pairs pair_rails(const Rails& ours, const Rails& theirs) {
  std::vector<Candidate> chosen;
  for (Candidate& each : candidates(ours, theirs)) {
    const bool taken = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& other) {
      return other.pair.ours == each.pair.ours || other.pair.theirs == each.pair.theirs;
    });
    if (!taken) chosen.push_back(std::move(each));
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Candidate& a, const Candidate& b) { return a.tie() < b.tie(); });
  Pairs result;
  std::vector<std::string> why_not(ours.size(),
                                   "the peer has no free interface in its subnet, nor do gateways "
                                   "connect it to one");
  for (std::size_t i = 0; i < ours.size(); ++i)
    for (const Endpoint& mine : ours[i])
      if (is_copy(mine, ours, theirs) && !on_one_host(mine, theirs))
        why_not[i] = "both nodes have the address " + mine.ip.text() +
                     ", so this is a network of each node's own";
  for (Candidate& each : chosen) {
    const std::uint32_t best = chosen.front().megabits;
    std::string& why = why_not[each.pair.ours];
    if (each.megabits != 0 && each.megabits * kSlower < best) {
      why = "with " + speed_text(each.megabits) + " it is slower than a quarter of the best, " +
            speed_text(best);
      continue;
    }
    why.clear();
    each.pair.why = std::string(kWays[static_cast<int>(each.way)]) + ", " +
                    speed_text(each.megabits) + (each.standard != 0 ? ", default route" : "") +
                    (result.pairs.empty() ? ", leads" : "");
    result.pairs.push_back(std::move(each.pair));
  }
  pair_strands(ours, theirs, result.pairs);
  for (std::uint8_t i = 0; i < ours.size(); ++i)
    if (is_first(ours[i]) && !why_not[i].empty()) result.left_out.push_back({i, why_not[i]});
  return result;
}

std::string rail_name(std::size_t number) {
  return number == 0 ? "tcp" : "tcp" + std::to_string(number);
}

std::size_t rail_number(std::string_view name) {
  std::size_t number = 0;
  name.remove_prefix(std::min<std::size_t>(name.size(), 3));
  std::from_chars(name.data(), name.data() + name.size(), number);
  return std::min(number, kMostRails - 1);
}

Rails published_rails(const Address& address) {
  Rails rails;
  for (std::size_t i = 0; i < kMostRails; ++i) {
    std::vector<Endpoint> endpoints = endpoints_of(address, rail_name(i));
    if (endpoints.empty()) continue;
    rails.resize(i + 1);
    rails[i] = std::move(endpoints);
  }
  return rails;
}

Pairing pair_addresses(const Address& own, const Address& peer) {
  Pairs found = pair_rails(published_rails(own), published_rails(peer));
  Pairing pairing;
  for (Pair& each : found.pairs)
    pairing.pairs.push_back({each.ours, each.theirs, std::move(each.why)});
  pairing.left_out = std::move(found.left_out);
  return pairing;
}

}  // namespace lfc::tcp
