// A ring of ranks. In each iteration neighbours exchange the outer rows of their blocks. These are
// double buffered, and synchronised in one of the ways that NEON's thesis compares.
//
//   auto exchange = ring::make("pscw", {.row_bytes = 4104, .lines = 10}, "create");
//   if (!exchange->problem().empty()) ...           // this MPI cannot do it
//   ... fill slot 0 with its halos ...
//   exchange->begin();
//   for (int k = 1; k <= n; ++k) {
//     const int slot = k % 2;
//     exchange->expect(slot);                        // its halos may be written
//     ... compute rows 1 and `lines` of `slot` ...
//     exchange->push(slot);                          // to the neighbours' halos
//     ... compute the rows between ...
//     exchange->complete(slot);                      // optional: this rank's puts, if that is a call
//     ... compute more rows ...
//     exchange->finish(slot);                        // the halos are there
//   }
//
// A slot has rows 0 .. lines + 1; 0 and lines + 1 are the halos. Halos of a slot may be read from
// finish(slot) until push() of the other slot. Two buffers are enough flow control, because a
// neighbour pushes only after it has received this rank's last push.
// Source: Schneidenbach 2009, 5.1, 5.2 and appendix B.2.1.
#pragma once

#include <memory>

#include "app.hpp"

namespace ring {

struct Layout {
  int row_bytes;
  int lines;
  [[nodiscard]] MPI_Aint row_at(int slot, int row) const {
    return (static_cast<MPI_Aint>(slot) * (lines + 2) + row) * row_bytes;
  }
  [[nodiscard]] MPI_Aint bytes() const { return row_at(2, 0); }
};

inline int up() { return (app::rank + app::ranks - 1) % app::ranks; }
inline int down() { return (app::rank + 1) % app::ranks; }

class Exchange {
 public:
  explicit Exchange(Layout layout) : layout_(layout) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange(Exchange&&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  virtual ~Exchange() = default;

  virtual void begin() {}  // after local stores into the slots, before a barrier
  virtual void expect(int slot) { (void)slot; }
  virtual void push(int slot) { (void)slot; }
  // Between push() and finish(): completes this rank's puts, if that call also notifies the neighbours.
  virtual void complete(int slot) { (void)slot; }
  virtual void finish(int slot) { (void)slot; }
  [[nodiscard]] virtual std::string problem() const { return ""; }

  char* row(int slot, int row) { return memory_ + layout_.row_at(slot, row); }

 protected:
  Layout layout_;
  char* memory_ = nullptr;
};

class TwoSided : public Exchange {
 public:
  explicit TwoSided(Layout layout)
      : Exchange(layout), own_(static_cast<std::size_t>(layout.bytes() / 8 + 1)) {
    memory_ = reinterpret_cast<char*>(own_.data());
  }

 protected:
  enum { kUpwards = 1, kDownwards = 2 };

 private:
  std::vector<double> own_;
};

class SendReceive : public TwoSided {
 public:
  using TwoSided::TwoSided;
  void finish(int slot) override {
    const int bytes = layout_.row_bytes, lines = layout_.lines;
    MPI_Sendrecv(row(slot, 1), bytes, MPI_BYTE, up(), kUpwards, row(slot, lines + 1), bytes,
                 MPI_BYTE, down(), kUpwards, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(slot, lines), bytes, MPI_BYTE, down(), kDownwards, row(slot, 0), bytes,
                 MPI_BYTE, up(), kDownwards, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
};

class Nonblocking : public TwoSided {
 public:
  using TwoSided::TwoSided;
  void expect(int slot) override {
    const int bytes = layout_.row_bytes;
    MPI_Irecv(row(slot, layout_.lines + 1), bytes, MPI_BYTE, down(), kUpwards, MPI_COMM_WORLD,
              &requests_[0]);
    MPI_Irecv(row(slot, 0), bytes, MPI_BYTE, up(), kDownwards, MPI_COMM_WORLD, &requests_[1]);
  }
  void push(int slot) override {
    const int bytes = layout_.row_bytes;
    MPI_Isend(row(slot, 1), bytes, MPI_BYTE, up(), kUpwards, MPI_COMM_WORLD, &requests_[2]);
    MPI_Isend(row(slot, layout_.lines), bytes, MPI_BYTE, down(), kDownwards, MPI_COMM_WORLD,
              &requests_[3]);
  }
  void finish(int /*slot*/) override { MPI_Waitall(4, requests_, MPI_STATUSES_IGNORE); }

 private:
  MPI_Request requests_[4] = {};
};

class OneSided : public Exchange {
 public:
  // `extra`: bytes behind the slots.
  OneSided(Layout layout, const std::string& windows, MPI_Aint extra = 0)
      : Exchange(layout), window_(layout.bytes() + extra, windows) {
    memory_ = window_.memory();
  }
  [[nodiscard]] std::string problem() const override { return window_.problem(); }
  void push(int slot) override {
    put(row(slot, 1), layout_.row_bytes, up(), layout_.row_at(slot, layout_.lines + 1));
    put(row(slot, layout_.lines), layout_.row_bytes, down(), layout_.row_at(slot, 0));
  }

 protected:
  void put(const void* from, int bytes, int target, MPI_Aint at) {
    MPI_Put(from, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, window_.get());
  }
  app::Window window_;
};

class Fence : public OneSided {
 public:
  Fence(Layout layout, const std::string& windows) : OneSided(layout, windows) {
    if (problem().empty()) MPI_Win_fence(0, window_.get());
  }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  Fence(Fence&&) = delete;
  Fence& operator=(Fence&&) = delete;
  ~Fence() override {
    if (problem().empty()) MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.get());
  }
  void begin() override { MPI_Win_fence(0, window_.get()); }
  void finish(int /*slot*/) override { MPI_Win_fence(0, window_.get()); }
};

class Pscw : public OneSided {
 public:
  Pscw(Layout layout, const std::string& windows) : OneSided(layout, windows) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int neighbours[2] = {up(), down()};
    MPI_Group_incl(world, up() == down() ? 1 : 2, neighbours, &group_);
    MPI_Group_free(&world);
  }
  Pscw(const Pscw&) = delete;
  Pscw& operator=(const Pscw&) = delete;
  Pscw(Pscw&&) = delete;
  Pscw& operator=(Pscw&&) = delete;
  ~Pscw() override { MPI_Group_free(&group_); }
  void expect(int /*slot*/) override {
    MPI_Win_post(group_, 0, window_.get());
    MPI_Win_start(group_, 0, window_.get());
    is_complete_ = false;
  }
  void complete(int /*slot*/) override {
    MPI_Win_complete(window_.get());
    is_complete_ = true;
  }
  void finish(int slot) override {
    if (!is_complete_) complete(slot);
    MPI_Win_wait(window_.get());
  }

 private:
  bool is_complete_ = false;
  MPI_Group group_ = MPI_GROUP_NULL;
};

// Passive target: put and flush the rows, then put and flush a word that the neighbour polls.
class Flush : public OneSided {
 public:
  Flush(Layout layout, const std::string& windows) : OneSided(layout, windows, kWords * 8 + 8) {
    if (problem().empty()) window_.lock_all();
  }
  void begin() override { MPI_Win_sync(window_.get()); }
  void push(int slot) override {
    OneSided::push(slot);
    flush();
    ++pushed_;
    put(&pushed_, 8, up(), word_at(kFromDown));
    put(&pushed_, 8, down(), word_at(kFromUp));
    flush();
  }
  void finish(int /*slot*/) override {
    while (arrived(kFromUp) < pushed_ || arrived(kFromDown) < pushed_) {
      int there = 0;  // MPI may have work to do here
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      MPI_Win_sync(window_.get());
    }
    MPI_Win_sync(window_.get());
  }

 private:
  enum Word { kFromUp, kFromDown, kWords };
  [[nodiscard]] MPI_Aint word_at(Word word) const {
    return (layout_.bytes() + 7) / 8 * 8 + 8 * static_cast<MPI_Aint>(word);
  }
  [[nodiscard]] std::int64_t arrived(Word word) const {
    return *reinterpret_cast<const volatile std::int64_t*>(memory_ + word_at(word));
  }
  void flush() {
    MPI_Win_flush(up(), window_.get());
    if (up() != down()) MPI_Win_flush(down(), window_.get());
  }
  std::int64_t pushed_ = 0;
};

}  // namespace ring
