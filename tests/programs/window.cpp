#include "window.hpp"

#include <cstdint>
#include <cstring>

#include "watch.hpp"

namespace programs {

std::string Window::text(std::size_t slice) const {
  const char* const flavors[] = {"created", "allocated", "shared", "dynamic"};
  return std::string(flavors[flavor]) + " window of " + std::to_string(slice) + " bytes each";
}

void Window::make(World& world, std::size_t bytes) {
  watch_call("makes a window");
  const MPI_Aint size = static_cast<MPI_Aint>(bytes);
  if (flavor == kAllocate) {
    MPI_Win_allocate(size, unit, MPI_INFO_NULL, world.all.comm, &memory, &win);
  } else if (flavor == kShared) {
    MPI_Win_allocate_shared(size, unit, MPI_INFO_NULL, world.all.comm, &memory, &win);
  } else {
    own_.resize(bytes + 16);
    memory = own_.data() + (16 - reinterpret_cast<std::uintptr_t>(own_.data()) % 16);
  }
  std::memset(memory, 0, bytes);
  if (flavor == kCreate) MPI_Win_create(memory, size, unit, MPI_INFO_NULL, world.all.comm, &win);
  if (flavor == kDynamic) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, world.all.comm, &win);
    MPI_Aint base;
    MPI_Get_address(memory, &base);
    bases_.resize(world.all.members.size());
    MPI_Allgather(&base, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, world.all.comm);
  }
  watch_window(win);
}

MPI_Aint Window::displacement(int target, std::size_t at) const {
  const MPI_Aint from = static_cast<MPI_Aint>(at);
  return flavor == kDynamic ? bases_[static_cast<std::size_t>(target)] + from : from / unit;
}

void Window::check(World& world, const std::vector<char>& should, std::size_t slice) const {
  watch_call("looks at its window");
  const int rank = world.all.rank_of(world.me);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  MPI_Win_sync(win);
  for (std::size_t at = 0; at < should.size(); ++at)
    if (memory[at] != should[at])
      fail("byte %zu of the slice of %zu is %02x, not %02x", at % slice, at / slice,
           static_cast<unsigned char>(memory[at]), static_cast<unsigned char>(should[at]));
  world.note(memory, should.size(), slice);
  MPI_Win_unlock(rank, win);
}

void Window::free() {
  watch_call("MPI_Win_free");
  MPI_Win_free(&win);
  own_.clear();
}

}  // namespace programs
