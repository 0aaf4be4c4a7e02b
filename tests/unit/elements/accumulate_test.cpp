// Accumulates: permitted operations, results for split or unaligned elements, and no lost updates among threads. Also
// the ticket lock that orders epochs.
#include "elements/accumulate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "catch.hpp"
#include "elements/single_elements.hpp"
#include "services/windows/protocol/ticket_lock.hpp"

namespace lfc {

TEST_CASE("operations are allowed on the types that MPI allows them on", "[accumulate]") {
  REQUIRE(is_valid(Accumulate::sum, Element::f80));
  REQUIRE(is_valid(Accumulate::sum, Element::c64));
  REQUIRE(is_valid(Accumulate::bit_xor, Element::u16));
  REQUIRE(is_valid(Accumulate::max_location, Element::pair_f64_i32));
  REQUIRE(is_valid(Accumulate::replace, Element::pair_i16_i32));
  REQUIRE_FALSE(is_valid(Accumulate::maximum, Element::c32));
  REQUIRE_FALSE(is_valid(Accumulate::bit_and, Element::f32));
  REQUIRE_FALSE(is_valid(Accumulate::logical_or, Element::f64));
  REQUIRE_FALSE(is_valid(Accumulate::sum, Element::pair_i32_i32));
  REQUIRE_FALSE(is_valid(Accumulate::min_location, Element::i32));
  REQUIRE_FALSE(is_valid(Accumulate::count_, Element::i8));
  REQUIRE_FALSE(is_valid(Accumulate::sum, static_cast<Element>(200)));
  REQUIRE(size_of(Element::pair_i16_i32) == 6);
  REQUIRE(size_of(Element::pair_f64_i32) == 12);
  REQUIRE(size_of(Element::c80) == kMaxElement);
}

TEST_CASE("elements in pieces, unaligned, and of two fields", "[accumulate]") {
  ElementLock lock;
  SECTION("unaligned") {
    std::array<std::byte, 24> memory{};
    const std::array<std::uint64_t, 2> operands{5, 7};
    std::array<std::uint64_t, 2> old{99, 99};
    const Run run{3, 16, 0, 1};
    for (int i = 0; i < 2; ++i) {
      Cursor target({&run, 1}, 0, 1, 0);
      accumulate({Accumulate::sum, Element::u64}, target, memory.data(),
                 reinterpret_cast<const std::byte*>(operands.data()),
                 reinterpret_cast<std::byte*>(old.data()), 16, lock);
    }
    std::array<std::uint64_t, 2> sums{};
    std::memcpy(sums.data(), memory.data() + 3, sizeof sums);
    REQUIRE(sums == std::array<std::uint64_t, 2>{10, 14});
    REQUIRE(old == std::array<std::uint64_t, 2>{5, 7});
    REQUIRE(memory[2] == std::byte{0});
    REQUIRE(memory[19] == std::byte{0});
  }
  SECTION("short and int, with a hole between them") {
    struct Pair {
      std::int16_t value;
      std::int32_t index;
    };
    std::array<Pair, 2> memory{{{3, 9}, {3, 9}}};
    std::memset(reinterpret_cast<char*>(memory.data()) + 2, 0x77, 2);
    std::array<std::byte, 12> packed{};
    const std::int16_t values[] = {4, 3};
    const std::int32_t indexes[] = {1, 2};
    for (int i = 0; i < 2; ++i) {
      std::memcpy(packed.data() + 6 * i, &values[i], 2);
      std::memcpy(packed.data() + 6 * i + 2, &indexes[i], 4);
    }
    const Run runs[] = {{0, 2, 0, 1}, {4, 4, 0, 1}};
    Cursor target(runs, 8, 2, 0);
    accumulate({Accumulate::max_location, Element::pair_i16_i32}, target,
               reinterpret_cast<std::byte*>(memory.data()), packed.data(), nullptr, 12, lock);
    REQUIRE((memory[0].value == 4 && memory[0].index == 1));
    REQUIRE((memory[1].value == 3 && memory[1].index == 2));
    REQUIRE(reinterpret_cast<const unsigned char*>(memory.data())[2] == 0x77);
  }
  SECTION("no_op reads only") {
    const double memory = 2.5;
    double old = 0;
    const Run run{0, 8, 0, 1};
    Cursor target({&run, 1}, 0, 1, 0);
    accumulate({Accumulate::no_op, Element::f64}, target,
               const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&memory)), nullptr,
               reinterpret_cast<std::byte*>(&old), 8, lock);
    REQUIRE(old == 2.5);
  }
}

TEST_CASE("nothing is lost among threads", "[accumulate]") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  ElementLock lock;
  alignas(16) std::int32_t integer = 0;
  alignas(16) double real = 0;
  alignas(16) long double wide = 0;
  const auto add = [&](auto& target, Element element) {
    using T = std::remove_reference_t<decltype(target)>;
    const T one = 1;
    accumulate({Accumulate::sum, element}, reinterpret_cast<std::byte*>(&target),
               reinterpret_cast<const std::byte*>(&one), nullptr, 1, lock);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        add(integer, Element::i32);
        add(real, Element::f64);
        add(wide, Element::f80);
      }
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(integer == kThreads * kRounds);
  REQUIRE(real == kThreads * kRounds);
  REQUIRE(wide == kThreads * kRounds);
}

// Each thread is a member. It changes single elements without the lock until it settles. The first member also changes
// many at a time, exclusively as soon as it can.
TEST_CASE("nothing is lost between single elements and many at a time", "[accumulate]") {
  constexpr int kMembers = 3;
  constexpr std::uint64_t kElements = 64;
  constexpr int kRounds = 400;
  constexpr int kSettle = 64;
  const Accumulation add{Accumulate::sum, Element::u32};
  const auto bytes = [](auto& words) { return reinterpret_cast<std::byte*>(words.data()); };
  std::array<std::uint32_t, kElements> ones;
  ones.fill(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    ElementLock lock;
    std::array<SingleElements, kMembers> singles;
    std::array<std::uint32_t, kElements> sums{};
    std::atomic<int> ready{0};
    const auto many = [&] {
      const bool alone = std::all_of(singles.begin(), singles.end(),
                                     [](SingleElements& its) { return its.given_up(); });
      accumulate(add, bytes(sums), bytes(ones), nullptr, kElements,
                 {lock, alone ? Hold::alone : Hold::shared});
    };
    const auto work = [&](std::size_t member) {
      SingleElements& own = singles[member];
      for (++ready; ready < kMembers;) std::this_thread::yield();
      for (int round = 0; round < kRounds; ++round) {
        const std::size_t word = static_cast<std::size_t>(round) % kElements;
        const bool open = own.may_skip_lock() || own.begin();
        accumulate(add, bytes(sums) + 4 * word, bytes(ones), nullptr, 1,
                   {lock, open ? Hold::none : Hold::shared});
        if (round % kSettle == kSettle - 1) own.settle();
        if (member == 0) many();
      }
      own.settle();
    };
    std::vector<std::thread> threads;
    for (std::size_t member = 0; member < kMembers; ++member) threads.emplace_back(work, member);
    for (auto& thread : threads) thread.join();
    std::uint64_t total = 0;
    for (const std::uint32_t sum : sums) total += sum;
    REQUIRE(total == kRounds * (kMembers + kElements));
  }
}

TEST_CASE("a member gives single elements up once, and only when it is at none", "[accumulate]") {
  SingleElements used, silent;
  REQUIRE_FALSE(used.may_skip_lock());
  REQUIRE(used.begin());
  REQUIRE(used.may_skip_lock());
  REQUIRE_FALSE(used.settle());  // no request to give it up yet
  REQUIRE_FALSE(used.given_up());
  REQUIRE_FALSE(used.given_up());
  REQUIRE_FALSE(used.may_skip_lock());
  REQUIRE(used.settle());
  REQUIRE(used.given_up());
  REQUIRE_FALSE(used.begin());
  REQUIRE(silent.given_up());  // it has no element to finish
  REQUIRE_FALSE(silent.begin());
  REQUIRE(silent.settle());
}

// The last six of the sixteen bytes of a long double have no meaning. Compilers may copy them or not.
void blank_padding(Element element, std::vector<std::byte>& packed) {
  if (element != Element::f80 && element != Element::c80 && element != Element::pair_f80_i32)
    return;
  const std::size_t size = size_of(element);
  for (std::size_t at = 0; at + size <= packed.size(); at += size)
    for (std::size_t part = 0; part + 16 <= size; part += 16)
      std::fill_n(packed.begin() + static_cast<std::ptrdiff_t>(at + part + 10), 6, std::byte{});
}

// The loop for many elements and the steps for one have equal results.
TEST_CASE("many elements at a time come out as one by one", "[accumulate][serial]") {
  constexpr std::size_t kBytes = 3 * 4096 + 96;  // a multiple of the element in `count` below
  ElementLock lock;
  std::vector<std::byte> operands(kBytes);
  std::vector<std::byte> start(2 * kBytes);
  std::uint64_t state = 1;
  const auto draw = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (auto& byte : operands) byte = static_cast<std::byte>(draw() >> 60);
  for (auto& byte : start) byte = static_cast<std::byte>(draw() >> 60);
  for (int e = 0; e < static_cast<int>(Element::count_); ++e)
    for (int o = 0; o < static_cast<int>(Accumulate::count_); ++o) {
      const Accumulation what{static_cast<Accumulate>(o), static_cast<Element>(e)};
      if (!is_valid(what.operation, what.element)) continue;
      const std::uint64_t size = size_of(what.element);
      const std::uint64_t bytes = kBytes - kBytes % size;
      const std::vector<std::vector<Run>> layouts{
          {{0, bytes, 0, 1}},
          {{3, bytes, 0, 1}},
          {{16, size, static_cast<std::int64_t>(size + size / 2), bytes / size}},
          {{1, size - 1, 0, 1}, {static_cast<std::int64_t>(size) + 8, bytes - size + 1, 0, 1}}};
      for (std::size_t layout = 0; layout < layouts.size(); ++layout) {
        CAPTURE(e, o, layout);
        std::array<std::vector<std::byte>, 2> memory{start, start};
        std::array<std::vector<std::byte>, 2> old;
        for (std::size_t way = 0; way < 2; ++way) {
          old[way].resize(bytes);
          std::vector<Run> runs = layouts[layout];
          std::erase_if(runs, [](const Run& run) { return run.length == 0; });
          Cursor target(runs, 0, 1, 0);
          accumulate(what, target, memory[way].data(), operands.data(), old[way].data(), bytes,
                     {lock, way == 0 ? Hold::none : Hold::alone});
          blank_padding(what.element, old[way]);
          std::vector<std::byte> packed(bytes);
          Cursor from(runs, 0, 1, 0);
          gather(from, memory[way].data(), packed.data(), bytes);
          blank_padding(what.element, packed);
          Cursor to(runs, 0, 1, 0);
          scatter(to, memory[way].data(), packed.data(), bytes);
        }
        REQUIRE((memory[0] == memory[1]));
        REQUIRE((old[0] == old[1]));
      }
    }
}

// A pair type with these sizes of value and index.
struct PairType {
  Element element;
  std::uint64_t value;
  std::uint64_t index;
};
constexpr PairType kPairs[] = {{Element::pair_i16_i32, 2, 4}, {Element::pair_i32_i32, 4, 4},
                               {Element::pair_i64_i32, 8, 4}, {Element::pair_f32_i32, 4, 4},
                               {Element::pair_f64_i32, 8, 4}, {Element::pair_f80_i32, 16, 4},
                               {Element::pair_f32_f32, 4, 4}, {Element::pair_f64_f64, 8, 8}};

// Small whole numbers, so that some values are equal. In groups of 32: random, smaller, larger, and equal ones. For
// equal values only the index decides.
void fill_pairs(const PairType& type, const std::vector<Run>& runs, std::int64_t extent,
                std::uint64_t count, unsigned seed, int apart, std::uint64_t first,
                std::vector<std::byte>& memory) {
  std::uint64_t bytes = 0;
  for (const Run& run : runs) bytes += count * run.length * run.repeat;
  std::vector<std::byte> packed(bytes);
  for (std::uint64_t i = 0; i < bytes / (type.value + type.index); ++i) {
    std::byte* at = packed.data() + i * (type.value + type.index);
    seed = seed * 1664525 + 1013904223;
    const int beside[] = {0, -apart, apart, 0};
    const std::uint64_t kind = (first + i / 32) % 4;
    const int drawn = kind == 3 ? 5 : static_cast<int>((seed >> 24) % 16) - 8;
    const auto number = static_cast<std::int16_t>(drawn + beside[kind]);
    const auto store = [&at](auto value, std::size_t size) {
      std::memset(at, 0, size);
      std::memcpy(at, &value, std::min(size, sizeof value));
      at += size;
    };
    switch (type.element) {
      case Element::pair_f32_i32:
      case Element::pair_f32_f32: store(static_cast<float>(number), type.value); break;
      case Element::pair_f64_i32:
      case Element::pair_f64_f64: store(static_cast<double>(number), type.value); break;
      case Element::pair_f80_i32: store(static_cast<long double>(number), type.value); break;
      default: store(static_cast<std::int64_t>(number), type.value);
    }
    if (type.element == Element::pair_f80_i32) std::memset(at - 6, 0, 6);
    store(static_cast<std::int64_t>(i) - (apart != 0 && i % 32 == 8 ? 1 : 0), type.index);
  }
  Cursor to(runs, extent, count, 0);
  scatter(to, memory.data(), packed.data(), packed.size());
}

TEST_CASE("pairs with gaps, at equal distances or not, give what one by one gives",
          "[accumulate][serial]") {
  ElementLock lock;
  constexpr std::uint64_t kCount = 230;
  constexpr std::size_t kRoom = 32768;
  for (const PairType& type : kPairs)
    for (const Accumulate op : {Accumulate::max_location, Accumulate::min_location,
                                Accumulate::replace, Accumulate::no_op}) {
      const auto size = static_cast<std::int64_t>(type.value + type.index);
      struct Form {
        std::vector<Run> runs;
        std::int64_t extent;
        std::uint64_t count;
      };
      const auto index = static_cast<std::int64_t>(type.value) + 3;
      // With the alignment of C.
      const auto after = static_cast<std::int64_t>(std::max(type.value, type.index));
      const auto whole = static_cast<std::int64_t>(round_up(
          static_cast<std::uint64_t>(after) + type.index, std::max(type.value, type.index)));
      const Form in_c =
          type.value >= type.index
              ? Form{{{0, type.value + type.index, 0, 1}}, whole, kCount}
              : Form{{{0, type.value, 0, 1}, {after, type.index, 0, 1}}, whole, kCount};
      const Form forms[] = {
          in_c,
          {{{5, type.value + type.index, size + 4, kCount}}, 0, 1},                // a vector
          {{{5, type.value + type.index, 0, 1}}, size + 4, kCount},                // resized
          {{{0, type.value, 0, 1}, {index, type.index, 0, 1}}, size + 9, kCount},  // a hole within
          {{{0, type.value, 0, 1}, {-9, type.index, 0, 1}}, size + 20, kCount},  // the index first
          {{{0, type.value + type.index, size + 2, 3}, {200, type.value + type.index, 0, 1}},
           300,
           kCount / 4},
      };
      constexpr std::int64_t kBase = 64;
      for (std::uint64_t first = 0; first < 4; ++first)
        for (const Form& form : forms)
          for (const Form& here : forms)
            for (const bool fetch : {false, true}) {
              if (first != 0 && (&form != forms || &here != forms || fetch)) continue;
              CAPTURE(static_cast<int>(type.element), static_cast<int>(op), &form - forms,
                      &here - forms, fetch);
              const std::uint64_t pairs = kCount / 4 * 4;
              const auto bytes = pairs * (type.value + type.index);
              std::vector<std::byte> start(kRoom, std::byte{0x77}), origin(kRoom, std::byte{0x55});
              const auto shifted = [](std::vector<Run> runs) {
                for (Run& run : runs) run.offset += kBase;
                return runs;
              };
              const std::vector<Run> there = shifted(form.runs), from = shifted(here.runs);
              fill_pairs(type, there, form.extent, form.count, 7, 0, first, start);
              fill_pairs(type, from, here.extent, here.count, 8, 100, first, origin);
              std::vector<std::byte> packed(bytes), old[2]{packed, packed};
              Cursor all(from, here.extent, here.count, 0);
              gather(all, origin.data(), packed.data(), bytes);
              std::vector<std::byte> memory[2]{start, start};
              Cursor one_by_one(there, form.extent, form.count, 0);
              accumulate({op, type.element}, one_by_one, memory[0].data(), packed.data(),
                         fetch ? old[0].data() : nullptr, bytes, {lock, Hold::none});
              Cursor target(there, form.extent, form.count, 0);
              Cursor operands(from, here.extent, here.count, 0);
              const Accumulation what{op, type.element};
              if (fetch || !accumulate_pairs(what, target, memory[1].data(), operands,
                                             origin.data(), bytes, {lock, Hold::shared}))
                accumulate(what, target, memory[1].data(), packed.data(),
                           fetch ? old[1].data() : nullptr, bytes, {lock, Hold::shared});
              for (int way = 0; way < 2; ++way) {
                std::vector<std::byte> values(bytes);
                Cursor out(there, form.extent, form.count, 0),
                    in(there, form.extent, form.count, 0);
                gather(out, memory[way].data(), values.data(), bytes);
                blank_padding(type.element, values);
                scatter(in, memory[way].data(), values.data(), bytes);
                blank_padding(type.element, old[way]);
              }
              REQUIRE((memory[0] == memory[1]));
              REQUIRE((old[0] == old[1]));
            }
    }
}

TEST_CASE("compare_and_swap swaps only a value that is equal", "[accumulate]") {
  ElementLock lock;
  std::array<std::byte, 16> memory{};
  for (std::size_t size : {1u, 2u, 4u, 8u})
    for (std::size_t offset : {0u, 8u, 3u}) {
      if (offset + size > memory.size()) continue;
      memory.fill(std::byte{1});
      std::array<std::byte, 8> compare{}, value{}, old{};
      value.fill(std::byte{9});
      compare_and_swap(memory.data() + offset, compare.data(), value.data(), old.data(), size,
                       lock);
      REQUIRE((old[0] == std::byte{1} && memory[offset] == std::byte{1}));
      compare.fill(std::byte{1});
      compare_and_swap(memory.data() + offset, compare.data(), value.data(), old.data(), size,
                       lock);
      REQUIRE((old[0] == std::byte{1} && memory[offset] == std::byte{9}));
      REQUIRE((offset + size == memory.size() || memory[offset + size] == std::byte{1}));
    }
}

TEST_CASE(
    "the ticket lock admits readers together and a writer alone, in the order of their tickets",
    "[lock]") {
  TicketLock lock;
  const std::uint32_t reader = lock.draw();
  const std::uint32_t second = lock.draw();
  const std::uint32_t writer = lock.draw();
  const std::uint32_t late = lock.draw();
  REQUIRE_FALSE(lock.enter(second, false));  // not its turn yet
  REQUIRE(lock.enter(reader, false));
  REQUIRE(lock.enter(second, false));
  REQUIRE_FALSE(lock.enter(writer, true));
  REQUIRE_FALSE(lock.enter(late, false));  // does not overtake the writer
  lock.leave(false);
  REQUIRE_FALSE(lock.enter(writer, true));
  lock.leave(false);
  REQUIRE(lock.enter(writer, true));
  REQUIRE_FALSE(lock.enter(late, false));
  lock.leave(true);
  REQUIRE(lock.enter(late, false));
  lock.leave(false);
}

TEST_CASE(
    "the ticket lock: a reader without a ticket passes writers that wait, but none that is inside",
    "[lock]") {
  TicketLock lock;
  const std::uint32_t reader = lock.draw(), writer = lock.draw(), next = lock.draw();
  REQUIRE(lock.enter(reader, false));
  REQUIRE_FALSE(lock.enter(writer, true));
  REQUIRE(lock.enter_past(false));
  REQUIRE(lock.enter_past(false));
  lock.leave(false);
  REQUIRE_FALSE(lock.enter(writer, true));
  lock.leave_past();
  REQUIRE_FALSE(lock.enter(writer, true));
  lock.leave_past();
  REQUIRE(lock.enter(writer, true));
  REQUIRE_FALSE(lock.enter_past(false));
  REQUIRE_FALSE(lock.enter(next, true));
  lock.leave(true);
  REQUIRE(lock.enter_past(false));
  REQUIRE_FALSE(lock.enter(next, true));
  lock.leave_past();
  REQUIRE(lock.enter(next, true));
  lock.leave(true);
}

TEST_CASE(
    "the ticket lock: a writer whose turn it is waits for holders only, not for those that yield",
    "[lock]") {
  TicketLock lock;
  REQUIRE(lock.enter_past(true));
  REQUIRE(lock.enter_past(true));
  const std::uint32_t writer = lock.draw(), next = lock.draw();
  REQUIRE_FALSE(lock.enter(next, true));  // not its turn, so others may still enter
  REQUIRE(lock.enter_past(true));
  REQUIRE_FALSE(lock.enter(writer, true));
  REQUIRE_FALSE(lock.enter_past(true));
  REQUIRE_FALSE(lock.holds_up_another());
  for (int holder = 0; holder < 3; ++holder) lock.leave_past();
  REQUIRE(lock.enter(writer, true));
  REQUIRE_FALSE(lock.enter_past(true));
  lock.leave(true);
  REQUIRE(lock.enter_past(true));
  REQUIRE_FALSE(lock.enter(next, true, true));
  REQUIRE(lock.holds_up_another());
  lock.leave_past();
  REQUIRE(lock.enter(next, true, true));
  lock.leave(true);
  REQUIRE_FALSE(lock.holds_up_another());
}

}  // namespace lfc
