// The ring's exchange by NEON's calls, if they are built: announce, put with notification, complete; and by puts that
// increment counters. See ring.hpp.
#pragma once

#include <mpix_neon.h>

#include "ring.hpp"

namespace ring {

// A rank announces (NEON) its halos to the neighbour that writes them, and the neighbour's put notifies the rank.
class Neon : public OneSided {
 public:
  Neon(Layout layout, const std::string& windows) : OneSided(layout, windows) {
    if (!problem().empty()) return;
    MPIX_Neon_attach(window_.get());
    for (int slot = 0; slot < 2; ++slot) {
      const int above = up(), below = down();
      MPIX_Neon_announce_init(layout.row_at(slot, 0), layout.row_bytes, 1, &above, upper(slot), 0,
                              window_.get(), &halos_[slot][0]);
      MPIX_Neon_announce_init(layout.row_at(slot, layout.lines + 1), layout.row_bytes, 1, &below,
                              lower(slot), 0, window_.get(), &halos_[slot][1]);
    }
  }
  Neon(const Neon&) = delete;
  Neon& operator=(const Neon&) = delete;
  Neon(Neon&&) = delete;
  Neon& operator=(Neon&&) = delete;
  ~Neon() override {
    if (!problem().empty()) return;
    for (auto& of_slot : halos_)
      for (auto& halo : of_slot) MPI_Request_free(&halo);
  }
  void expect(int slot) override { MPI_Startall(2, halos_[slot]); }
  void push(int slot) override {
    put(row(slot, 1), up(), lower(slot), &puts_[0]);
    put(row(slot, layout_.lines), down(), upper(slot), &puts_[1]);
  }
  void finish(int slot) override {
    MPI_Waitall(2, halos_[slot], MPI_STATUSES_IGNORE);
    MPI_Waitall(2, puts_, MPI_STATUSES_IGNORE);
  }

 private:
  static int upper(int slot) { return 2 * slot; }
  static int lower(int slot) { return 2 * slot + 1; }
  void put(const void* from, int target, int tag, MPI_Request* request) {
    const int bytes = layout_.row_bytes;
    MPIX_Neon_put(from, bytes, MPI_BYTE, target, tag, 0, bytes, MPI_BYTE, MPIX_NEON_FINAL,
                  window_.get(), request);
  }
  MPI_Request halos_[2][2] = {};
  MPI_Request puts_[2] = {};
};

// This way needs no NEON announce: two slots are enough (see ring.hpp). Each put increments one of two counters.
class Notify : public OneSided {
 public:
  Notify(Layout layout, const std::string& windows) : OneSided(layout, windows) {
    if (problem().empty()) MPIX_Win_set_num_notify(window_.get(), MPI_INFO_NULL, 2);
  }
  void push(int slot) override {
    ++pushed_;
    put(row(slot, 1), up(), layout_.row_at(slot, layout_.lines + 1), kFromDown);
    put(row(slot, layout_.lines), down(), layout_.row_at(slot, 0), kFromUp);
  }
  void finish(int /*slot*/) override {
    MPIX_Win_wait_notify(window_.get(), kFromUp, pushed_);
    MPIX_Win_wait_notify(window_.get(), kFromDown, pushed_);
  }

 private:
  enum Counter { kFromUp, kFromDown };
  void put(const void* from, int target, MPI_Aint at, Counter counter) {
    const int bytes = layout_.row_bytes;
    MPIX_Put_notify(from, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, counter, window_.get());
  }
  std::uint64_t pushed_ = 0;
};

}  // namespace ring
