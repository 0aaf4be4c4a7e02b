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
//   std::shared_ptr<Windows> windows = shared.get([&](Ni& ni) { return Windows(ni.services(), host); });
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

// Something that the process has once while anybody uses it, made of its NI, which stays as long.
template <class Thing>
class PerProcess {
 public:
  // Null: there is no NI. `make` returns the Thing of the NI it is given; the first user's counts.
  template <class Make>
  std::shared_ptr<Thing> get(Make make) {
    const std::lock_guard guard(mutex_);
    std::shared_ptr<Ni> ni = process_ni();
    if (ni == nullptr) return nullptr;
    std::shared_ptr<Kept> kept = shared_.lock();
    if (kept == nullptr) shared_ = kept = std::make_shared<Kept>(std::move(ni), make);
    return {kept, &kept->thing};
  }

 private:
  struct Kept {
    template <class Make>
    Kept(std::shared_ptr<Ni> of, Make& make) : ni(std::move(of)), thing(make(*ni)) {}
    std::shared_ptr<Ni> ni;
    Thing thing;
  };

  std::mutex mutex_;
  std::weak_ptr<Kept> shared_;
};

}  // namespace lfc
