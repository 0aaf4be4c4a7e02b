/* Two ranks that are always inside MPI are left alone by their NI threads: 10^6 messages, no wake-up.
 *
 *   mpirun -n 2 --bind-to core --mca btl lfc --mca btl_lfc_policy floating mpi_polling [--messages N] [--most M]
 *
 * Counted by LFC's performance variables between two barriers. On a machine with other load, the
 * kernel takes a rank off its processor for longer than the delay now and then. LFC then treats the
 * rank as away, and --most is the number of wake-ups that is tolerated (0). */
#include "../check.h"

static MPI_T_pvar_session session;

static MPI_T_pvar_handle counter_called(const char* wanted) {
  int count = 0;
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    char name[256];
    int length = sizeof name;
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, NULL, NULL, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS ||
        strcmp(name, wanted) != 0)
      continue;
    MPI_T_pvar_handle handle;
    int elements = 0;
    require(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements) == MPI_SUCCESS, "%s",
            name);
    if (!continuous) MPI_T_pvar_start(session, handle);
    return handle;
  }
  fail("no performance variable %s", wanted);
}

static unsigned long long read_counter(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  require(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
  return value;
}

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
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle wakeups = counter_called("btl_lfc_thread_wakeups");
  MPI_T_pvar_handle turns = counter_called("btl_lfc_thread_turns");
  ping_pong(10000);
  const unsigned long long before[2] = {read_counter(wakeups), read_counter(turns)};
  ping_pong(messages / 2);
  unsigned long long counts[2] = {read_counter(wakeups) - before[0],
                                  read_counter(turns) - before[1]};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0)
    printf("%ld messages: %llu wake-ups, %llu turns of the NI threads\n", messages, counts[0],
           counts[1]);
  require(counts[0] <= (unsigned long long)most && counts[1] <= (unsigned long long)most,
          "more than %ld", most);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return check_end();
}
