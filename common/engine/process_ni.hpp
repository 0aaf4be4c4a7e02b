// ProcessNi: the one network interface of this process, shared by Open MPI's components, which are
// loaded one by one and know nothing of each other. The BTL opens it and says so here; the others
// use it while it is there.
//
//   set_process_ni(ni);                               // the BTL, when it has opened; null at its end
//   if (std::shared_ptr<Ni> ni = process_ni()) {      // coll, osc
//     PeerId peer = ni->services().find(name);
//   }
//
// Threads: any; a user keeps his shared_ptr for as long as he has a service attached.
#pragma once

#include <memory>

#include "engine/ni.hpp"

namespace lfc {

// Null: no component has opened it, or it is closed.
std::shared_ptr<Ni> process_ni() noexcept;
void set_process_ni(std::shared_ptr<Ni> ni) noexcept;

}  // namespace lfc
