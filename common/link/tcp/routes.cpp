#include "link/tcp/routes.hpp"

#include <algorithm>

#include "link/tcp/pairs.hpp"

namespace lfc::tcp {

// Between this rail and one of the peer's.
std::optional<Route> Routes::to(const Address& peer, std::string& why_not) const {
  const std::size_t number = rail_number(name_);
  const auto own = Address::parse(own_address_);
  Rails ours = own ? published_rails(*own) : Rails{};
  if (ours.size() <= number) ours.resize(number + 1);
  ours[number] = endpoints_;
  const Rails theirs = published_rails(peer);
  if (theirs.empty()) {
    why_not = "the peer has no tcp address";
    return std::nullopt;
  }
  const Pairs found = pair_rails(ours, theirs);
  for (const Pair& pair : found.pairs)
    if (pair.ours == number)
      return Route{endpoints_[pair.from].ip, theirs[pair.theirs][pair.to], rail_name(pair.theirs),
                   pair.why};
  for (const RailLeftOut& each : found.left_out)
    if (each.ours == number) why_not = interface_.address.text() + ": " + each.why;
  return std::nullopt;
}

std::optional<Route> Routes::reach(const Address& peer, std::string& why_not) const {
  std::optional<Route> route = to(peer, why_not);
  if (!route) return std::nullopt;
  const auto other = std::find_if(others_.begin(), others_.end(), [&](const Interface& each) {
    return each.address == route->from;
  });
  const Interface& from = other == others_.end() ? interface_ : *other;
  if (!can_reach(from, route->to.ip, route->to.node, why_not)) route.reset();
  return route;
}

}  // namespace lfc::tcp
