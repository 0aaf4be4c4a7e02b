#include "native.hpp"

#include <dlfcn.h>

namespace lfc::neon {

namespace {

const Native* find_native() {
  return static_cast<const Native*>(dlsym(RTLD_DEFAULT, kNativeSymbol));
}

}  // namespace

MPI_Comm native_communicator(MPI_Win win) {
  const Native* native = find_native();
  return native != nullptr ? native->communicator(win) : MPI_COMM_NULL;
}

std::unique_ptr<Endpoint> open_native(MPI_Win win, MPI_Comm comm, const Exposure& memory) {
  const Native* native = find_native();
  int here = native != nullptr && native->serves(win) ? 1 : 0;
  int everywhere = 0;
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  if (everywhere == 0) return nullptr;
  std::unique_ptr<Endpoint> made(native->open(win, comm, memory));
  here = made != nullptr ? 1 : 0;
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  if (everywhere == 0) made.reset();
  return made;
}

}  // namespace lfc::neon
