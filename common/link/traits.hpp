// LinkTraits: the properties of a link, set once by the link itself. Code that chooses a path tests the property that
// matters, never a name.
//
//   class NullLink final : public Link {
//    public:
//     NullLink() : Link({.name = "null"}) {}           // no remote memory, no wake-ups
//   };
//   if (ni.link_traits(peer).one_sided) put_now();
//
// Held by tests/conformance/traits_test.cpp: each link behaves as its traits describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lfc {

struct LinkTraits {
  // The kinds of links. Data that travels, such as the handle of a region, names a link by its kind, because the
  // position of a link among those of a process has no meaning in another process. An engine has at most one link of
  // each kind; several of one kind are behind a bond. `other`: of tests.
  enum class Kind : std::uint8_t { other, loop, shm, verbs, tcp, ofi, sim, last_ = sim };
  static constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::last_) + 1;

  std::string name;  // "shm", "tcp", ...: the name of its section in addresses, and for the user
  Kind kind = Kind::other;

  // An arrival makes one of wait_fds() readable while the link is armed. Else it is polled by a timer.
  bool wakes = false;
  // A frame is in the memory of its receiver, another process, when send() returns `sent`. The receiver finds it there
  // even if the sender ends and every descriptor is closed.
  bool arrives_in_send = false;

  // put() and get() reach the memory of peers natively, unless Link::remote_memory() returns false for a peer.
  bool remote_memory = false;
  // They do it within the call: the answer is never `started`, and no operation is needed.
  bool copies_at_once = false;
  // They need no work of the target's NI and cost no more than a frame, so they pay even for a few bytes.
  bool one_sided = false;
  // The size in bytes from which on fetching a message by get() is faster than frames.
  std::size_t remote_memory_from = 1;
  // A message with an RTS may also come in frames, which may be faster; the engine measures which is.
  bool either_way = false;
  // Bytes of the largest `message` frame, if larger ones than others may go; else 0.
  std::size_t message_payload = 0;
  // Bytes of the largest `service` frame, if larger ones than others may go because their bytes are placed
  // (FrameSink::place); else 0.
  std::size_t placed_payload = 0;
  // Lends the link's buffers, so that frames can be kept without a copy; null: the link does not.
  class FrameLender* lender = nullptr;
  // put_notified() works: a put and a notification in one request, which the target's device reports.
  bool notified_puts = false;
  // Registering memory pins or maps pages: a registration is worth keeping for the next use.
  bool registration_costs = false;
};

}  // namespace lfc
