#include "services/neon/protocol/confirmation.hpp"

#include "services/neon/protocol/origin.hpp"

namespace lfc::neon {

// --- Confirmer ---

Status Confirmer::begin(Operation& op, Rank target, std::uint32_t tag, std::uint32_t generation) {
  Stream* const to = origin_.find(target, tag);
  if (to == nullptr) return Status::rank;
  if (outlet_.is_lost(target)) return Status::unreachable;
  if (open_ == kMaxConfirmations || to->writing > 0) return Status::busy;
  op.type = Operation::Type::confirm;
  op.stream = to;
  op.id = begun_.enter(op);
  ++open_;
  Header header;
  header.kind = Kind::confirm;
  header.tag = tag;
  header.generation = generation;
  header.id = op.id;
  if (to->sending != generation && reached(to->sending, generation)) {
    header.flags = kFinal;
  } else if (to->sending == generation) {
    header.count = to->sent;
  }
  outlet_.control(target, header);
  return Status::ok;
}

bool Confirmer::on_confirmed(Rank from, const Header& header) {
  Operation* const op = begun_.find(header.id);
  if (op == nullptr || op->stream->target != from) return false;
  const bool overrun = (header.flags & kOverrun) != 0;
  const bool failed = (header.flags & kFailed) != 0;
  finish(*op, overrun ? Status::range : failed ? Status::withdrawn : Status::ok);
  return true;
}

void Confirmer::on_lost(Rank peer) {
  begun_.for_each([&](Operation& op) {
    if (op.stream->target == peer) finish(op, Status::unreachable);
  });
}

void Confirmer::finish(Operation& op, Status status) {
  begun_.leave(op.id);
  op.id = 0;
  --open_;
  op.done(&op, status);
}

// --- Confirmations ---

bool Confirmations::add(const Header& request) {
  if (waiting_.size() == kMaxConfirmations) return false;
  const bool all = (request.flags & kFinal) != 0;
  waiting_.emplace(Waited(request.tag, request.generation, all ? kAllFrames : request.count),
                   request.id);
  return true;
}

void Confirmations::note_failure(std::uint32_t tag, std::uint32_t generation, std::uint8_t flags) {
  if (failure(tag, generation) != 0) return;
  if (failures_.size() < kFailures) {
    failures_.push_back({tag, generation, flags});
    return;
  }
  const Failure& oldest = failures_[oldest_];
  const auto [dropped, first] = dropped_.try_emplace(oldest.tag, oldest.generation);
  if (!first && reached(oldest.generation, dropped->second)) dropped->second = oldest.generation;
  failures_[oldest_] = {tag, generation, flags};
  oldest_ = (oldest_ + 1) % kFailures;
}

std::uint8_t Confirmations::failure(std::uint32_t tag, std::uint32_t generation) noexcept {
  for (const Failure& each : failures_)
    if (each.tag == tag && each.generation == generation) return each.flags;
  const auto dropped = dropped_.find(tag);
  if (dropped == dropped_.end()) return 0;
  if (reached(dropped->second, generation)) return kFailed;
  if (generation - dropped->second > 1u << 30)
    dropped_.erase(dropped);  // before it would count as a later one
  return 0;
}

}  // namespace lfc::neon
