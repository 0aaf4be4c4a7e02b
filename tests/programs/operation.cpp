#include "operation.hpp"

#include <algorithm>
#include <cstring>

#include "watch.hpp"

namespace programs {

namespace {
MPI_Op mpi_op(Operation::Op op) {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  return ops[op];
}

template <typename T>
void combine_all(Operation::Op op, std::vector<char>& old, const std::vector<char>& with) {
  for (std::size_t at = 0; at < old.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, old.data() + at, sizeof a);
    std::memcpy(&b, with.data() + at, sizeof b);
    if (op == Operation::kMax)
      a = std::max(a, b);
    else if constexpr (std::is_same_v<T, double>)
      a = a + b;
    else
      a = static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    std::memcpy(old.data() + at, &a, sizeof a);
  }
}

void combine(const Operation& op, std::vector<char>& old, const std::vector<char>& with) {
  if (op.op == Operation::kReplace || !op.updates()) {
    old = with;
  } else if (op.op == Operation::kNoOp) {
    return;
  } else if (op.op == Operation::kXor) {
    for (std::size_t i = 0; i < old.size(); ++i) old[i] = static_cast<char>(old[i] ^ with[i]);
  } else if (op.here.element == Element::kInt) {
    combine_all<int>(op.op, old, with);
  } else if (op.here.element == Element::kLong) {
    combine_all<std::int64_t>(op.op, old, with);
  } else {
    combine_all<double>(op.op, old, with);
  }
}
}  // namespace

bool allowed(Operation::Op op, Element element) {
  if (element == Element::kByte) return op >= Operation::kXor;
  if (element == Element::kDouble) return op != Operation::kXor;
  return element != Element::kRecord;
}

bool Operation::one_element() const {
  return here.total == 1 && here.shape == Layout::kContiguous &&
         there.shape == Layout::kContiguous && result.shape == Layout::kContiguous;
}

std::string Operation::text() const {
  const char* const kinds[] = {
      "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
  const char* const ops[] = {"sum", "max", "xor", "replace", "no_op"};
  std::string text =
      std::string(request ? "r" : "") + kinds[kind] + (updates() ? std::string(" ") + ops[op] : "");
  return text + " " + std::to_string(origin) + " to " + std::to_string(target) + " at " +
         std::to_string(offset) + (shared ? " (shared)" : "") + ", " + here.text() + " here, " +
         there.text() + " there";
}

namespace {
// Often the size of a frame, with and without the runs that describe it.
std::size_t draw_bytes(Draw& draw, std::size_t room) {
  if (draw.one_in(4) && room > 2 * kFramePayload) {
    const std::size_t frame = draw.pick({kFramePayload, kFramePayload, kRing - 72});
    return frame - 48 + draw.below(64);
  }
  return draw.bytes(room);
}
}  // namespace

Operation draw_operation(Draw& draw, Element element, std::size_t room) {
  Operation op{};
  op.request = draw.one_in(3);
  op.flush = draw.one_in(3) ? draw.in(1, 3) : 0;
  op.key = draw.next();
  do {
    op.kind = static_cast<Operation::Kind>(draw.below(Operation::kKinds));
    op.op = static_cast<Operation::Op>(draw.below(Operation::kOps));
  } while ((op.updates() && !allowed(op.op, element)) ||
           (op.kind == Operation::kAccumulate && op.op == Operation::kNoOp) ||
           (op.kind == Operation::kCompareAndSwap && element != Element::kInt &&
            element != Element::kLong));
  const bool single = op.kind >= Operation::kFetchAndOp;
  const bool irregular = op.kind == Operation::kGet && draw.one_in(3);
  std::size_t total = single ? 1 : draw_bytes(draw, room) / size_of(element);
  do {
    op.there = single ? contiguous(element, 1)
                      : draw_layout(draw, element, total, irregular && total > 100);
    if (op.there.bytes() <= room) break;
    total /= 2;
  } while (true);
  op.here = single ? op.there : draw_layout(draw, element, total);
  op.result = single ? op.there : draw_layout(draw, element, total);
  return op;
}

Operation::Op draw_common(Draw& draw, Element element) {
  Operation::Op common;
  do {
    common = draw.pick({Operation::kSum, Operation::kMax, Operation::kXor});
  } while (element != Element::kRecord && !allowed(common, element));
  return common;
}

void update_shared(Operation& op, Draw& draw, Operation::Op common) {
  op.shared = true;
  op.kind = op.kind == Operation::kFetchAndOp || op.kind == Operation::kCompareAndSwap
                ? Operation::kFetchAndOp
            : op.fetches() ? Operation::kGetAccumulate
                           : Operation::kAccumulate;
  op.op = common;
  op.offset = draw.below((kSharedBytes - op.there.bytes()) / 16 + 1) * 16;
}

Operation draw_irregular_get(Draw& draw, Element element, std::size_t room) {
  Operation op{};
  op.kind = Operation::kGet;
  op.request = draw.one_in(3);
  op.key = draw.next();
  std::size_t total = (room / 2 + draw.below(room / 3 + 1)) / size_of(element);
  for (op.there = draw_layout(draw, element, total, true); op.there.bytes() > room; total /= 2)
    op.there = draw_layout(draw, element, total / 2, true);
  op.here = contiguous(element, 1);
  op.result = draw_layout(draw, element, op.there.total);
  return op;
}

std::vector<char> operands(const Operation& op) {
  std::vector<char> made = contents(op.key, op.here.packed());
  if (op.here.element != Element::kDouble) return made;
  // Whole numbers, whose sums are exact.
  for (std::size_t at = 0; at < made.size(); at += 8) {
    const double value = static_cast<double>(mixed(op.key, at) % 31) - 15;
    std::memcpy(made.data() + at, &value, 8);
  }
  return made;
}

namespace {
// The operand of compare_and_swap: the present value, or another one.
void draw_compare(const Operation& op, const char* memory, char* compare) {
  std::memcpy(compare, memory + op.offset, size_of(op.there.element));
  if (op.key % 2 == 0) ++compare[0];
}
}  // namespace

std::vector<char> play(const Operation& op, char* memory) {
  std::vector<char> old(op.there.packed());
  pack(op.there, memory + op.offset, old.data());
  if (op.kind == Operation::kGet) return old;
  std::vector<char> made = old;
  if (op.kind == Operation::kCompareAndSwap) {
    if (op.key % 2 != 0) made = operands(op);
  } else {
    combine(op, made, operands(op));
  }
  unpack(op.there, memory + op.offset, made.data());
  return old;
}

void issue(Running& r, const Operation& op, char* model, int target, MPI_Aint at, bool with_request,
           MPI_Win win) {
  r.op = &op;
  r.origin = spread(op.here, operands(op));
  r.result = marked(op.result);
  if (op.kind == Operation::kCompareAndSwap) draw_compare(op, model, r.compare);
  const std::vector<char> old = play(op, model);
  if (op.fetches()) r.expected = spread(op.result, old);
  const Typed here(op.here), there(op.there), result(op.result);
  const MPI_Op by = mpi_op(op.op);
  void *in = r.origin.data(), *out = r.result.data();
  const int n = op.here.count, m = op.there.count, k = op.result.count;
  MPI_Request* request = &r.request;
  const bool asks = with_request && op.request;
  switch (op.kind) {
    case Operation::kPut:
      if (asks)
        MPI_Rput(in, n, here.type, target, at, m, there.type, win, request);
      else
        MPI_Put(in, n, here.type, target, at, m, there.type, win);
      break;
    case Operation::kGet:
      if (asks)
        MPI_Rget(out, k, result.type, target, at, m, there.type, win, request);
      else
        MPI_Get(out, k, result.type, target, at, m, there.type, win);
      break;
    case Operation::kAccumulate:
      if (asks)
        MPI_Raccumulate(in, n, here.type, target, at, m, there.type, by, win, request);
      else
        MPI_Accumulate(in, n, here.type, target, at, m, there.type, by, win);
      break;
    case Operation::kGetAccumulate:
      if (asks)
        MPI_Rget_accumulate(in, n, here.type, out, k, result.type, target, at, m, there.type, by,
                            win, request);
      else
        MPI_Get_accumulate(in, n, here.type, out, k, result.type, target, at, m, there.type, by,
                           win);
      break;
    case Operation::kFetchAndOp: MPI_Fetch_and_op(in, out, there.type, target, at, by, win); break;
    default: MPI_Compare_and_swap(in, r.compare, out, there.type, target, at, win);
  }
}

void check(const Running& r) {
  // Results from the shared part depend on the order of the ranks.
  if (r.expected.empty() || r.op->shared) return;
  const std::ptrdiff_t wrong = first_difference(r.result, r.expected);
  if (wrong >= 0) fail("%s: byte %td of the result is wrong", r.op->text().c_str(), wrong);
}

void flush_after(const Operation& op, int target_rank, MPI_Win win) {
  watch_call("MPI_Win_flush");
  switch (op.flush) {
    case 1: MPI_Win_flush(target_rank, win); break;
    case 2: MPI_Win_flush_all(win); break;
    case 3: MPI_Win_flush_local(target_rank, win); break;
    default: break;
  }
}

}  // namespace programs
