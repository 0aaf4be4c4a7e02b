// How epochs, locks and windows end: with other windows, with other threads' locks, and while memory is detached.
#include "windows_world.hpp"

namespace lfc {

TEST_CASE("a window is freed while posts of another one wait", "[windows]") {
  constexpr std::uint64_t kEpochs = 40;
  Setting at(2);
  const std::uint32_t target = 1;
  const std::uint32_t origin = 0;
  for (std::uint64_t i = 0; i < kEpochs; ++i) {
    REQUIRE(at.at(0).start({&target, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(0).complete() == WindowStatus::ok);
  }
  at.settle();
  for (std::uint64_t i = 0; i < kEpochs; ++i) {
    REQUIRE(at.at(1).post({&origin, 1}, false) == WindowStatus::ok);
    REQUIRE(at.at(1).wait() == WindowStatus::ok);
  }
  std::uint64_t word = 0;
  Window::Shape shape;
  shape.base = &word;
  shape.size = sizeof word;
  const std::unique_ptr<Window> alone = at.services[1]->create(std::move(shape));
  const WindowFacts facts = alone->facts();
  const PeerId self = kNoPeer;
  const bool local_peer = false;
  REQUIRE(alone->connect({&facts, 1}, {&self, 1}, {&local_peer, 1}));
  REQUIRE(alone->drain() == WindowStatus::ok);
  CHECK(at.at(0).protocol().origin.peer(1).posts + 2 < kEpochs);  // most of them still wait
  REQUIRE(at.at(1).drain() == WindowStatus::ok);
  CHECK(at.at(0).protocol().origin.peer(1).posts + 2 >= kEpochs);
}

// The request is that of another thread's next lock.
TEST_CASE("a lock that has been requested is acquired before it is released", "[windows]") {
  Setting at(3, {.initial_window = 8});
  REQUIRE(at.at(0).lock(1, true, false) == WindowStatus::ok);
  {
    const Ni::Access access(at.world.ni(0));
    at.at(0).protocol().origin.request_lock(at.at(0).protocol().origin.use(1));
  }
  REQUIRE(at.at(0).unlock(1) == WindowStatus::ok);
  at.settle();
  CHECK_FALSE((at.broke(0) || at.broke(1)));
  std::uint64_t value = 5;
  REQUIRE(at.at(2).lock(1, true, false) == WindowStatus::ok);
  REQUIRE(at.at(2).put(1, Word(&value).view, Word(nullptr, 3).view, nullptr) == WindowStatus::ok);
  REQUIRE(at.at(2).unlock(1) == WindowStatus::ok);
  CHECK(at.words(1)[3] == 5);
}

TEST_CASE("memory that is detached while an operation waits is not written, and the epoch fails",
          "[windows]") {
  Setting at(1, {}, Flavor::dynamic);
  const std::uint32_t self = 0;
  std::uint64_t value = 5;
  const auto place = reinterpret_cast<std::int64_t>(at.words(0));
  REQUIRE(at.at(0).attach(at.words(0), 8) == WindowStatus::ok);
  REQUIRE(at.at(0).start({&self, 1}, false) == WindowStatus::ok);
  REQUIRE(at.at(0).put(0, Word(&value).view, Word(nullptr, place / 8).view, nullptr) ==
          WindowStatus::ok);
  REQUIRE(at.at(0).detach(at.words(0)) == WindowStatus::ok);
  REQUIRE(at.at(0).post({&self, 1}, false) == WindowStatus::ok);
  CHECK(at.at(0).complete() == WindowStatus::range);
  CHECK(at.at(0).wait() == WindowStatus::ok);
  CHECK(at.words(0)[0] == 0);
}

TEST_CASE("locks of all are given back to a writer that holds another lock", "[windows]") {
  Setting at(3, {}, Flavor::create, {.seed = 3}, 3);
  rma::Epochs& all = at.at(1).protocol().epochs;
  rma::Epochs& alone = at.at(0).protocol().epochs;
  rma::OriginPeer& second = at.at(0).protocol().origin.use(1);
  REQUIRE(at.at(0).lock(2, true, false) == WindowStatus::ok);
  REQUIRE(all.begin_lock_all(false) == WindowStatus::ok);
  all.prepare_lock_all(false);
  std::size_t next = 0;
  REQUIRE_FALSE(all.try_lock_all(next));
  REQUIRE(next == 2);  // the other two wait
  REQUIRE(alone.begin_lock(1, true, false) == WindowStatus::ok);
  second.beside = true;
  const std::uint32_t ticket = second.control->lock.draw();
  REQUIRE_FALSE(rma::Epochs::try_lock(second, ticket));
  REQUIRE_FALSE(all.try_lock_all(next));
  REQUIRE(next == 0);
  REQUIRE(rma::Epochs::try_lock(second, ticket));
  REQUIRE_FALSE(all.try_lock_all(next));
  REQUIRE(next == 1);
  rma::Epochs::end_lock(second);
  alone.end_one_lock();
  REQUIRE(at.at(0).unlock(2) == WindowStatus::ok);
  REQUIRE(all.try_lock_all(next));
  for (const auto& peer : at.at(1).protocol().origin.used()) rma::Epochs::end_lock(*peer);
  all.end_lock_all();
}

}  // namespace lfc
