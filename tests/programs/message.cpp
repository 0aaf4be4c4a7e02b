#include "message.hpp"

#include "watch.hpp"

namespace programs {

BlockingSend blocking_send(Send how) {
  return how == Send::kSynchronous ? MPI_Ssend
         : how == Send::kBuffered  ? MPI_Bsend
         : how == Send::kReady     ? MPI_Rsend
                                   : MPI_Send;
}

NonblockingSend nonblocking_send(Send how) {
  return how == Send::kSynchronous ? MPI_Issend
         : how == Send::kBuffered  ? MPI_Ibsend
         : how == Send::kReady     ? MPI_Irsend
                                   : MPI_Isend;
}

void check(World& world, const Message& m, const std::vector<char>& memory, const Layout& layout) {
  const std::vector<char> packed = contents(m.key, layout.packed());
  const std::ptrdiff_t wrong = first_difference(memory, spread(layout, packed));
  if (wrong >= 0)
    fail("message %s from %d with tag %d: byte %td is wrong", layout.text().c_str(), m.from, m.tag,
         wrong);
  world.note(packed.data(), packed.size(), m.key);
}

void check_any(World& world, const Message& m, std::vector<char>& memory) {
  const Layout got = contiguous(m.there.element, m.there.total);
  for (std::size_t at = got.bytes(); at < memory.size(); ++at)
    if (memory[at] != kMark)
      fail("message from %d with tag %d wrote behind its end", m.from, m.tag);
  memory.resize(got.bytes() + 8);
  check(world, m, memory, got);
}

}  // namespace programs
