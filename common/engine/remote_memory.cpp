#include "engine/remote_memory.hpp"

#include <algorithm>
#include <atomic>

namespace lfc {
namespace {

template <class Word>
Word fetch_modify(std::atomic_ref<Word> word, auto modify) {
  Word old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, modify(old), std::memory_order_acq_rel)) {
  }
  return old;
}

template <class Word>
Word apply(const AtomicRequest& request, Word& target) noexcept {
  const std::atomic_ref<Word> word(target);
  const auto operand = static_cast<Word>(request.operand);
  switch (request.op) {
    case AtomicOp::add: return word.fetch_add(operand);
    case AtomicOp::bit_and: return word.fetch_and(operand);
    case AtomicOp::bit_or: return word.fetch_or(operand);
    case AtomicOp::bit_xor: return word.fetch_xor(operand);
    case AtomicOp::swap: return word.exchange(operand);
    case AtomicOp::min: return fetch_modify(word, [=](Word old) { return std::min(old, operand); });
    case AtomicOp::max: return fetch_modify(word, [=](Word old) { return std::max(old, operand); });
    case AtomicOp::compare_swap: {
      auto expected = static_cast<Word>(request.compare);
      word.compare_exchange_strong(expected, operand);
      return expected;
    }
  }
  return 0;
}

}  // namespace

std::uint64_t apply_atomic(const AtomicRequest& request, void* target) noexcept {
  if (request.width == 4)
    return static_cast<std::uint32_t>(apply(request, *static_cast<std::int32_t*>(target)));
  return static_cast<std::uint64_t>(apply(request, *static_cast<std::int64_t*>(target)));
}

RemoteOp& RemoteOpTable::take() {
  RemoteOp& op = ops_.take();
  op.stage = RemoteOp::Stage::waiting;
  op.native = false;
  op.result = Result::ok;
  op.offset = 0;
  return op;
}

void RemoteOpTable::give_back(RemoteOp& op) noexcept { ops_.give_back(op); }

RemoteOp* RemoteOpTable::find(OperationRef reference, PeerId peer) noexcept {
  RemoteOp* op = ops_.find(name_of(reference.index, reference.generation));
  return op != nullptr && op->peer == peer ? op : nullptr;
}

}  // namespace lfc
