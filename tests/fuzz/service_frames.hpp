// ServiceFrames: frames of NEON, windows and pushed messages for the NI's fuzzer. They come from one hostile member of
// a window and its NEON. Operations towards that member are under way, so that replies can be forged.
//
//   ServiceFrames services(ni);
//   services.join(peer);                               // the hostile one
//   services.act(random);                              // an operation of ours
//   payload = services.make(random, type, tag);        // right, as far as chance allows; sets tag
//   services.heard(tag, payload);                      // frames of the NI: names worth forging
//   if (!services.fault().empty()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/ni.hpp"
#include "fuzz/push_frames.hpp"
#include "link/sim/random.hpp"
#include "services/neon/neon_service.hpp"
#include "services/windows/window_service.hpp"

namespace lfc {

class ServiceFrames {
 public:
  explicit ServiceFrames(Ni& ni);
  ~ServiceFrames();

  // The previous member must be lost, and its callbacks made.
  void join(PeerId peer);
  void leave();
  void act(Random& random);
  std::vector<std::byte> make(Random& random, FrameType type, std::uint8_t& tag);
  void heard(std::uint8_t tag, const std::vector<std::byte>& payload);
  // Empty: no byte outside the exposed memory was written, and nothing completed twice.
  const std::string& fault();

 private:
  struct Member;
  struct Put;

  std::vector<std::byte> window_frame(Random& random, FrameType type);
  std::vector<std::byte> bundle_frame(Random& random, WindowHead head);
  std::vector<std::byte> neon_frame(Random& random);

  Ni& ni_;
  std::unique_ptr<WindowService> windows_;
  std::shared_ptr<NeonService> neon_;
  std::unique_ptr<Member> member_;
  PushFrames pushes_;
  std::string fault_;
};

}  // namespace lfc
