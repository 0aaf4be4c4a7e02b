#include "link/shm/calibration.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <thread>
#include <vector>

#include "link/ring.hpp"
#include "link/shm/segment.hpp"
#include "machine/cma.hpp"

namespace lfc {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kFragment = 64 * 1024;
constexpr std::size_t kLong = 1024 * 1024;  // what is moved in one run
constexpr std::chrono::microseconds kAtFirstUse = 3ms;
constexpr auto kPatience = 20ms;  // for another process that measures
constexpr auto kLockLife = 10s;   // a lock older than this was left behind

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept {
    ::operator delete (memory, std::align_val_t{kRingAlignment});
  }
};
using Memory = std::unique_ptr<std::byte, FreeAligned>;

Memory make_memory(std::size_t size) {
  Memory memory(static_cast<std::byte*>(::operator new (size, std::align_val_t{kRingAlignment})));
  std::memset(memory.get(), 0, size);
  return memory;
}

// Lets the calling thread run anywhere but where it is now; false when there is no other core.
bool leave_core(int core) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (i != core) CPU_SET(static_cast<std::size_t>(i), &others);
  return sched_setaffinity(0, sizeof others, &others) == 0;
}

// The copies through a ring of the default shape.
class RingCopy {
 public:
  RingCopy(const std::byte* source, std::byte* target)
      : memory_(make_memory(RingShape{}.bytes())),
        source_(source),
        target_(target),
        writer_(memory_.get(), RingShape{}),
        reader_(memory_.get(), RingShape{}) {}

  // False: the ring is full.
  bool write(std::size_t at) {
    const Slice slice{source_ + at, kFragment};
    return writer_.send({FrameType::message}, &slice, 1) == SendStatus::sent;
  }
  // False: the ring is empty.
  bool read(std::size_t at) {
    RingFrame frame;
    if (reader_.peek(frame) != RingReader::Peek::frame) return false;
    std::memcpy(target_ + at, frame.payload.data(), frame.payload.size());
    reader_.pop();
    return true;
  }
  // ns for one fragment, in and out, one after the other.
  double one_by_one() {
    const auto begin = Clock::now();
    for (std::size_t at = 0; at < kLong; at += kFragment) {
      write(at);
      read(at);
    }
    return nanoseconds_since(begin) * kFragment / kLong;
  }

 private:
  Memory memory_;
  const std::byte* source_;
  std::byte* target_;
  RingWriter writer_;
  RingReader reader_;
};

void keep_least(double& least, double value) {
  if (least <= 0 || value < least) least = value;
}

// A ring with a second thread, on another core, as its reader.
class Pipeline {
 public:
  Pipeline(const std::byte* source, std::byte* target)
      : copy_(source, target), reader_([this, core = sched_getcpu()] { read(core); }) {}
  ~Pipeline() {
    stop_.store(true, std::memory_order_relaxed);
    reader_.join();
  }

  bool one_core() const noexcept { return place_.load(std::memory_order_relaxed) == Place::same; }
  // ns per fragment in the best stretch of kLong bytes. 0: there is no second core, or hardly a
  // stretch was like the best: then the two threads did not run at the same time.
  double stream_until(Clock::time_point deadline) {
    constexpr std::size_t kStretch = kLong / kFragment;
    std::vector<double> stretches;
    std::size_t fragments = 0;
    auto begin = Clock::now();
    for (auto now = begin; now < deadline; now = Clock::now()) {
      const Place place = place_.load(std::memory_order_relaxed);
      if (place == Place::same) return 0;
      if (place == Place::unknown || !copy_.write(fragments % kStretch * kFragment)) continue;
      if (++fragments % kStretch != 0) continue;
      // The first ones only fill the ring.
      if (fragments > kStretch) stretches.push_back(nanoseconds_since(begin) / kStretch);
      begin = Clock::now();
    }
    if (stretches.size() < kAlike) return 0;
    std::sort(stretches.begin(), stretches.end());
    return stretches[kAlike - 1] < 1.25 * stretches[0] ? stretches[0] : 0;
  }

 private:
  static constexpr std::size_t kAlike = 3;
  enum class Place : std::uint8_t { unknown, other, same };

  void read(int core) {
    place_.store(leave_core(core) ? Place::other : Place::same, std::memory_order_relaxed);
    for (std::size_t at = 0; !stop_.load(std::memory_order_relaxed);)
      if (copy_.read(at)) at = (at + kFragment) % kLong;
  }

  RingCopy copy_;
  std::atomic<Place> place_{Place::unknown};
  std::atomic<bool> stop_{false};
  std::thread reader_;
};

void measure_ring(Calibration& out, const std::byte* source, std::byte* target,
                  Clock::time_point deadline) {
  double in_and_out = 0;
  {
    RingCopy alone(source, target);
    for (int i = 0; i < 2; ++i) keep_least(in_and_out, alone.one_by_one());
  }
  double overlapped = 0;
  bool one_core = false;
  {
    Pipeline pipeline(source, target);
    overlapped = pipeline.stream_until(deadline);
    one_core = pipeline.one_core();
  }
  out.disturbed = !one_core && overlapped <= 0;
  if (overlapped <= 0) overlapped = in_and_out;
  out.ring_ns_per_byte = overlapped / kFragment;
  out.ring_ns_start = overlapped;
}

void measure_cma(Calibration& out, const std::byte* source, std::byte* target,
                 Clock::time_point deadline) {
  const auto time = [&](std::size_t size) {
    const auto begin = Clock::now();
    const bool done = cma_read(static_cast<std::uint32_t>(getpid()), target,
                               reinterpret_cast<std::uintptr_t>(source), size);
    return done ? nanoseconds_since(begin) : HUGE_VAL;
  };
  double small = 0;
  double large = 0;
  for (int i = 0; i < 2 || (i < 64 && Clock::now() < deadline); ++i) {
    keep_least(small, time(kFragment));
    keep_least(large, time(kLong));
  }
  out.cma_ns_per_byte = std::max(0.0, (large - small) / (kLong - kFragment));
  out.cma_ns_start = std::max(0.0, small - out.cma_ns_per_byte * kFragment);
  if (!std::isfinite(large)) out.cma_ns_per_byte = HUGE_VAL;
}

// What the figures hold for: they are not believed elsewhere.
std::string machine() {
  std::string processor = "unknown";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name") && !line.starts_with("CPU part")) continue;
    processor = line.substr(line.find(':') + 1);
    break;
  }
  utsname kernel{};
  uname(&kernel);
  return processor + " x " + std::to_string(std::thread::hardware_concurrency()) + ", " +
         kernel.release;
}

constexpr const char* kFirstLine = "lfc calibration 1";

}  // namespace

std::size_t crossover(const Calibration& measured) noexcept {
  const double gained = measured.ring_ns_per_byte - measured.cma_ns_per_byte;
  if (!(gained > 0)) return Calibration::kNever;
  const double from = (measured.cma_ns_start - measured.ring_ns_start) / gained;
  if (from >= 1e15) return Calibration::kNever;
  return from <= 1 ? 1 : static_cast<std::size_t>(from);
}

Calibration measure_copies(std::chrono::microseconds budget) {
  const auto begin = Clock::now();
  const Memory source = make_memory(kLong);
  const Memory target = make_memory(kLong);
  Calibration out;
  measure_cma(out, source.get(), target.get(), begin + budget / 2);
  measure_ring(out, source.get(), target.get(), begin + budget);
  out.single_copy_from = crossover(out);
  out.how = out.disturbed ? "estimated now, the machine is busy" : "measured now";
  return out;
}

std::string calibration_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string directory;
  if (cache != nullptr && *cache == '/') {
    directory = cache;
  } else if (home != nullptr && *home == '/') {
    directory = std::string(home) + "/.cache";
  } else {
    return {};
  }
  utsname host{};
  uname(&host);
  return directory + "/lfc/shm-" + host.nodename;
}

std::optional<Calibration> load_calibration(const std::string& file) {
  std::ifstream in(file);
  std::string first;
  std::string where;
  if (!std::getline(in, first) || first != kFirstLine || !std::getline(in, where) ||
      where != machine())
    return std::nullopt;
  Calibration out;
  const auto read = [&in](const char* name, double& value) {
    std::string key;
    return in >> key >> value && key == name && std::isfinite(value) && value >= 0;
  };
  if (!read("ring_ns_per_byte", out.ring_ns_per_byte) ||
      !read("ring_ns_start", out.ring_ns_start) || !read("cma_ns_per_byte", out.cma_ns_per_byte) ||
      !read("cma_ns_start", out.cma_ns_start))
    return std::nullopt;
  out.single_copy_from = crossover(out);
  out.how = "measured before, " + file;
  return out;
}

bool store_calibration(const std::string& file, const Calibration& calibration) {
  if (calibration.disturbed || !std::isfinite(calibration.cma_ns_per_byte)) return false;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  const std::string draft = file + "." + std::to_string(getpid());
  {
    std::ofstream out(draft);
    out << kFirstLine << '\n'
        << machine() << '\n'
        << "ring_ns_per_byte " << calibration.ring_ns_per_byte << '\n'
        << "ring_ns_start " << calibration.ring_ns_start << '\n'
        << "cma_ns_per_byte " << calibration.cma_ns_per_byte << '\n'
        << "cma_ns_start " << calibration.cma_ns_start << '\n';
    out.flush();
    if (!out) {
      std::filesystem::remove(draft, error);
      return false;
    }
  }
  std::filesystem::rename(draft, file, error);
  return !error;
}

namespace {

// Whoever makes the lock file measures. Gone with its owner, or too old to be believed.
class MeasuringLock {
 public:
  explicit MeasuringLock(std::string file) : file_(std::move(file)) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path(), error);
    const auto made = std::filesystem::last_write_time(file_, error);
    if (!error && std::filesystem::file_time_type::clock::now() - made > kLockLife)
      std::filesystem::remove(file_, error);
    const FileDescriptor fd(open(file_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    held_ = fd.is_open();
    taken_ = !held_ && errno == EEXIST;
  }
  ~MeasuringLock() {
    std::error_code error;
    if (held_) std::filesystem::remove(file_, error);
  }
  MeasuringLock(const MeasuringLock&) = delete;
  MeasuringLock& operator=(const MeasuringLock&) = delete;
  bool taken_by_another() const noexcept { return taken_; }

 private:
  std::string file_;
  bool held_ = false;
  bool taken_ = false;
};

Calibration find_out() {
  const std::string file = calibration_file();
  if (file.empty()) return measure_copies(kAtFirstUse);
  if (auto stored = load_calibration(file)) return *stored;
  const MeasuringLock lock(file + ".lock");
  const auto deadline = Clock::now() + kPatience;
  while (lock.taken_by_another() && Clock::now() < deadline) {
    std::this_thread::sleep_for(200us);
    if (auto stored = load_calibration(file)) return *stored;
    if (!std::filesystem::exists(file + ".lock")) break;  // nothing came of it
  }
  Calibration out = measure_copies(kAtFirstUse);
  if (!lock.taken_by_another() && store_calibration(file, out)) out.how += ", kept in " + file;
  return out;
}

}  // namespace

Calibration calibrate() noexcept try { return find_out(); } catch (const std::exception& failure) {
  Calibration nothing;  // no thread, no memory: then no choice either
  nothing.how = std::string("could not be measured: ") + failure.what();
  return nothing;
}

}  // namespace lfc
