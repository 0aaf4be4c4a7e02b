// LinkTraits: what kind of link a link is. Said once, by the link itself; whoever chooses a way asks for the property
// that matters, never for a name.
//
//   class NullLink final : public Link {
//    public:
//     NullLink() : Link({.name = "null"}) {}           // no remote memory, wakes nobody
//   };
//   if (ni.link_traits(peer).one_sided) put_now();
//
// Held by tests/conformance/traits_test.cpp: what a link says of itself is what it does.
#pragma once

#include <cstddef>
#include <string>

namespace lfc {

struct LinkTraits {
  std::string name;  // "shm", "tcp", ...: of its section in addresses, and for the user

  // An arrival makes one of wait_fds() readable while the link is armed. Else it is polled by the clock.
  bool wakes = false;
  // What send() has taken is in the memory of its receiver, another process, which finds it there whatever becomes of
  // the sender and of every descriptor.
  bool arrives_in_send = false;

  // put() and get() reach the memory of peers natively: of all but those for which Link::remote_memory() says no.
  bool remote_memory = false;
  // They do it within the call: the answer is never `started`, and no operation is needed.
  bool copies_at_once = false;
  // They ask nothing of the target's NI, and cost no more than a frame does: it pays for a few bytes, too.
  bool one_sided = false;
  // The size in bytes from which on fetching a message by get() is faster than frames.
  std::size_t remote_memory_from = 1;
  // An announced message may as well come in frames, which may be faster: found out while messages come.
  bool either_way = false;
  // Bytes of the largest `message` frame, if larger ones than others may go; else 0.
  std::size_t message_payload = 0;
  // Bytes of the largest `service` frame, if larger ones than others go, because their bytes go where their receiver
  // wants them (FrameSink::place); else 0.
  std::size_t placed_payload = 0;
  // Registering memory pins or maps pages: a registration is worth keeping for the next use.
  bool registration_costs = false;
};

}  // namespace lfc
