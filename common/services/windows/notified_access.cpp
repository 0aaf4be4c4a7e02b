#include "services/windows/notified_access.hpp"

#include "services/windows/window_service.hpp"

namespace lfc {

bool NotifiedAccess::combine(Window& window, const WindowCall& call, WindowStatus& status) {
  rma::Origin& origin = window.protocol_.origin;
  const bool possible = call.bytes != 0 && window.windows_.locked([&] {
    return origin.check(call) == WindowStatus::ok && origin.takes_notification(call);
  });
  if (possible) status = window.issue(call);
  return possible;
}

void NotifiedAccess::count_by(Window& window, const WindowNotifications& to) {
  window.windows_.locked([&] { window.carrier_.set_notifications(to); });
}

}  // namespace lfc
