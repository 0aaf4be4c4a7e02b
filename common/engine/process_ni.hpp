// ProcessNi: the one engine (NI) of this process, shared by Open MPI's components, which are
// loaded one by one and know nothing of each other. The BTL opens it and says so here; the others
// use it while it is there.
//
//   set_process_ni(ni);                               // the BTL, when it has opened; null at its end
//   if (std::shared_ptr<Ni> ni = process_ni()) {      // coll, osc
//     PeerId peer = ni->services().find(name);
//   }
//
//   static PerProcess<Windows> shared;                // a service on it, one for all who use it
//   std::shared_ptr<Windows> windows = shared.get(host);
//
// Threads: any; a user keeps his shared_ptr for as long as he has a service attached.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "engine/ni.hpp"

namespace lfc {

// Null: no component has opened it, or it is closed.
std::shared_ptr<Ni> process_ni() noexcept;
void set_process_ni(std::shared_ptr<Ni> ni) noexcept;

// Something that the process has once while anybody uses it, made of its NI.
template <class Thing>
class PerProcess {
 public:
  // Null: there is no NI. `rest` is what Thing's constructor takes after it; the first user's counts.
  template <class... Rest>
  std::shared_ptr<Thing> get(Rest&&... rest) {
    const std::lock_guard guard(mutex_);
    std::shared_ptr<Ni> ni = process_ni();
    if (ni == nullptr) return nullptr;
    std::shared_ptr<Thing> thing = shared_.lock();
    if (thing == nullptr) {
      thing = std::make_shared<Thing>(std::move(ni), std::forward<Rest>(rest)...);
      shared_ = thing;
    }
    return thing;
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<Thing> shared_;
};

}  // namespace lfc
