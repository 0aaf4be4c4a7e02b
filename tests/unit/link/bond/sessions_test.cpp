// The sessions of a bond: the names that find them, and when they are freed.
#include "link/bond/sessions.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace lfc;
using namespace lfc::bond;

namespace {

Address address_of(std::uint32_t rank) {
  AddressWriter writer({{1, rank}, {}, 4});
  const auto blob = std::move(writer).finish();
  return *Address::parse(blob);
}

}  // namespace

TEST_CASE("a session is found by its id, its peer and its process", "[bond]") {
  Sessions sessions;
  CHECK(sessions.of(3) == nullptr);
  CHECK(sessions.by_id(0) == nullptr);
  CHECK(sessions.latest({1, 5}) == nullptr);
  Session& one = sessions.add(address_of(5), 3);
  Session& two = sessions.add(address_of(6), 0);
  CHECK(sessions.of(3) == &one);
  CHECK(sessions.of(0) == &two);
  CHECK(sessions.of(1) == nullptr);
  CHECK(sessions.by_id(one.id) == &one);
  CHECK(sessions.latest({1, 6}) == &two);
}

TEST_CASE("a later session with the same process takes its name, and keeps it", "[bond]") {
  Sessions sessions;
  Session& older = sessions.add(address_of(5), 3);
  sessions.forget(older);
  Session& newer = sessions.add(address_of(5), 3);
  CHECK(sessions.of(3) == &newer);
  sessions.end(older);
  CHECK(sessions.latest({1, 5}) == &newer);
  sessions.end(newer);
  CHECK(sessions.latest({1, 5}) == nullptr);
}

TEST_CASE("a session is freed when it is over, forgotten, at rest and carries nothing", "[bond]") {
  Sessions sessions;
  Session& session = sessions.add(address_of(5), 3);
  const PeerId id = session.id;
  const auto freed = [&] {
    sessions.free_ended();
    return sessions.by_id(id) == nullptr;
  };
  CHECK_FALSE(sessions.has_ended());
  session.state = Session::State::over;
  sessions.end(session);
  CHECK(sessions.has_ended());
  CHECK_FALSE(freed());  // the NI still uses it
  sessions.make_restless(session);
  sessions.make_restless(session);
  session.chunks = 1;
  sessions.forget(session);
  CHECK_FALSE(freed());
  CHECK(sessions.take_restless() == std::vector<Session*>{&session});
  CHECK_FALSE(sessions.restless());
  session.restless = false;
  CHECK_FALSE(freed());
  CHECK(sessions.has_ended());  // as soon as its chunk returns
  session.chunks = 0;
  CHECK(freed());
  CHECK_FALSE(sessions.has_ended());
  CHECK(sessions.add(address_of(5), 3).id != id);
}
