// HostCall: the control program asks for the host, which is called in its next progress(), whatever MPI call that is
// part of.
//
//   HostCall call(ni.services(), [](void* context) { static_cast<Inbox*>(context)->empty(); }, &inbox,
//   HostCall::By::host);
//   call.ask();                // the control program, with ServicePort::Access held; twice before the call: one call
//   call.end();                // the host: no call is under way any more, and none comes
//
// Guarantees: what the control program has done before ask() a call that begins after it sees. The function is called
// without any lock, may call anything, progress() included, and may so be entered again by the same thread.
// Threads: the function by any that calls progress(), several at a time with Config::threads; by the NI thread only if
// By::thread says so (and Config::upcalls lets it call at all). end() not from inside the function.
#pragma once

#include <memory>

#include "engine/service_port.hpp"

namespace lfc {

class HostCall {
 public:
  using Function = void(void* context);
  enum class By : bool { host, thread };

  HostCall(ServicePort& port, Function* function, void* context, By by);
  ~HostCall() { end(); }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  void ask() noexcept;
  void end() noexcept;

 private:
  struct Record;

  ServicePort& port_;
  std::shared_ptr<Record> record_;
};

}  // namespace lfc
