// ProcessNi: the one engine (NI) of this process. Open MPI's components share it, but are loaded one by
// one and know nothing of each other. The BTL opens it and publishes it here; the others
// use it while it exists.
//
//   set_process_ni(ni);                               // the BTL, when it has opened; null at its end
//   if (std::shared_ptr<Ni> ni = process_ni()) {      // coll, osc
//     PeerId peer = ni->services().find(name);
//   }
//
//   static Lasting<PerProcess<NeonService>> shared;  // one service for all its users
//   std::shared_ptr<NeonService> neon = shared->get([](Ni& ni) { return NeonService(ni.services(), &ni.remote()); });
//
// Threads: any; a user keeps its shared_ptr for as long as it has a service attached.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "engine/ni.hpp"

namespace lfc {

// Null: no component has opened it, or it is closed.
std::shared_ptr<Ni> process_ni() noexcept;
void set_process_ni(std::shared_ptr<Ni> ni) noexcept;

// One object for each process while it has users. It is made from the process's NI and keeps it.
template <class Thing>
class PerProcess {
 public:
  // Null: there is no NI. `make` returns the Thing for a given NI; only the first user's is called.
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
