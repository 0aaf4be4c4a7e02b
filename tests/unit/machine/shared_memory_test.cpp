// Memory shared with local peers. It works, and each check rejects memory that differs from its maker's description.
#include "machine/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "catch.hpp"
#include "machine/local_peer.hpp"

namespace lfc {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

SharedMemoryName with(SharedMemoryName name, const FileDescriptor& file) {
  name.fd = static_cast<std::uint32_t>(file.get());
  return name;
}

// Like with(), and the inode and device are true, as a malicious maker would publish them.
SharedMemoryName with_facts(SharedMemoryName name, const FileDescriptor& file) {
  struct stat facts {};
  REQUIRE(fstat(file.get(), &facts) == 0);
  name.device = facts.st_dev;
  name.inode = facts.st_ino;
  return with(name, file);
}

// A file of `size` bytes with the same name as that memory.
FileDescriptor namesake(const SharedMemoryName& name, std::size_t size, int seals) {
  std::string target = target_of(name.pid, static_cast<int>(name.fd));
  REQUIRE(target.starts_with("/memfd:lfc-"));
  target = target.substr(std::strlen("/memfd:"), std::strlen("lfc-") + 32);
  FileDescriptor file(memfd_create(target.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(file.get(), static_cast<off_t>(size)) == 0);
  REQUIRE(fcntl(file.get(), F_ADD_SEALS, seals) == 0);
  return file;
}

std::string why_not_open(const SharedMemoryName& name) {
  std::string why_not;
  if (SharedMemory::open(name, why_not)) return "it is open";
  CHECK_FALSE(SharedFile::open(name, why_not));
  return why_not;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("shared memory: a limit of file sizes is reported, and ends no process", "[machine]") {
  std::string why_not;
  auto small = SharedFile::create(4096, why_not);
  REQUIRE(small);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 8192;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
  const bool created = SharedMemory::create(8193, why_not).has_value();
  const bool grew = small->grow(8193), fits = small->grow(8192);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(created);
  CHECK(why_not == "memfd of 8193 bytes: File too large (ulimit -f)");
  CHECK_FALSE(grew);
  CHECK(fits);
}

TEST_CASE("shared memory: another process sees and changes the same bytes", "[machine]") {
  std::string why_not;
  auto own = SharedMemory::create(10'000, why_not);
  REQUIRE(own);
  CHECK(own->size() == 10'000);
  own->data()[9'999] = std::byte{7};
  const pid_t child = fork();
  if (child == 0) {
    auto theirs = SharedMemory::open(own->name(), why_not);
    if (!theirs || theirs->data()[9'999] != std::byte{7}) _exit(1);
    theirs->data()[0] = std::byte{8};
    _exit(0);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(own->data()[0] == std::byte{8});
  own->close();
  CHECK(contains(why_not_open(own->name()), "/proc/"));
  CHECK(own->data()[0] == std::byte{8});
}

TEST_CASE("shared memory: parts of a file that grows", "[machine]") {
  std::string why_not;
  auto own = SharedFile::create(4096, why_not);
  REQUIRE(own);
  auto theirs = SharedFile::open(own->name(), why_not);
  REQUIRE(theirs);
  CHECK_FALSE(theirs->map(4096, 4096).is_open());
  REQUIRE(own->grow(8192));
  const Mapping here = own->map(4096, 4096);
  const Mapping there = theirs->map(4096, 4096);
  REQUIRE((here.is_open() && there.is_open()));
  here.data()[5] = std::byte{1};
  CHECK(there.data()[5] == std::byte{1});
  CHECK(own->used() >= 4096);
  REQUIRE(own->discard(4096, 4096));
  CHECK(there.data()[5] == std::byte{0});
  CHECK(own->grow(100));  // it is longer already, and stays so
  CHECK(own->map(4096, 4096).is_open());
  // Sealed, so no access can fault.
  CHECK(ftruncate(static_cast<int>(own->name().fd), 4096) != 0);
  CHECK(errno == EPERM);
  CHECK_FALSE(own->map(8000, SIZE_MAX).is_open());
}

TEST_CASE("shared memory: none is not opened", "[machine]") {
  CHECK(why_not_open({}) == "there is none");
}

TEST_CASE("shared memory: no such process or descriptor", "[machine]") {
  std::string why_not;
  SharedMemoryName name = SharedMemory::create(100, why_not)->name();  // it is closed already
  CHECK(contains(why_not_open(name), "/proc/"));
  name.fd = 9999;
  CHECK(contains(why_not_open(name), "No such file"));
  name.pid = 0x7ffffff0;
  CHECK(contains(why_not_open(name), "No such file"));
}

TEST_CASE("shared memory: a FIFO or a device is looked at and not opened", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(100, why_not);
  std::string path = "/tmp/lfc-fifo-XXXXXX";
  REQUIRE(mkdtemp(path.data()) != nullptr);
  const std::string fifo_path = path + "/fifo";
  REQUIRE(mkfifo(fifo_path.c_str(), 0600) == 0);
  const FileDescriptor fifo(open(fifo_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const FileDescriptor device(open("/dev/null", O_RDWR | O_CLOEXEC));
  REQUIRE((fifo.is_open() && device.is_open()));
  CHECK(contains(why_not_open(with_facts(own->name(), fifo)), "not /memfd:lfc-"));
  CHECK(contains(why_not_open(with_facts(own->name(), device)), "not /memfd:lfc-"));
  // Nor is a memfd of another library accepted.
  const FileDescriptor foreign(memfd_create("other", MFD_CLOEXEC));
  CHECK(contains(why_not_open(with_facts(own->name(), foreign)), "not /memfd:lfc-"));
  unlink(fifo_path.c_str());
  rmdir(path.c_str());
}

TEST_CASE("shared memory: a wrong cookie", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(100, why_not);
  for (const int half : {0, 1}) {
    SharedMemoryName name = own->name();
    ++name.cookie[static_cast<std::size_t>(half)];
    CHECK(contains(why_not_open(name), "cookie"));
  }
}

TEST_CASE("shared memory: another inode or device of the same name", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(100, why_not);
  const FileDescriptor other = namesake(own->name(), 100, kSeals);
  CHECK(contains(why_not_open(with(own->name(), other)), "another file"));
  SharedMemoryName name = own->name();
  ++name.device;
  CHECK(contains(why_not_open(name), "another file"));
}

TEST_CASE("shared memory: one that is shorter than it should be", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(5000, why_not);
  const FileDescriptor truncated = namesake(own->name(), 4999, kSeals);
  CHECK(contains(why_not_open(with_facts(own->name(), truncated)), "shorter"));
}

TEST_CASE("shared memory: one that could shrink", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(100, why_not);
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL}) {
    const FileDescriptor unsealed = namesake(own->name(), 100, seals);
    CHECK(contains(why_not_open(with_facts(own->name(), unsealed)), "shrink"));
  }
  const FileDescriptor sealed = namesake(own->name(), 100, kSeals | F_SEAL_GROW);
  CHECK(why_not_open(with_facts(own->name(), sealed)) == "it is open");
}

TEST_CASE("shared memory: one of another user", "[machine]") {
  std::string why_not;
  const auto own = SharedMemory::create(100, why_not);
  const FileDescriptor given = namesake(own->name(), 100, kSeals);
  if (fchown(given.get(), 4711, static_cast<gid_t>(-1)) != 0) {
    std::printf("shared memory: not root, so that no file can be given to another user\n");
    return;
  }
  CHECK(contains(why_not_open(with_facts(own->name(), given)), "another user (4711)"));
}

TEST_CASE("local peers are on one node, see each other's process ids, and are one user's",
          "[machine]") {
  std::string why_not;
  const auto own = own_space(why_not);
  REQUIRE(own);
  CHECK(own->boot == boot_hash());
  CHECK(is_local_peer(*own, *own, why_not));
  const auto refused = [&](auto change) {
    ProcessSpace other = *own;
    change(other);
    CHECK_FALSE(is_local_peer(*own, other, why_not));
    return why_not;
  };
  CHECK(refused([](ProcessSpace& other) { ++other.boot; }) == "on another node");
  CHECK(contains(refused([](ProcessSpace& other) { ++other.pid_namespace, ++other.net_namespace; }),
                 "in another pid namespace"));
  CHECK(contains(refused([](ProcessSpace& other) { ++other.user; }), "another user"));
  CHECK_FALSE(is_local_peer({}, {}, why_not));
}

}  // namespace lfc
