#include "engine/host_call.hpp"

#include <sched.h>

#include <atomic>
#include <utility>

namespace lfc {

// Freed with its last reference: the NI may still have it in a list when its HostCall has ended.
struct HostCall::Record : WaitingCall {
  Function* function = nullptr;
  void* context = nullptr;
  std::shared_ptr<Record> self;  // while a call is requested
  std::atomic<bool> requested = false;
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
    record.requested.exchange(false);  // from now on a new request is possible
    // Sequentially consistent, as in end(): either end() sees the running call, or this thread sees that it has ended.
    record.running.fetch_add(1);
    if (!record.ended.load()) record.function(record.context);
    record.running.fetch_sub(1);
  };
}

void HostCall::request() noexcept {
  // Reads the value that the call has written, so the call begins after the caller's earlier work.
  if (record_->requested.exchange(true)) return;
  record_->self = record_;
  port_.call_host(*record_);
}

void HostCall::end() noexcept {
  record_->ended.store(true);
  while (record_->running.load() != 0) sched_yield();
}

}  // namespace lfc
