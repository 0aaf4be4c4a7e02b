// HostCall: a call of the host that the control program requests. The next progress() of the host makes it,
// which may be part of any MPI call.
//
//   HostCall call(ni.services(), [](void* context) { static_cast<Inbox*>(context)->empty(); }, &inbox,
//   HostCall::By::host);
//   call.request();            // control program, with ServicePort::Access held; two requests make one call
//   call.end();                // host: no call is under way any more, and none will come
//
// Guarantees: a call that begins after request() sees all that the control program did before the request. It is
// called without any lock and may call anything, progress() included, so the same thread may enter it again.
// Threads: any thread that calls progress() calls the function, several at a time with Config::threads. The NI thread
// calls it only if By::thread and Config::upcalls permit that. end() must not be called from inside the function.
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

  void request() noexcept;
  void end() noexcept;

 private:
  struct Record;

  ServicePort& port_;
  std::shared_ptr<Record> record_;
};

}  // namespace lfc
