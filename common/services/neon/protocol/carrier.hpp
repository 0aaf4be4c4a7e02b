// Carrier: interface to the transport of one window's frames: an NI service, MPI messages, or a test.
// Outlet: interface of Neon to its two halves, origin and target, with the members that are lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/shared_bytes.hpp"
#include "services/neon/protocol/mapped_entries.hpp"
#include "services/neon/protocol/operation.hpp"
#include "services/neon/protocol/slot.hpp"

namespace lfc::neon {

// The result of a direct write.
enum class Written : std::uint8_t {
  data,      // the data is in place
  notified,  // ... and its notification has gone with it
  refused,   // nothing: the link cannot take the notification of this put with it
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  // Sends one frame, whose payload is the list of its runs, if any, and then the data; the bytes may be reused on
  // return. False: not now; Neon::pump() follows when it is worth trying again. Must not call back into Neon.
  virtual bool send(Rank to, const Header& header, std::span<const std::byte> list,
                    std::span<const std::byte> data) = 0;
  // Returns whether send() has room, for a caller that must build the frame first. False: as send().
  virtual bool has_room(Rank) { return true; }

  // Returns an owner of these bytes of the frame that Neon::on_frame() has, so that they stay after that call. Throws
  // std::bad_alloc.
  virtual SharedBytes keep(std::span<const std::byte> bytes) { return copy_of(bytes); }

  // --- Writing straight into the target's memory. Optional. ---

  virtual bool can_write(Rank) const { return false; }
  // Lets origins write to announced memory, until conceal(). Called once per announcement object.
  virtual Token expose(const Announcement&) { return {}; }
  virtual void conceal(const Announcement&) {}
  // Writes operation.data to `offset` in the memory that `token` names. False: not now. When the target's memory has
  // changed, Neon::written(operation, status) follows, possibly inside the call. If operation.key is not 0, the write
  // may notify the target under that key. Then Neon::written() may follow as soon as the data is the caller's again.
  // An empty token names the target's window, which is mapped here; then written() follows after the call.
  virtual bool write(Rank, const Token&, std::uint64_t /*offset*/, Operation&) { return false; }

  // Writes operation.data to `offset` in the target's window, and notifies it of operation.index, in one request of the
  // link. Neon::written() follows after the call. False: frames have to do it.
  virtual bool write_window(Rank, std::uint64_t /*offset*/, Operation&) { return false; }

  // --- Announced buffers in windows that origins map (mapped_entries.hpp). Optional. ---

  // Returns this process's entry for an origin and tag; null: the origin does not map the window, or there is no room.
  virtual MappedEntry* own_entry(Rank /*origin*/, std::uint32_t /*tag*/) { return nullptr; }
  // Returns the target's entry for this process and the tag; null: there is none yet.
  virtual MappedEntry* entry_of(Rank /*target*/, std::uint32_t /*tag*/) { return nullptr; }
  // Returns `size` bytes of the target's window, `within` bytes behind `place`; null: not all of it is in the window.
  virtual std::byte* mapped(Rank /*target*/, std::uint64_t /*place*/, std::uint64_t /*within*/,
                            std::uint64_t /*size*/) {
    return nullptr;
  }

  // --- The window at large, for put_notify and get_notify ---

  // Returns this process's memory at a displacement of its window; null: not all of it is in the window.
  virtual std::byte* window(std::uint64_t /*displacement*/, std::uint64_t /*within*/,
                            std::uint64_t /*size*/) {
    return nullptr;
  }
  // Returns the slot with this index; null: there is none.
  virtual Slot* slot(std::uint32_t /*index*/) { return nullptr; }
};

class Outlet {
 public:
  virtual ~Outlet() = default;
  bool is_lost(Rank rank) const noexcept { return lost_[rank]; }
  // As Carrier::send(). On false the half will be pumped for this peer.
  virtual bool send(Rank to, Header& header, std::span<const std::byte> list,
                    std::span<const std::byte> data) = 0;
  // As Carrier::has_room(). On false the half will be pumped for this peer.
  virtual bool has_room(Rank to) = 0;
  // The carrier refused a direct write: pump the half for this peer.
  virtual void no_room(Rank to) = 0;
  // A frame without data that must go; it is kept if it cannot go now.
  virtual void control(Rank to, const Header& header, const Token* token = nullptr) = 0;

 protected:
  explicit Outlet(std::uint32_t ranks) : lost_(ranks) {}
  void note_loss(Rank rank) noexcept { lost_[rank] = true; }

 private:
  std::vector<bool> lost_;  // a bit for each rank, because most of them have no other state
};

// Copies the parts of a frame to `frame`, one after the other.
inline void join_frame(std::byte* frame, const Header& header, std::span<const std::byte> list,
                       std::span<const std::byte> data) noexcept {
  std::memcpy(frame, &header, sizeof header);
  if (!list.empty()) std::memcpy(frame + sizeof header, list.data(), list.size());
  if (!data.empty()) std::memcpy(frame + sizeof header + list.size(), data.data(), data.size());
}

// Counters of events, for diagnosis.
struct Statistics {
  std::uint64_t frames = 0;         // sent, of all kinds
  std::uint64_t early = 0;          // frames received before their announcement
  std::uint64_t hybrid = 0;         // generations that had arrived in part when announced
  std::uint64_t parked = 0;         // bytes of early data now, kOverhead included
  std::uint64_t parked_most = 0;    // ... and at most
  std::uint64_t deferred = 0;       // times that a put had to wait for its announcement
  std::uint64_t grants = 0;         // sent
  std::uint64_t written = 0;        // puts that went straight into memory
  std::uint64_t puts_notified = 0;  // writes of the link that took their notification with them
  std::uint64_t keyless =
      0;  // puts and grants without a notification key, although the link notifies
  std::uint64_t refused = 0;   // writes with a notification that the link refused
  std::uint64_t mapped = 0;    // puts and gets by loads and stores, without a frame
  std::uint64_t late = 0;      // frames for an announcement that has been withdrawn
  std::uint64_t overruns = 0;  // frames that did not fit and were discarded
};

}  // namespace lfc::neon
