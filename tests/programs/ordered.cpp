// Totally ordered broadcast: all ranks receive all messages in one order, and each sender's messages in the order
// of sending. Some ranks wait in MPI for ranks that broadcast more than a window.
#include <lfc_ordered.h>

#include "layout.hpp"
#include "step.hpp"
#include "watch.hpp"

namespace programs {
namespace {

class Ordered : public Step {
 public:
  Ordered(Draw& draw, const Scale& scale) : next_(static_cast<std::size_t>(scale.roles)) {
    options_.packet = draw.pick<std::size_t>({64, 512, 4096});
    options_.window = draw.pick({4u, 8u, 16u, 256u});
    options_.sequencer = draw.in(0, 1 << 20);
    options_.fan = static_cast<unsigned>(draw.in(1, 4));
    // Counts around the window, the largest distance by which a rank may be behind.
    for (int role = 0; role < scale.roles; ++role)
      counts_.push_back(draw.one_in(4)   ? 0
                        : draw.one_in(2) ? draw.in(1, 5)
                                         : static_cast<int>(draw.near(options_.window)));
    largest_ = draw.one_in(2) ? 8 : options_.packet * options_.window / 2;
    largest_ = std::min<std::size_t>(largest_, 4 * options_.packet);
    key_ = draw.next();
    // A rank that waits in MPI serves the others, as it does with one thread.
    if (scale.threads) options_.handle = LFC_ORDERED_IN_MPI;
  }

  std::string text() const override {
    std::string text = "ordered broadcasts, window " + std::to_string(options_.window) + " of " +
                       std::to_string(options_.packet) + " bytes, up to " +
                       std::to_string(largest_) + " bytes:";
    for (int count : counts_) text += " " + std::to_string(count);
    return text;
  }

  void prepare(World& world, int) override {
    watch_call("lfc_ordered_open");
    world_ = &world;
    options_.sequencer %= world.all.size();
    const int error = lfc_ordered_open(world.all.comm, handle, this, &options_, &order_);
    if (error != LFC_ORDERED_OK && error != LFC_ORDERED_ERR_UNAVAILABLE)
      fail("%s", lfc_ordered_error(error));
    // Smaller if a transport of some rank has smaller packets.
    if (order_ != nullptr) largest_ = std::min(largest_, lfc_ordered_max(order_));
  }

  void begin(World& world, int) override {
    if (order_ == nullptr) return;
    watch_call("lfc_ordered_bcast");
    for (int i = 0; i < counts_[static_cast<std::size_t>(world.me)]; ++i) {
      const std::vector<char> data = message(world.me, i);
      const int error = lfc_ordered_bcast(order_, data.data(), data.size(), nullptr);
      if (error != LFC_ORDERED_OK) fail("%s", lfc_ordered_error(error));
    }
  }

  void end(World& world, int) override {
    if (order_ == nullptr) return;
    watch_call("lfc_ordered_close");
    const int error = lfc_ordered_close(&order_);
    if (error != LFC_ORDERED_OK) fail("%s", lfc_ordered_error(error));
    for (int role : world.all.members)
      if (next_[static_cast<std::size_t>(role)] != counts_[static_cast<std::size_t>(role)])
        fail("%d messages of %d came, not %d", next_[static_cast<std::size_t>(role)], role,
             counts_[static_cast<std::size_t>(role)]);
    std::uint64_t of_first = seen_;
    MPI_Bcast(&of_first, 1, MPI_UINT64_T, 0, world.all.comm);
    if (of_first != seen_) fail("not in the order of the first rank");
  }

 private:
  std::vector<char> message(int role, int index) const {
    const std::uint64_t key =
        mixed(key_ + static_cast<std::uint64_t>(role), static_cast<std::uint64_t>(index));
    return contents(key, key % (largest_ + 1));
  }

  static void handle(void* context, int sender, std::uint64_t number, const void* data,
                     std::size_t size) {
    Ordered& self = *static_cast<Ordered*>(context);
    const int role = self.world_->all.members[static_cast<std::size_t>(sender)];
    const std::vector<char> should =
        self.message(role, self.next_[static_cast<std::size_t>(role)]++);
    const char* bytes = static_cast<const char*>(data);
    if (std::vector<char>(bytes, bytes + size) != should)
      fail("message %d of %d is wrong", self.next_[static_cast<std::size_t>(role)] - 1, role);
    if (self.last_ != 0 && number + 1 <= self.last_)
      fail("number %llu came late", static_cast<unsigned long long>(number));
    self.last_ = number + 1;
    self.seen_ = mixed(self.seen_ + static_cast<std::uint64_t>(sender), number);
  }

  lfc_ordered_options options_{};
  std::vector<int> counts_, next_;
  std::size_t largest_;
  std::uint64_t key_, seen_ = 0, last_ = 0;
  World* world_ = nullptr;
  lfc_ordered* order_ = nullptr;
};

}  // namespace

StepPointer draw_ordered(Draw& draw, const Scale& scale) {
  return std::make_unique<Ordered>(draw, scale);
}

}  // namespace programs
