/* Two ranks that are always inside MPI are left alone by their NI threads: 10^6 messages, no wake-up.
 *
 *   mpirun -n 2 --bind-to core --mca btl lfc --mca btl_lfc_policy floating mpi_polling [--messages N] [--most M]
 *
 * Counted by LFC's performance variables between two barriers. On a machine with other load, the
 * kernel takes a rank off its processor for longer than the delay now and then. LFC then treats the
 * rank as away, and --most is the number of wake-ups that is tolerated (0). */
#include "../check.h"
#include "../variables.h"

static void ping_pong(long rounds) {
  int64_t number = 0;
  for (long i = 0; i < rounds; ++i) {
    number = i;
    if (me == 0) MPI_Send(&number, 1, MPI_INT64_T, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&number, 1, MPI_INT64_T, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(&number, 1, MPI_INT64_T, 0, 1, MPI_COMM_WORLD);
    require(number == i, "%lld, not %ld", (long long)number, i);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  const long messages = option(argc, argv, "--messages", 1000000);
  const long most = option(argc, argv, "--most", 0);
  require(ranks == 2, "needs 2 ranks");
  open_variables();
  MPI_T_pvar_handle wakeups = variable_called("btl_lfc_thread_wakeups");
  MPI_T_pvar_handle turns = variable_called("btl_lfc_thread_turns");
  ping_pong(10000);
  const unsigned long long before[2] = {read_variable(wakeups), read_variable(turns)};
  ping_pong(messages / 2);
  unsigned long long counts[2] = {read_variable(wakeups) - before[0],
                                  read_variable(turns) - before[1]};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0)
    printf("%ld messages: %llu wake-ups, %llu turns of the NI threads\n", messages, counts[0],
           counts[1]);
  require(counts[0] <= (unsigned long long)most && counts[1] <= (unsigned long long)most,
          "more than %ld", most);
  close_variables();
  return check_end();
}
