// Collectives that cannot end: on a communicator that a rank revokes while the others wait for it, and on one of which
// a rank is killed. Each of them, blocking, nonblocking or persistent, must fail with the right class of error. It must
// not write to its buffer afterwards. The ranks must be able to go on with a communicator of those that are left.
//
//   ulfm_collectives                    # three ranks or more; mpirun --with-ft ulfm
//   ulfm_collectives --calls 4          # only those that LFC serves in all forms between nodes
#include "survivors.h"

enum { kMost = 256 * 1024, kMark = 0x5a, kForms = 3, kPending = 4 };

// The rank that comes late has the lowest or the highest number, and the others wait for it.
typedef int call_of(MPI_Comm comm, char* in, char* out, int count, int late, MPI_Request* request,
                    int form);

static const char* const forms[kForms] = {"blocking", "nonblocking", "persistent"};

// FORM(allreduce, (arguments)): the call in one of its forms.
#define CALL(name, Name, ...)                                                                    \
  static int name(MPI_Comm comm, char* in, char* out, int count, int late, MPI_Request* request, \
                  int form) {                                                                    \
    (void)in, (void)out, (void)count, (void)late;                                                \
    switch (form) {                                                                              \
      case 0: return MPI_##Name(__VA_ARGS__);                                                    \
      case 1: return MPI_I##name(__VA_ARGS__, request);                                          \
      default: return MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);                    \
    }                                                                                            \
  }
CALL(barrier, Barrier, comm)
CALL(bcast, Bcast, out, count, MPI_CHAR, late, comm)
CALL(allreduce, Allreduce, in, out, count, MPI_SIGNED_CHAR, MPI_MAX, comm)
CALL(reduce, Reduce, in, out, count, MPI_SIGNED_CHAR, MPI_MAX, ranks - 1 - late, comm)
CALL(allgather, Allgather, in, count / ranks, MPI_CHAR, out, count / ranks, MPI_CHAR, comm)
CALL(alltoall, Alltoall, in, count / ranks, MPI_CHAR, out, count / ranks, MPI_CHAR, comm)
CALL(scatter, Scatter, in, count / ranks, MPI_CHAR, out, count / ranks, MPI_CHAR, late, comm)

// `all`: each rank but the late one waits for it; otherwise only the rank at the other end does.
static const struct {
  const char* name;
  call_of* call;
  bool all;
} calls[] = {{"barrier", barrier, true},     {"bcast", bcast, true},
             {"allreduce", allreduce, true}, {"reduce", reduce, false},
             {"allgather", allgather, true}, {"alltoall", alltoall, true},
             {"scatter", scatter, true}};
static int chosen = sizeof calls / sizeof *calls;

static char *in, *out;

// Returns the result of the call that waits.
static int run(call_of* call, MPI_Comm comm, int count, int late, int form) {
  MPI_Request request = MPI_REQUEST_NULL;
  int result = call(comm, in, out, count, late, &request, form);
  if (form == 2 && result == MPI_SUCCESS) result = MPI_Start(&request);
  if (form == 0 || result != MPI_SUCCESS) return result;
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_dup(comm, &made) == MPI_SUCCESS, "no duplicate");
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

// A persistent call needs all ranks to make it, so the late rank makes it and starts it too late.
static void require_revoked(int which, int form, int count, int late) {
  char what[128];
  snprintf(what, sizeof what, "%s %s of %d bytes, late rank %d", forms[form], calls[which].name,
           count, late);
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == 2)
    require(calls[which].call(comm, in, out, count, late, &request, form) == MPI_SUCCESS,
            "%s: not made", what);
  doing("%s", what);
  int result = MPI_SUCCESS;
  if (me == late) {
    pause_seconds(0.01);
    MPIX_Comm_revoke(comm);
  }
  if (form == 2) {
    result = MPI_Start(&request);
    if (result == MPI_SUCCESS) result = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    result = run(calls[which].call, comm, count, late, form);
  }
  const bool must = calls[which].all || me == late || me == ranks - 1 - late;
  if (must || class_of(result) != MPI_SUCCESS) require_failed(result, MPI_ERR_REVOKED, what);
  require_failed(run(barrier, comm, 0, late, 1), MPI_ERR_REVOKED, "what comes later");
  memset(out, kMark, kMost);
  MPI_Comm rest = shrink(comm);
  int size = 0;
  MPI_Comm_size(rest, &size);
  require(size == ranks, "%s: %d ranks are left", what, size);
  doing("after %s", what);
  require(MPI_Barrier(rest) == MPI_SUCCESS, "%s: the next communicator fails", what);
  for (size_t i = 0; i < kMost; ++i)
    require(out[i] == kMark, "%s: byte %zu was written afterwards", what, i);
  MPI_Comm_free(&rest);
  MPI_Comm_free(&comm);
}

// Several operations are under way. The root of a broadcast revokes before its bytes have arrived.
static void require_all_revoked(void) {
  MPI_Request requests[kPending];
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  char* room = allocate((size_t)kPending * kMost);
  for (int i = 0; i < kPending; ++i)
    MPI_Ibcast(room + (size_t)i * kMost, kMost, MPI_CHAR, 0, comm, &requests[i]);
  if (me == 0) MPIX_Comm_revoke(comm);
  for (int i = 0; i < kPending; ++i) {
    doing("broadcast %d of %d", i, kPending);
    (void)has_failed(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_ERR_REVOKED, "one of several");
  }
  memset(room, kMark, (size_t)kPending * kMost);
  MPI_Comm rest = shrink(comm);
  use(rest);
  for (size_t i = 0; i < (size_t)kPending * kMost; ++i)
    require(room[i] == kMark, "byte %zu was written afterwards", i);
  MPI_Comm_free(&rest);
  MPI_Comm_free(&comm);
  free(room);
}

// The highest rank is killed before a round; the others go on until a call fails. All get the same, or a later failure.
static void require_loss(void) {
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  int result = MPI_SUCCESS;
  for (int round = 0; result == MPI_SUCCESS; ++round) {
    const int which = round % chosen;
    if (me == ranks - 1 && round == 100 + (int)seed % chosen) (void)raise(SIGKILL);
    const int form = round / chosen % 2;
    doing("round %d: %s %s", round, forms[form], calls[which].name);
    result = run(calls[which].call, comm, 64 * ranks, 0, form);
    (void)has_failed(result, MPI_ERR_PROC_FAILED, calls[which].name);
  }
  MPI_Comm rest = shrink(comm);
  int size = 0;
  MPI_Comm_size(rest, &size);
  require(size == ranks - 1, "%d ranks are left", size);
  int flag = 1;
  doing("agreement");
  require(MPIX_Comm_agree(rest, &flag) == MPI_SUCCESS && flag == 1, "no agreement");
  use(rest);
  MPI_Comm again = duplicate(rest);
  use(again);
  end_of_survivors(again);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv, MPI_THREAD_SINGLE);
  require(ranks >= 3, "three ranks are needed");
  chosen = (int)option(argc, argv, "--calls", chosen);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  in = allocate(kMost);
  out = allocate(kMost);
  memset(in, 1, kMost);
  memset(out, 0, kMost);
  for (int form = 0; form < kForms; ++form)
    for (int which = 0; which < chosen; ++which)
      require_revoked(which, form, which % 2 == 0 ? kMost : 32 * ranks,
                      which % 2 == 0 ? 0 : ranks - 1);
  require_all_revoked();
  require_loss();
  return 1;
}
