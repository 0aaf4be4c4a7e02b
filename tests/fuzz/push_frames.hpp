// PushFrames: frames of pushed messages for the NI's fuzzer. One hostile peer pushes messages, some of which the NI
// fetches, and acknowledges pushed messages of the NI.
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

  // The previous peer must be lost, and its callbacks made.
  void join(PeerId peer);
  void leave();
  void act(Random& random);
  std::vector<std::byte> make(Random& random, FrameType type);
  // Empty: no byte outside the fetched memory was written, and nothing completed twice.
  const std::string& fault();

 private:
  struct Offered {
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };
  struct Fetch : Operation {
    std::vector<std::byte> memory;  // between canaries
    int calls = 0;
  };

  Push push_;
  PeerId peer_ = kNoPeer;
  std::deque<Offered> offered_;
  std::deque<Fetch> fetches_;
  std::uint64_t number_ = 1;  // of the message that it pushes,
  std::uint64_t offset_ = 0;  // and its next byte
  std::string fault_;
};

}  // namespace lfc
