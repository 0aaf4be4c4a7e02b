#include "machine/bell.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/errors.hpp"
#include "base/lasting.hpp"
#include "sync/fence.hpp"

namespace lfc {
namespace {

constexpr int kDatagrams = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

// A name in no file system, which disappears with its owner: the first byte is 0.
struct SocketName {
  explicit SocketName(const BellName& name) noexcept {
    address.sun_family = AF_UNIX;
    const std::size_t length = strnlen(name.data(), name.size());
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

}  // namespace

// The sockets by which all cords of a process ring. One socket may have sent some hundreds of bytes that were not read;
// then another takes its place. That one is made beforehand, because no descriptor may be left when it is needed. Any
// thread.
class Ringer {
 public:
  // Returns the present one or a new one; null: see errno.
  static std::shared_ptr<const Ringer> of_process();
  // False: the bell was not rung, see errno.
  bool ring(const BellName& name) const noexcept;

 private:
  bool renew() const noexcept;
  void provide() const noexcept;

  FileDescriptor socket_;
  mutable std::mutex mutex_;
  mutable FileDescriptor next_;
};

std::shared_ptr<const Ringer> Ringer::of_process() {
  static std::mutex mutex;
  static Lasting<std::weak_ptr<const Ringer>> only;
  const std::lock_guard guard(mutex);
  std::shared_ptr<const Ringer> ringer = only->lock();
  if (ringer != nullptr) return ringer;
  auto made = std::make_shared<Ringer>();
  made->socket_ = FileDescriptor(::socket(AF_UNIX, kDatagrams, 0));
  if (!made->socket_.is_open()) return nullptr;
  made->provide();
  *only = ringer = made;
  return ringer;
}

bool Ringer::ring(const BellName& name) const noexcept {
  const SocketName to(name);
  const char one = 1;
  for (bool fresh = false;; fresh = true) {
    if (::sendto(socket_.get(), &one, 1, MSG_DONTWAIT | MSG_NOSIGNAL, to.data(), to.size) == 1)
      return true;
    if (errno != EAGAIN) return false;
    if (fresh) return true;  // the owner's queue is full: it has been rung enough
    if (!renew()) return false;
  }
}

// Replaces this socket by the next one, under the same number.
bool Ringer::renew() const noexcept {
  const std::lock_guard guard(mutex_);
  if (!next_.is_open()) provide();
  if (!next_.is_open() || ::dup3(next_.get(), socket_.get(), O_CLOEXEC) < 0) return false;
  next_ = FileDescriptor();  // if no descriptor is available, the next one takes this one's
  provide();
  return true;
}

void Ringer::provide() const noexcept { next_ = FileDescriptor(::socket(AF_UNIX, kDatagrams, 0)); }

std::unique_ptr<Bell> Bell::create(BellState& state, std::string& why_not) {
  std::unique_ptr<Bell> bell(new Bell(state));
  std::uint64_t random = 0;
  BellName name{};
  bell->socket_ = FileDescriptor(::socket(AF_UNIX, kDatagrams, 0));
  if (bell->socket_.is_open() && ::getrandom(&random, sizeof random, 0) == sizeof random) {
    std::snprintf(name.data(), name.size(), "lfc-bell-%016llx",
                  static_cast<unsigned long long>(random));
    const SocketName own(name);
    if (::bind(bell->socket_.get(), own.data(), own.size) == 0) {
      state.name = name;
      return bell;
    }
  }
  why_not = with_errno("socket to be woken by");
  return nullptr;
}

bool Bell::arm() noexcept {
  const bool first = state_.word.arm();
  full_fence();
  const Clock::time_point now = Clock::now();
  if (first) armed_at_ = now;
  return now - armed_at_ >= SleepWord::kSettling;
}

void Bell::withdraw() noexcept {
  state_.word.withdraw();
  std::array<mmsghdr, 16> rung{};  // there is no room for the bytes
  const auto most = static_cast<unsigned>(rung.size());
  while (::recvmmsg(socket_.get(), rung.data(), most, MSG_DONTWAIT, nullptr) ==
         static_cast<int>(most)) {
  }
}

BellCord::BellCord(BellState& state) {
  if (!state.is_there()) return;
  name_ = state.name;
  ringer_ = Ringer::of_process();
  if (ringer_ == nullptr || !ringer_->ring(name_)) return;
  state_ = &state;
}

void BellCord::ring(std::uint32_t token) const noexcept {
  // If the owner has ended, there is nothing to wake.
  if (ringer_->ring(name_) || errno == ECONNREFUSED) state_->word.disarm(token);
}

}  // namespace lfc
