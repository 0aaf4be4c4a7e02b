// Frames: frames in pieces over connections, and the credits of the link, each of which promises a receive buffer.
//
//   SendStatus status = frames.send(peer, meta, slices, count);
//   frames.on_sent(connection, number, completion.status);
//   frames.on_receive(completion, index);
//   if (frames.owes()) frames.return_credits();
//
// Threads: as Link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "link/verbs/connections.hpp"

namespace lfc::verbs {

class Frames {
 public:
  using State = Connection::State;

  Frames(Shared& shared, Connections& connections) noexcept
      : shared_(shared), connections_(connections) {}
  bool open(std::string& why_not);
  // Returns the bytes of the largest frame.
  std::size_t payload() const noexcept { return payload_; }

  SendStatus send(PeerId peer, Meta meta, const Slice* slices, int count) noexcept;
  // Returns whether the peer promises a receive buffer for a write with immediate data, which takes one as a data frame
  // does.
  static bool may_notify(const Connection& connection) noexcept {
    return connection.credits > kControlFrames;
  }
  // Sends a frame of the link itself. False: no room, or the connection has failed.
  bool send_note(Connection& connection, std::uint8_t type) noexcept;
  void on_sent(Connection& connection, std::uint32_t number, ibv_wc_status status) noexcept;
  void on_receive(const ibv_wc& ended, std::uint32_t index) noexcept;
  bool owes() const noexcept { return !due_.empty(); }
  void return_credits() noexcept;
  // Makes the device report the end of requests that asked for no completion.
  void request_completions() noexcept;

 private:
  bool post(Connection& connection, Word word, ibv_sge* pieces, int count, const Work& work,
            bool more) noexcept;
  bool send_inline(Connection& connection, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  bool send_pieces(Connection& connection, Word word, const Slice* slices, int count,
                   std::size_t size) noexcept;
  std::uint8_t collect(Connection& connection) noexcept;
  // True: the frame took a credit.
  bool accept(Connection& connection, Word word, std::span<const std::byte> bytes) noexcept;
  void on_note(Connection& connection, std::uint8_t type) noexcept;

  Shared& shared_;
  Connections& connections_;
  std::size_t payload_ = 0;
  std::vector<Connection*> due_;
};

}  // namespace lfc::verbs
