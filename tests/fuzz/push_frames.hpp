// PushFrames: the frames of pushed messages for the NI's fuzzer: one hostile peer pushes messages, some of which we
// fetch, and says what it has taken of those that we push.
//
//   PushFrames pushes(ni);
//   pushes.join(peer);                               // the hostile one
//   pushes.act(random);                              // a message of ours, or a fetch
//   payload = pushes.make(random, type);             // right, as far as chance allows
//   if (!pushes.fault().empty()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/ni.hpp"
#include "link/sim/random.hpp"
#include "services/push/push.hpp"

namespace lfc {

class PushFrames {
 public:
  explicit PushFrames(Ni& ni) : push_(ni.services(), ni.host()) {}

  // The peer before must be lost, and its losses called back.
  void join(PeerId peer);
  void leave();
  void act(Random& random);
  std::vector<std::byte> make(Random& random, FrameType type);
  // Empty: no memory beside what is fetched was written, and nothing was completed twice.
  const std::string& fault();

 private:
  struct Offered {
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };
  struct Fetch : Operation {
    std::vector<std::byte> memory;  // canaries around
    int calls = 0;
  };

  Push push_;
  PeerId peer_ = kNoPeer;
  std::deque<Offered> offered_;
  std::deque<Fetch> fetches_;
  std::uint64_t number_ = 1;  // of the message that it pushes,
  std::uint64_t offset_ = 0;  // and what of it has come
  std::string fault_;
};

}  // namespace lfc
