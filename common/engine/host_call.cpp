#include "engine/host_call.hpp"

#include <sched.h>

#include <atomic>
#include <utility>

namespace lfc {

// Lives until nobody refers to it: the NI may still have it in a list when its HostCall has ended.
struct HostCall::Record : WaitingCall {
  Function* function = nullptr;
  void* context = nullptr;
  std::shared_ptr<Record> self;  // while asked for
  std::atomic<bool> asked = false;
  std::atomic<bool> ended = false;
  std::atomic<int> running = 0;
};

HostCall::HostCall(ServicePort& port, Function* function, void* context, By by)
    : port_(port), record_(std::make_shared<Record>()) {
  record_->function = function;
  record_->context = context;
  record_->by_thread = by == By::thread;
  record_->call = [](WaitingCall* waiting) {
    auto& record = static_cast<Record&>(*waiting);
    const std::shared_ptr<Record> own = std::move(record.self);
    record.asked.exchange(false);  // from now on it is asked for anew
    // Sequentially consistent, as in end(): it sees that one runs, or this that it has ended.
    record.running.fetch_add(1);
    if (!record.ended.load()) record.function(record.context);
    record.running.fetch_sub(1);
  };
}

void HostCall::ask() noexcept {
  // Reads what the call has written, which so begins after what was done before this.
  if (record_->asked.exchange(true)) return;
  record_->self = record_;
  port_.call_host(*record_);
}

void HostCall::end() noexcept {
  record_->ended.store(true);
  while (record_->running.load() != 0) sched_yield();
}

}  // namespace lfc
