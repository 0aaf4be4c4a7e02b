#include "machine/hand_over.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>

#include "base/errors.hpp"
#include "base/lasting.hpp"

namespace lfc::hand_over {
namespace {

using std::chrono::steady_clock;

constexpr auto kLongestWait = std::chrono::seconds(5);
constexpr timeval kReplyTimeout{2, 0};  // a reply takes microseconds

// The memory that peers may request from this process.
struct Offers {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<const FileDescriptor>> files;
  std::uint64_t process = 0;  // first word of all its cookies
  pid_t of = 0;               // after a fork all of it is the parent's
  bool served = false;
};

// With its mutex held. False: the kernel has no random numbers.
bool renew_after_fork(Offers& offers) noexcept {
  if (offers.of == ::getpid()) return true;
  if (::getrandom(&offers.process, sizeof offers.process, 0) != sizeof offers.process) return false;
  offers.files.clear();
  offers.served = false;
  offers.of = ::getpid();
  return true;
}

Offers& of_process() {
  static Lasting<Offers> only;
  return *only;
}

// In no folder, because the first byte is 0.
struct SocketName {
  explicit SocketName(std::uint64_t process) noexcept {
    address.sun_family = AF_UNIX;
    const int length =
        std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "lfc-memory-%016llx",
                      static_cast<unsigned long long>(process));
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  static_cast<std::size_t>(length));
  }
  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

// Compares numbers as this process sees them. The kernel's user 65534 stands for all users without a number here; such
// a user must still know the cookie.
bool is_same_user(const FileDescriptor& connection, ucred& peer) noexcept {
  socklen_t size = sizeof peer;
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

void limit_waiting(const FileDescriptor& connection) noexcept {
  (void)::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kReplyTimeout,
                     sizeof kReplyTimeout);
  (void)::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kReplyTimeout,
                     sizeof kReplyTimeout);
}

// A message with room for two descriptors beside it.
struct Parcel {
  Parcel() noexcept {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
  }

  char sent = 1;
  iovec bytes{&sent, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))]{};
  msghdr message{};
};

// --- The owner ---

std::shared_ptr<const FileDescriptor> find(const Cookie& cookie) {
  Offers& offers = of_process();
  const std::lock_guard guard(offers.mutex);
  const auto found = offers.files.find(cookie[1]);
  return found != offers.files.end() && cookie[0] == offers.process ? found->second.lock()
                                                                    : nullptr;
}

void reply(const FileDescriptor& connection) {
  Cookie cookie{};
  ucred peer{};
  if (!is_same_user(connection, peer)) return;
  limit_waiting(connection);
  if (::recv(connection.get(), cookie.data(), sizeof cookie, 0) != sizeof cookie) return;
  const std::shared_ptr<const FileDescriptor> file = find(cookie);
  if (file == nullptr) return;
  const FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const int both[2] = {file->get(), process.get()};
  const std::size_t size = (process.is_open() ? 2 : 1) * sizeof(int);
  Parcel parcel;
  cmsghdr* const head = CMSG_FIRSTHDR(&parcel.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(head), both, size);
  parcel.message.msg_controllen = CMSG_SPACE(size);
  (void)::sendmsg(connection.get(), &parcel.message,
                  MSG_NOSIGNAL);  // a requester that does not wait gets nothing
}

void serve_at(const FileDescriptor& listener) {
  for (;;) {
    const FileDescriptor connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.is_open())
      reply(connection);
    else if (errno != EINTR && errno != ECONNABORTED)
      std::this_thread::sleep_for(
          std::chrono::milliseconds(10));  // no descriptor: other threads will close some
  }
}

// Starts the thread with all signals blocked.
void start_thread(FileDescriptor listener) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([own = std::move(listener)] { serve_at(own); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// --- The requester ---

bool serves() {
  Offers& offers = of_process();
  const std::lock_guard guard(offers.mutex);
  return offers.served && offers.of == ::getpid();
}

FileDescriptor connect_to(std::uint64_t process, bool patient) noexcept {
  const SocketName name(process);
  for (const auto end = steady_clock::now() + kLongestWait;;) {
    FileDescriptor connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!connection.is_open()) return connection;
    limit_waiting(connection);
    if (::connect(connection.get(), name.data(), name.size) == 0) return connection;
    if (!patient || errno != ECONNREFUSED || steady_clock::now() > end) return FileDescriptor();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Handed take_out(msghdr& message) noexcept {
  Handed handed;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
    return handed;
  int got[2] = {-1, -1};
  const std::size_t size = head->cmsg_len - CMSG_LEN(0);
  std::memcpy(got, CMSG_DATA(head), std::min(size, sizeof got));
  handed.memory = FileDescriptor(got[0]);
  handed.process = FileDescriptor(got[1]);
  return handed;
}

}  // namespace

Cookie new_cookie() noexcept {
  Offers& offers = of_process();
  const std::lock_guard guard(offers.mutex);
  Cookie cookie{};
  if (!renew_after_fork(offers) || ::getrandom(&cookie[1], sizeof cookie[1], 0) != sizeof cookie[1])
    return {};
  cookie[0] = offers.process;
  return cookie;
}

void offer(const Cookie& cookie, const std::shared_ptr<const FileDescriptor>& file) {
  Offers& offers = of_process();
  const std::lock_guard guard(offers.mutex);
  std::erase_if(offers.files, [](const auto& entry) { return entry.second.expired(); });
  offers.files[cookie[1]] = file;
}

bool serve() noexcept try {
  Offers& offers = of_process();
  const std::lock_guard guard(offers.mutex);
  if (!renew_after_fork(offers)) return false;
  if (offers.served) return true;
  FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const SocketName name(offers.process);
  if (!listener.is_open() || ::bind(listener.get(), name.data(), name.size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0)
    return false;
  start_thread(std::move(listener));
  return offers.served = true;
} catch (const std::exception&) {
  return false;  // no thread can be started
}

Handed request(const Cookie& cookie, std::string& why_not) {
  const bool patient = serves();
  const FileDescriptor connection = connect_to(cookie[0], patient);
  why_not.clear();
  if (!connection.is_open()) {
    if (patient || errno != ECONNREFUSED) why_not = with_errno("no process hands it over");
    return {};
  }
  ucred owner{};
  if (!is_same_user(connection, owner)) {
    why_not = "belongs to another user";
    return {};
  }
  Parcel parcel;
  ssize_t size = ::send(connection.get(), cookie.data(), sizeof cookie, MSG_NOSIGNAL);
  while (size > 0 && (size = ::recvmsg(connection.get(), &parcel.message, MSG_CMSG_CLOEXEC)) < 0 &&
         errno == EINTR)
    size = 1;
  Handed handed = size > 0 ? take_out(parcel.message) : Handed{};
  handed.pid = static_cast<std::uint32_t>(owner.pid);
  if (!handed.memory.is_open())
    why_not = size < 0 ? with_errno("is not handed over")
              : (parcel.message.msg_flags & MSG_CTRUNC) != 0
                  ? with_errno("is not handed over", EMFILE)
                  : "is not handed over: there is none";
  return handed;
}

}  // namespace lfc::hand_over
