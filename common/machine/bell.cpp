#include "machine/bell.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/errors.hpp"

namespace lfc {

std::unique_ptr<Bell> Bell::create(BellState& state, std::string& why_not) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    why_not = with_errno("pipe");
    return nullptr;
  }
  std::unique_ptr<Bell> bell(new Bell(state));
  bell->read_end_ = FileDescriptor(ends[0]);
  bell->write_end_ = FileDescriptor(ends[1]);
  state.is_heavy.store(bell->fence_.is_asymmetric() ? 1 : 0, std::memory_order_relaxed);
  state.fd.store(static_cast<std::uint32_t>(ends[1]) + 1, std::memory_order_relaxed);
  return bell;
}

void Bell::announce() noexcept {
  state_.word.announce();
  fence_.heavy();
}

void Bell::withdraw() noexcept {
  state_.word.withdraw();
  std::array<std::byte, 256> bytes;
  while (::read(read_end_.get(), bytes.data(), bytes.size()) ==
         static_cast<ssize_t>(bytes.size())) {
  }
}

BellCord::BellCord(BellState& state, std::uint32_t pid) noexcept {
  const std::uint32_t fd = state.fd.load(std::memory_order_relaxed);
  if (fd == 0) return;
  std::string why_not;
  // For reading as well: to a pipe without any reader a write would raise SIGPIPE.
  pipe_ = open_of_process(pid, static_cast<int>(fd - 1), "pipe:", why_not);
  if (!pipe_.is_open()) return;
  state_ = &state;
  cheap_ = state.is_heavy.load(std::memory_order_relaxed) != 0 &&
           AsymmetricFence(AsymmetricFence::Scope::host).is_asymmetric();
}

void BellCord::ring(std::uint32_t token) const noexcept {
  const char one = 1;
  // A full pipe has been rung enough.
  if (::write(pipe_.get(), &one, 1) < 0 && errno != EAGAIN) return;
  state_->word.answer(token);
}

}  // namespace lfc
