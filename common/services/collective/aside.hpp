// Aside: communicators with operations under way that the engine's thread takes further while the host computes.
//
//   Aside aside(multicast, host);                 // where the engine has a thread
//   aside.add(entry);                       // the host, when it leaves while something is under way
//   aside.remove(entry);                    // when nothing is
//
// The thread calls advance_aside() of each in its passes, with the engine's lock held; so nobody gets it who has to
// wait for that lock. A host that drives the engine itself advances them anyhow.
// Threads: any; entries are taken in and out under the engine's lock.
#pragma once

#include "engine/host_port.hpp"
#include "services/multicast/multicast.hpp"

namespace lfc {

class Aside final : private MulticastWorker {
 public:
  class Entry {
   public:
    virtual ~Entry() = default;
    // As far as it goes without the host; with ServicePort::Access held.
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
