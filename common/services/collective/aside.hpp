// Aside: the communicators whose operations the engine's thread advances while the host computes.
//
//   Aside aside(multicast, host);                 // where the engine has a thread
//   aside.add(entry);                       // by the host, when it returns with operations under way
//   aside.remove(entry);                    // when none is left
//
// The thread calls advance_aside() of each entry in its passes, with the engine's lock held. So a thread that waits for
// that lock waits for the length of these calls as well, and advance_aside() waits for nothing: neither for the lock of
// a communicator (try_lock_aside()) nor for the host. A host that drives the engine itself advances them by itself.
// Threads: any; entries are added and removed under the engine's lock.
#pragma once

#include "engine/host_port.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

class Aside final : private MulticastWorker {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;
    // Advances the operations as far as possible without the host. Called with ServicePort::Access held.
    virtual void advance_aside() = 0;

   private:
    friend class Aside;
    Entry* next_ = nullptr;
    Entry** place_ = nullptr;
  };

  Aside(Multicast& multicast, HostPort& host) noexcept : multicast_(multicast), host_(host) {}
  ~Aside() override;
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  void add(Entry& entry);
  void remove(Entry& entry) noexcept;

 private:
  bool work() override;

  Multicast& multicast_;
  HostPort& host_;
  Entry* first_ = nullptr;
};

}  // namespace lfc
