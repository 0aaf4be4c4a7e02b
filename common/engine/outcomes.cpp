#include "engine/outcomes.hpp"

#include <utility>

#include "engine/ni_thread.hpp"
#include "engine/remote_origin.hpp"

namespace lfc {

void Outcomes::add_loss(PeerId peer, std::string_view why) {
  losses_.push_back({peer, std::string(why)});
  any_.store(true, std::memory_order_relaxed);
}

bool Outcomes::call_back(Waiting& item) {
  switch (item.kind) {
    case Waiting::Kind::message: {
      auto& message = static_cast<Message&>(item);
      message.done(&message, message.result);
      return true;
    }
    case Waiting::Kind::call: {
      auto& waiting = static_cast<WaitingCall&>(item);
      if (!waiting.by_thread && NiThread::is_current()) return false;
      waiting.call(&waiting);
      return true;
    }
    default: RemoteOrigin::call_back(static_cast<RemoteOp&>(item)); return true;
  }
}

void Outcomes::call_back_all() noexcept {
  WaitingQueue for_host;  // calls that the NI thread must leave to the host
  while (any()) {
    WaitingQueue done;
    std::vector<Loss> losses;
    {
      const SendLock::Guard guard(lock_);
      any_.store(false, std::memory_order_relaxed);
      done = std::exchange(finished_, {});
      losses.swap(losses_);
    }
    // Before the items that it has ended: a host may abort at the first failed message, before it reports the reason.
    for (const Loss& loss : losses)
      if (broken_handler_ != nullptr) broken_handler_(broken_context_, loss.peer, loss.why);
    while (Waiting* item = done.pop())
      if (!call_back(*item)) for_host.push(*item);
  }
  if (for_host.empty()) return;
  const SendLock::Guard guard(lock_);
  while (Waiting* item = for_host.pop()) add(*item);
}

}  // namespace lfc
