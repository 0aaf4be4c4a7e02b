#include "link/tcp/epoll_set.hpp"

namespace lfc::tcp {

bool EpollSet::open() noexcept {
  set_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  return set_ && timer_.open() && watch(timer_.fd(), &timer_, EPOLLIN);
}

bool EpollSet::watch(int fd, void* what, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = what;
  return ::epoll_ctl(set_.fd(), EPOLL_CTL_MOD, fd, &event) == 0 ||
         ::epoll_ctl(set_.fd(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool EpollSet::forget(int fd) noexcept {
  return ::epoll_ctl(set_.fd(), EPOLL_CTL_DEL, fd, nullptr) == 0;
}

std::span<const epoll_event> EpollSet::ready(Found& found) noexcept {
  const int count = ::epoll_wait(set_.fd(), found.data(), static_cast<int>(found.size()), 0);
  return std::span(found).first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

}  // namespace lfc::tcp
