// What a link says of itself (link/traits.hpp) is what it does.
#include <string>
#include <vector>

#include "catch.hpp"
#include "conformance/kinds.hpp"

namespace lfc {
namespace {

// Whether end 0 has reached the other's memory natively, after both have talked.
bool reaches_memory(Lan& lan) {
  if (!lan.connect(0, lan.other()) || !lan.send(0, lan.other(), {FrameType::message}, "x", 1))
    return false;
  if (!lan.poll_until([&] { return lan[lan.other()].frame_count == 1; })) return false;
  return lan[0].link->remote_memory(lan.id(0, lan.other()));
}

}  // namespace

TEST_CASE("traits say what a link does", "[conformance]") {
  for (const Kind& kind : kinds()) {
    DYNAMIC_SECTION(kind.name) {
      Lan lan(kind, 2);
      if (!lan.open()) continue;  // link_test says so
      const Link& link = *lan[0].link;
      const LinkTraits& traits = link.traits();
      CHECK_FALSE(traits.name.empty());
      CHECK(link.name() == traits.name);
      std::vector<int> fds;
      link.wait_fds(fds);
      CHECK(traits.wakes == !fds.empty());
      CHECK((!reaches_memory(lan) || traits.remote_memory));
      CHECK((!traits.one_sided || traits.remote_memory));
      CHECK((!traits.either_way || (traits.remote_memory && traits.copies_at_once)));
      CHECK((!traits.registration_costs || traits.remote_memory));
    }
  }
}

}  // namespace lfc
