#include "app/broadcast.hpp"

#include "app/job.hpp"

namespace app {

const std::vector<std::string> kForwarding = {"mpi", "host"};

void broadcast(void* data, int count, MPI_Datatype type, int root, bool host) {
  if (!host) {
    MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
    return;
  }
  constexpr int kTag = 77;
  const int place = (rank - root + ranks) % ranks;
  int bit = 1;
  while (bit < ranks && (place & bit) == 0) bit <<= 1;
  if (place != 0)
    MPI_Recv(data, count, type, (place - bit + root) % ranks, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (place + bit < ranks)
      MPI_Send(data, count, type, (place + bit + root) % ranks, kTag, MPI_COMM_WORLD);
}

}  // namespace app
