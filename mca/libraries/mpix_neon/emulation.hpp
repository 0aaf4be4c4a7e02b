// Emulation: NEON by MPI messages on a communicator of its own; works over every Open MPI transport
// and needs nothing of LFC. Frames move whenever this process is inside MPI.
//
// Memory per window: kReceives + kSends buffers of a frame each, made when they are used. A frame is at
// most 16 KiB; data is copied once at the origin and once at the target. MPI takes small messages without
// bound, so each kNeonPace-th frame to a rank is sent synchronously, and the next such waits for it: Open MPI
// keeps less than 2 * kNeonPace frames for a rank that does not take them.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "endpoint.hpp"
#include "spin_lock.hpp"

namespace lfc::neon {

class Emulation final : public Endpoint, private Carrier {
 public:
  // Takes over the communicator, of the window's ranks in their order.
  Emulation(MPI_Comm comm, const Exposure& memory);
  ~Emulation() override;

  void lock() override { lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  void unlock() override { lock_.unlock(); }
  Neon& neon() override { return neon_; }
  int level() const override;
  int poll() override;
  void close() override;

 private:
  struct Buffer {
    MPI_Request request = MPI_REQUEST_NULL;
    std::unique_ptr<std::byte[]> bytes;
    bool* paces = nullptr;  // sent synchronously; where that is noted
  };

  bool send(Rank to, const Header& header, std::span<const std::byte> list,
            std::span<const std::byte> data) override;
  bool has_room(Rank to) override;
  std::byte* window(std::uint64_t offset, std::uint64_t within, std::uint64_t size) override {
    return memory_.at(offset, within, size);
  }
  Slot* slot(std::uint32_t index) override { return memory_.slot(index); }

  void receive(Buffer& buffer);
  bool take_sent(Buffer& buffer);
  void reap();
  // Whether the next frame to that rank is sent synchronously.
  bool is_next_synchronous(Rank to) const { return (sent_[to] + 1) % limits::kNeonPace == 0; }

  SpinLock lock_;
  MPI_Comm comm_;
  const Exposure& memory_;
  Neon neon_;
  std::vector<Buffer> receives_{limits::kNeonReceives};
  std::size_t next_receive_ = 0;  // taken in this order, so that frames of a peer stay in order
  std::vector<Buffer> sends_{limits::kNeonSends};
  std::vector<Buffer*> idle_;       // of sends_
  std::vector<Buffer*> under_way_;  // of sends_
  std::vector<int> sent_;           // frames, by rank
  std::unique_ptr<bool[]> paced_;   // by rank: a synchronous frame has not been taken yet
  int received_ = 0;
  bool closing_ = false;
};

}  // namespace lfc::neon
